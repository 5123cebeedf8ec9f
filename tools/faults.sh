#!/bin/sh
# SPDX-License-Identifier: MIT
# The long form of the tests that let things fail: every allocation, system calls, kills. Prints what was found, a line for
# each command, and counts with the seed. Ends with status 1 if anything was found.
# usage: tools/faults.sh [allocations|calls|kills] [--seed S] [--only CASE] [--samples N]     (all three if none is named)
# tools/faults.sh valgrind                              trainings of all families under valgrind (tools/memcheck.sh)
# tools/faults.sh one CASE allocation|call NUMBER [VARIANT] [lasting]     one of them again
set -eu
cd "$(dirname "$0")/.."
LOCUS_SOURCE=$PWD
LOCUS=$PWD/build/release/locus
export LOCUS LOCUS_SOURCE

case ${1:-} in
valgrind) exec nice sh tools/memcheck.sh ;;
one) exec build/release/tests/faults "$@" ;;
allocations | calls | kills) forms=$1 && shift ;;
*) forms='allocations calls kills' ;;
esac
status=0
for form in $forms; do
    nice build/release/tests/faults "$form" --long "$@" || status=1
done
exit $status
