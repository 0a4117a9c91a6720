#!/bin/bash
# Installs what is missing, builds everything and runs all tests but the slow ones. Arguments go to bazel test.
#   tools/test.sh --config=asan       the same under the address and undefined-behaviour sanitizers
#   tools/test.sh --test_tag_filters=slow //...
set -euo pipefail
cd "$(dirname "$0")/.."

tools/install_packages.sh
tools/check_includes.sh
results=$(mktemp)
trap 'rm -f "$results"' EXIT
status=0
bazel test "$@" //... 2>&1 | tee "$results" || status=$?

passed=$(grep -cE '^//.* +(\(cached\) )?PASSED' "$results" || true)
failed=$(grep -cE '^//.* +(FAILED|TIMEOUT|NO STATUS)' "$results" || true)
echo "$passed passed, $failed failed"
exit "$status"
