#!/bin/sh
# Objects compiled for one instruction set must define no function that the linker could merge with one from
# another object (weak: W), or a processor without that instruction set would run it.
set -eu
status=0
checked=0
for archive in "$@"; do
  checked=$((checked + 1))
  if weak=$(nm --defined-only -C "$archive" | grep ' W '); then
    echo "$archive defines functions that other objects may share:" >&2
    echo "$weak" >&2
    status=1
  fi
done
test "$checked" -gt 0
exit $status
