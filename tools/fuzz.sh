#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs fuzz targets one after the other and tells what came of it, a line for each. New inputs gather in
# build/fuzz-corpus/<target>, what broke a promise in build/fuzz-findings/<target>-….
# usage: tools/fuzz.sh BUILD [TARGET|all] [SECONDS]     BUILD has fuzz/fuzz_<target>; status 1: there is a finding
set -eu
cd "$(dirname "$0")/.."
build=$1
wanted=${2:-all}
seconds=${3:-60}
findings=build/fuzz-findings
limits='-timeout=10 -rss_limit_mb=1024 -malloc_limit_mb=512'

case $seconds in
'' | *[!0-9]*) echo "fuzz: '$seconds' is no number of seconds" >&2; exit 2 ;;
esac
if [ "$wanted" = all ]; then
    targets=$(cd "$build/fuzz" && for program in fuzz_*; do echo "${program#fuzz_}"; done)
elif [ -x "$build/fuzz/fuzz_$wanted" ]; then
    targets=$wanted
else
    echo "fuzz: there is no target '$wanted'; there are: $(cd "$build/fuzz" && echo fuzz_* | sed 's/fuzz_//g')" >&2
    exit 2
fi
mkdir -p "$findings"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Sanitizers cannot place their shadow memory on kernels that randomise addresses widely: switch that off where we may.
plain="setarch $(uname -m) -R"
$plain true 2>/dev/null || plain=

search() {
    corpus=build/fuzz-corpus/$1
    dictionary=tests/fuzz/dictionaries/$1.dict
    mkdir -p "$corpus"
    # shellcheck disable=SC2086 # several options
    set -- "$1" $limits -max_total_time="$seconds" -print_final_stats=1 -close_fd_mask=1 -artifact_prefix="$findings/$1-" "$corpus" "tests/fuzz/corpus/$1"
    target=$1
    shift
    [ ! -f "$dictionary" ] || set -- -dict="$dictionary" "$@"
    # shellcheck disable=SC2086 # words of a command
    ASAN_OPTIONS=strict_string_checks=1:detect_stack_use_after_return=1:allocator_may_return_null=1 \
        UBSAN_OPTIONS=print_stacktrace=1 $plain "$build/fuzz/fuzz_$target" "$@" >"$work/log" 2>&1
}

# The clock runs on while a busy machine does other work: what it called slow is run again, and is quick if ten seconds of
# processor time are enough.
forget_quick() {
    for input in "$findings/$1-slow-unit-"* "$findings/$1-timeout-"*; do
        [ -e "$input" ] || continue
        # shellcheck disable=SC2086 # words of a command
        if (ulimit -t 10 && exec $plain "$build/fuzz/fuzz_$1" "$input") >"$work/again" 2>&1; then rm "$input"; fi
    done
}

# The last number behind a word of the log.
number() {
    LC_ALL=C sed -n "s/.*$1 *\([0-9][0-9]*\).*/\1/p" "$work/log" | tail -n 1
}

printf '%-16s %14s %10s %9s %9s\n' target executions 'per second' coverage findings
status=0
for target in $targets; do
    forget_quick "$target"
    before=$(find "$findings" -name "$target-*" | wc -l)
    found=0
    search "$target" || found=1
    forget_quick "$target"
    artifact=$(LC_ALL=C sed -n 's/.*Test unit written to //p' "$work/log" | tail -n 1)
    case $artifact in *-timeout-*) [ -e "$artifact" ] || found=0 ;; esac
    after=$(find "$findings" -name "$target-*" | wc -l)
    [ "$after" -le "$before" ] || found=$((after - before))
    executions=$(number 'stat::number_of_executed_units:')
    printf '%-16s %14s %10s %9s %9s\n' "$target" "${executions:-?}" "$(number 'stat::average_exec_per_sec:')" \
        "$(number 'cov:')" "$found"
    if [ "$found" != 0 ]; then
        status=1
        LC_ALL=C grep -aE 'broken promise|ERROR: |runtime error|SUMMARY' "$work/log" | head -n 4 | sed 's/^/    /'
        echo "    again: $plain $build/fuzz/fuzz_$target $limits ${artifact:-tests/fuzz/corpus/$target}"
    fi
done
exit $status
