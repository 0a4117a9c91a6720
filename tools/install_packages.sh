#!/bin/bash
# Installs the Debian packages that building and testing need, if any is missing. Asks for sudo unless run as root.
# docs/dependencies.md says what each one is for.
set -euo pipefail

packages=(
  bazel-bootstrap bazel-rules-java bazel-rules-proto bazel-skylib bazel-platforms
  g++ lld pkg-config zip unzip ca-certificates
  libgrpc++-dev protobuf-compiler protobuf-compiler-grpc libprotobuf-dev libabsl-dev
  libxtensor-dev libxsimd-dev libdnnl-dev libgoogle-glog-dev librandom123-dev libxxhash-dev
  libisal-dev libcsv-dev libzip-dev zlib1g-dev libsqlite3-dev nlohmann-json3-dev libcli11-dev
  libgtest-dev libgmock-dev libbenchmark-dev
  python3-grpcio python3-protobuf
  dataset-fashion-mnist
)

missing=()
for package in "${packages[@]}"; do
  status=$(dpkg-query --show --showformat='${db:Status-Status}' "$package" 2>/dev/null || true)
  [[ $status == installed ]] || missing+=("$package")
done
[[ ${#missing[@]} -eq 0 ]] && exit 0

echo "installing ${#missing[@]} packages: ${missing[*]}" >&2
run=()
[[ $(id -u) -eq 0 ]] || run=(sudo)
"${run[@]}" apt-get update -qq
DEBIAN_FRONTEND=noninteractive "${run[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
