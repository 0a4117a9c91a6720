#!/usr/bin/python3
"""Records outputs and gradients of a small network with each activation, computed by PyTorch in double.

Writes layers.json beside itself. Needs Debian's python3-torch. The network is 20 -> 32 activation -> 2; the
loss is the sum of output_gradient * outputs, so that gradients depend on nothing but the layers.
"""

import json
import pathlib

import torch

ROWS = 7
ACTIVATIONS = {
    "LINEAR": lambda x: x,
    "RELU": torch.relu,
    "LEAKY_RELU": lambda x: torch.nn.functional.leaky_relu(x, 0.3),
    "ELU": torch.nn.functional.elu,
    "GELU": torch.nn.functional.gelu,
    "SIGMOID": torch.sigmoid,
    "TANH": torch.tanh,
    "SOFTMAX": lambda x: torch.softmax(x, -1),
}


def numbers(generator, *shape):
    """Uniform in [-1, 1), multiples of 1/512: exact in float32 and short in JSON."""
    return torch.randint(-512, 512, shape, generator=generator).double() / 512


def flat(tensor):
    return [float(f"{value:.9g}") for value in tensor.detach().flatten().tolist()]


def record(parameters, features, output_gradient, activation):
    """Outputs and gradients of one network."""
    leaves = {name: value.clone().requires_grad_() for name, value in parameters.items()}
    hidden = activation(features @ leaves["dense/kernel"] + leaves["dense/bias"])
    outputs = hidden @ leaves["dense_1/kernel"] + leaves["dense_1/bias"]
    (outputs * output_gradient).sum().backward()
    return {
        "outputs": flat(outputs),
        "gradients": {name: flat(leaf.grad) for name, leaf in leaves.items()},
    }


def main():
    generator = torch.Generator().manual_seed(1)
    parameters = {
        "dense/kernel": numbers(generator, 20, 32),
        "dense/bias": numbers(generator, 32),
        "dense_1/kernel": numbers(generator, 32, 2),
        "dense_1/bias": numbers(generator, 2),
    }
    features = numbers(generator, ROWS, 20)
    output_gradient = numbers(generator, ROWS, 2)
    golden = {
        "rows": ROWS,
        "features": flat(features),
        "output_gradient": flat(output_gradient),
        "parameters": {name: flat(value) for name, value in parameters.items()},
        "activations": {
            name: record(parameters, features, output_gradient, function)
            for name, function in ACTIVATIONS.items()
        },
    }
    path = pathlib.Path(__file__).with_name("layers.json")
    path.write_text(json.dumps(golden, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
