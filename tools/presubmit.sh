#!/bin/bash
# What a developer runs before a commit, beside tools/test.sh: format, headers that compile alone, clang with
# thread-safety analysis, clang-tidy on the files that changed, sanitizers.
#   tools/presubmit.sh [BASE]   files that changed since BASE (default: the last commit)
set -euo pipefail
cd "$(dirname "$0")/.."
base=${1:-HEAD}

mapfile -t sources < <(git ls-files '*.h' '*.cc')
# Not //...: that takes in the links bazel-* of a build with another --symlink_prefix.
targets=(//base/... //collective/... //data/... //examples/... //model/... //proto/... //test/... //tools/... //worker/...)
mapfile -t changed < <(git diff --name-only --diff-filter=d "$base" -- '*.h' '*.cc')

echo "== format"
clang-format --dry-run --Werror "${sources[@]}"

echo "== folders"
tools/check_includes.sh

echo "== headers compile alone"
bazel build //proto/...
for header in "${changed[@]}"; do
  [[ $header == *.h && $header != *simd.h ]] || continue
  g++ -std=c++17 -fsyntax-only -Wall -Wextra -x c++ -I. -Ibazel-bin -march=x86-64-v2 "$header" -Wno-pragma-once-outside-header
done

echo "== clang, thread-safety analysis"
bazel --output_base="${TMPDIR:-/tmp}/lockstep-clang" build --config=clang --symlink_prefix=/ "${targets[@]}"

if [[ ${#changed[@]} -gt 0 ]]; then
  echo "== clang-tidy"
  for source in "${changed[@]}"; do
    [[ $source == *.cc ]] && clang-tidy --quiet "$source" -- -std=c++17 -I. -Ibazel-bin -march=x86-64-v3
  done
fi

echo "== sanitizers"
bazel --output_base="${TMPDIR:-/tmp}/lockstep-asan" test --config=asan --symlink_prefix=/ "${targets[@]}"
bazel --output_base="${TMPDIR:-/tmp}/lockstep-tsan" test --config=tsan --symlink_prefix=/ "${targets[@]}"
