#!/bin/bash
# From a fresh Debian 12 machine to a trained model: installs what is missing, builds, trains the toy job and then
# an MLP on Fashion-MNIST, each on a local cluster of two workers.
set -euo pipefail
cd "$(dirname "$0")/.."

tools/install_packages.sh
bazel build //worker:lockstepd //tools:lockstep

output=${LOCKSTEP_OUTPUT:-quickstart-output}
mkdir -p "$output"
echo
echo "== toy: Dense 32 relu -> Dense 2 on 1000 random rows, 2 workers"
bazel-bin/tools/lockstep local --workers 2 --output_root "$output" examples/toy.textproto
echo
echo "== Fashion-MNIST: 784-512-512-10 relu, 5 epochs, 2 workers"
bazel-bin/tools/lockstep local --workers 2 --data_root /usr/share/datasets/fashion-mnist \
  --output_root "$output" --summary "$output/fashion_mnist_mlp.json" examples/fashion_mnist_mlp.textproto
sed -nE 's/.*"val_accuracy": *([0-9.]+).*/final test accuracy: \1/p' "$output/fashion_mnist_mlp.json" | tail -n 1
