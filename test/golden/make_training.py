#!/usr/bin/python3
"""Records ten training steps of a small MLP for each optimizer and each loss, into training.json.

Run with Debian's python3-torch: /usr/bin/python3 test/golden/make_training.py

Losses and gradients come from torch (autograd), update rules are written out from Keras's formulas;
everything is computed in float64. Features, labels and initial weights are exact in float32
(multiples of 2^-10), so that the file stays short.

Each run: an MLP sizes[0] -> sizes[1] (relu) -> sizes[2] (output_activation), full batch, ten steps. `losses`
are those before each step (mean over rows; regularisers are not used), `final_weights` those after the
last. `optimizer` and `loss` are text-format lockstep.v1 messages. Kernels are [inputs, units], row-major.
"""
import json
import os

import torch

torch.set_default_dtype(torch.float64)
ROWS = 24
STEPS = 10
CLIP = 1e-7


def grid(tensor):
    return torch.round(tensor * 1024) / 1024


def make_data(generator, outputs):
    features = grid(torch.randn(ROWS, 20, generator=generator))
    return {
        "features": features,
        "classes": torch.randint(0, outputs, (ROWS,), generator=generator),
        "probabilities": None,
        "targets": grid(torch.randn(ROWS, outputs, generator=generator)),
        "answers": torch.randint(0, 2, (ROWS, outputs), generator=generator).to(torch.float64),
    }


def make_weights(generator, sizes):
    weights = {}
    for layer in range(2):
        inputs, units = sizes[layer], sizes[layer + 1]
        limit = (6.0 / (inputs + units)) ** 0.5
        kernel = (torch.rand(inputs, units, generator=generator) * 2 - 1) * limit
        weights[f"dense_{layer}/kernel"] = grid(kernel)
        weights[f"dense_{layer}/bias"] = grid(torch.randn(units, generator=generator) * 0.1)
    return weights


def forward(weights, features, activation):
    hidden = torch.relu(features @ weights["dense_0/kernel"] + weights["dense_0/bias"])
    outputs = hidden @ weights["dense_1/kernel"] + weights["dense_1/bias"]
    if activation == "SOFTMAX":
        return torch.softmax(outputs, dim=-1)
    if activation == "SIGMOID":
        return torch.sigmoid(outputs)
    return outputs


def clip(p):
    return torch.clamp(p, CLIP, 1 - CLIP)


def sparse_logits(x, y):
    return torch.nn.functional.cross_entropy(x, y)


def sparse_probabilities(p, y):
    q = clip(p / p.sum(dim=-1, keepdim=True))
    return -torch.log(q[torch.arange(len(y)), y]).mean()


def categorical_logits(x, t):
    return -(t * torch.log_softmax(x, dim=-1)).sum(dim=-1).mean()


def categorical_probabilities(p, t):
    q = clip(p / p.sum(dim=-1, keepdim=True))
    return -(t * torch.log(q)).sum(dim=-1).mean()


def binary_probabilities(p, t):
    q = clip(p)
    return -(t * torch.log(q) + (1 - t) * torch.log(1 - q)).mean()


# name -> text format, labels, activation of the last layer, outputs, function
LOSSES = {
    "sparse_logits": ("sparse_categorical_crossentropy { from_logits: true }", "classes", "LINEAR", 2,
                      sparse_logits),
    "sparse_probabilities": ("sparse_categorical_crossentropy {}", "classes", "SOFTMAX", 2,
                             sparse_probabilities),
    "categorical_logits": ("categorical_crossentropy { from_logits: true }", "probabilities", "LINEAR", 2,
                           categorical_logits),
    "categorical_probabilities": ("categorical_crossentropy {}", "probabilities", "SOFTMAX", 2,
                                  categorical_probabilities),
    "binary_logits": ("binary_crossentropy { from_logits: true }", "answers", "LINEAR", 1,
                      torch.nn.functional.binary_cross_entropy_with_logits),
    "binary_probabilities": ("binary_crossentropy {}", "answers", "SIGMOID", 1, binary_probabilities),
    "mean_squared_error": ("mean_squared_error {}", "targets", "LINEAR", 1, torch.nn.functional.mse_loss),
    "mean_absolute_error": ("mean_absolute_error {}", "targets", "LINEAR", 1, torch.nn.functional.l1_loss),
    "huber": ("huber { delta: 0.5 }", "targets", "LINEAR", 1,
              lambda x, t: torch.nn.functional.huber_loss(x, t, delta=0.5)),
}


# Update rules: rule(step, g, w, slots) returns the new w and changes the dictionary of slots.

def slot(slots, name, like, initial=0.0):
    if name not in slots:
        slots[name] = torch.full_like(like, initial)
    return slots[name]


def sgd(lr, momentum=0.0, nesterov=False):
    def rule(step, g, w, slots):
        if momentum == 0:
            return w - lr * g
        slots["v"] = momentum * slot(slots, "v", w) - lr * g
        return w + (momentum * slots["v"] - lr * g if nesterov else slots["v"])
    return rule


def rmsprop(lr, rho=0.9, momentum=0.0, eps=1e-7, centered=False):
    def rule(step, g, w, slots):
        slots["v"] = rho * slot(slots, "v", w) + (1 - rho) * g ** 2
        denominator = slots["v"] + eps
        if centered:
            slots["a"] = rho * slot(slots, "a", w) + (1 - rho) * g
            denominator = slots["v"] - slots["a"] ** 2 + eps
        increment = lr * g / torch.sqrt(denominator)
        if momentum > 0:
            slots["u"] = momentum * slot(slots, "u", w) + increment
            increment = slots["u"]
        return w - increment
    return rule


def adam(lr, beta_1=0.9, beta_2=0.999, eps=1e-7, amsgrad=False, weight_decay=0.0):
    def rule(step, g, w, slots):
        w = w - w * weight_decay * lr
        m, v = slot(slots, "m", w), slot(slots, "v", w)
        slots["m"] = m = m + (g - m) * (1 - beta_1)
        slots["v"] = v = v + (g ** 2 - v) * (1 - beta_2)
        if amsgrad:
            slots["h"] = v = torch.maximum(slot(slots, "h", w), v)
        alpha = lr * (1 - beta_2 ** step) ** 0.5 / (1 - beta_1 ** step)
        return w - m * alpha / (torch.sqrt(v) + eps)
    return rule


def adagrad(lr, initial=0.1, eps=1e-7):
    def rule(step, g, w, slots):
        slots["a"] = slot(slots, "a", w, initial) + g ** 2
        return w - lr * g / torch.sqrt(slots["a"] + eps)
    return rule


RATE = "learning_rate { constant: %s }"
OPTIMIZERS = {
    "sgd": ("sgd { %s }" % (RATE % 0.1), sgd(0.1)),
    "sgd_momentum": ("sgd { %s momentum: 0.9 }" % (RATE % 0.05), sgd(0.05, 0.9)),
    "sgd_nesterov": ("sgd { %s momentum: 0.9 nesterov: true }" % (RATE % 0.05), sgd(0.05, 0.9, True)),
    "rmsprop": ("rmsprop { %s }" % (RATE % 0.01), rmsprop(0.01)),
    "rmsprop_momentum": ("rmsprop { %s rho: 0.8 momentum: 0.5 epsilon: 0.001 }" % (RATE % 0.005),
                         rmsprop(0.005, rho=0.8, momentum=0.5, eps=1e-3)),
    # With the default epsilon the root is nearly 0 where gradients are steady, which magnifies rounding.
    "rmsprop_centered": ("rmsprop { %s epsilon: 0.01 centered: true }" % (RATE % 0.01),
                         rmsprop(0.01, eps=1e-2, centered=True)),
    "rmsprop_centered_momentum": (
        "rmsprop { %s momentum: 0.9 epsilon: 0.01 centered: true }" % (RATE % 0.005),
        rmsprop(0.005, momentum=0.9, eps=1e-2, centered=True)),
    "adam": ("adam {}", adam(0.001)),
    "adam_amsgrad": ("adam { %s beta_1: 0.5 beta_2: 0.7 epsilon: 0.0001 amsgrad: true }" % (RATE % 0.01),
                     adam(0.01, 0.5, 0.7, 1e-4, True)),
    "adamw": ("adamw { %s weight_decay: 0.1 }" % (RATE % 0.01), adam(0.01, weight_decay=0.1)),
    "adamw_amsgrad": ("adamw { %s beta_2: 0.7 amsgrad: true }" % (RATE % 0.01),
                      adam(0.01, beta_2=0.7, amsgrad=True, weight_decay=0.004)),
    "adagrad": ("adagrad { %s }" % (RATE % 0.1), adagrad(0.1)),
}


def train(initial, data, loss, optimizer):
    _, labels, activation, _, loss_function = LOSSES[loss]
    rule = OPTIMIZERS[optimizer][1]
    weights = {name: w.clone() for name, w in initial.items()}
    slots = {name: {} for name in weights}
    losses = []
    for step in range(1, STEPS + 1):
        leaves = {name: w.clone().requires_grad_(True) for name, w in weights.items()}
        value = loss_function(forward(leaves, data["features"], activation), data[labels])
        value.backward()
        losses.append(value.item())
        for name, leaf in leaves.items():
            weights[name] = rule(step, leaf.grad, weights[name], slots[name])
    return losses, weights


def flat(tensor, digits=None):
    values = tensor.flatten().tolist()
    return values if digits is None else [float(f"%.{digits}g" % v) for v in values]


def main():
    generator = torch.Generator().manual_seed(1)
    heads, problems = {}, {}
    for name, sizes in (("classification", [20, 32, 2]), ("regression", [20, 16, 1])):
        problems[name] = (sizes, make_data(generator, sizes[2]), make_weights(generator, sizes))
    # Labels that do not sum to 1 show whether the gradient takes the sum into account.
    data = problems["classification"][1]
    data["probabilities"] = grid(torch.rand(ROWS, 2, generator=generator))
    for name, (sizes, data, weights) in problems.items():
        heads[name] = {
            "rows": ROWS,
            "sizes": sizes,
            "labels": {k: flat(v) for k, v in data.items() if k != "features" and v is not None},
            "features": flat(data["features"]),
            "initial_weights": {k: flat(w) for k, w in weights.items()},
        }
    runs = []
    pairs = [("sparse_logits", o) for o in OPTIMIZERS] + [(l, "sgd") for l in LOSSES if l != "sparse_logits"]
    for loss, optimizer in pairs:
        text, labels, activation, outputs, _ = LOSSES[loss]
        problem = "classification" if outputs == 2 else "regression"
        _, data, weights = problems[problem]
        losses, final = train(weights, data, loss, optimizer)
        runs.append({
            "name": f"{loss}_{optimizer}",
            "problem": problem,
            "optimizer": OPTIMIZERS[optimizer][0],
            "loss": text,
            "labels": labels,
            "hidden_activation": "RELU",
            "output_activation": activation,
            "losses": losses,
            "final_weights": {k: flat(w, 9) for k, w in final.items()},
        })
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "training.json")
    with open(path, "w", encoding="ascii") as file:
        json.dump({"problems": heads, "runs": runs}, file, indent=None, separators=(",", ":"))
        file.write("\n")


if __name__ == "__main__":
    main()
