#!/bin/sh
# SPDX-License-Identifier: MIT
# What cmake/LocusHardening.cmake asks for is in the program and the shared library that were built: relocations that are
# read-only and bound at start, no executable stack, a program at any address, stack protector, checked calls of the C
# library, and on x86 targets of indirect jumps.
set -eu
cd "${LOCUS_SOURCE:-$(dirname "$0")/../..}"
build=${LOCUS_BUILD:-build/release}

command -v readelf >/dev/null || { echo "readelf is not installed"; exit 77; }
# Sanitizers stand in for the flags, and without optimisation the C library checks nothing.
if ! grep -q '^LOCUS_SANITIZE:STRING=$' "$build/CMakeCache.txt" || ! grep -q '^CMAKE_BUILD_TYPE:STRING=Rel' "$build/CMakeCache.txt"; then
    echo "$build is not a release build"
    exit 77
fi

status=0
lacks() {
    echo "$1: $2"
    status=1
}

checked=0
for file in "$build/locus" "$build/liblocus.so"; do
    [ -f "$file" ] || continue
    checked=$((checked + 1))
    segments=$(readelf -lW "$file")
    dynamic=$(readelf -dW "$file")
    names=$(readelf -W --dyn-syms "$file")
    echo "$segments" | grep -q 'GNU_RELRO' || lacks "$file" "relocations stay writable (-z relro)"
    echo "$dynamic" | grep -qE '\(FLAGS\).*BIND_NOW|\(FLAGS_1\).*NOW' || lacks "$file" "functions are bound late (-z now)"
    echo "$segments" | grep 'GNU_STACK' | grep -q 'RW ' || lacks "$file" "the stack is not said to hold no code (-z noexecstack)"
    ! echo "$segments" | grep 'GNU_STACK' | grep -q 'RWE' || lacks "$file" "the stack is executable"
    echo "$names" | grep -q '__stack_chk_fail' || lacks "$file" "no stack protector"
    echo "$names" | grep -qE '__(memcpy|snprintf|vsnprintf)_chk' || lacks "$file" "no checked calls (_FORTIFY_SOURCE)"
done
[ "$checked" -gt 0 ] || { echo "neither program nor library in $build"; exit 1; }

if [ -f "$build/locus" ]; then
    readelf -hW "$build/locus" | grep -qE 'Type: *DYN' || lacks "$build/locus" "stands at a fixed address (not PIE)"
fi

# The library alone, because the program takes this from the weakest of what it is linked with.
case $(uname -m) in
x86_64 | amd64)
    objects=$(ar t "$build/liblocus.a" | grep -c '\.o$')
    marked=$(readelf -nW "$build/liblocus.a" 2>/dev/null | grep -c 'IBT' || :)
    [ "$objects" = "$marked" ] || lacks "$build/liblocus.a" "$marked of $objects objects with -fcf-protection"
    ;;
esac
exit $status
