#!/bin/sh
# SPDX-License-Identifier: MIT
# locus bench: what is measured, in what order, and that rates follow from the times beside them. Times themselves are the
# machine's.
. "${LOCUS_SOURCE:?}/tests/cli/transcript.inc"

sizes='--tokens 4096 --lengths 16,48 --heads 2 --head-dim 8 --encodings none,rope --repeat 1 --threads 1'

# plain FILE: its JSON without times, tabs and what depends on the machine
plain() {
    tr -d '\t' <"$1" | grep -v -e '"best_seconds"' -e '"median_seconds"' -e '_per_second"' -e '"arena_bytes"' -e '"isa"'
}

# shellcheck disable=SC2086
works bench $sizes --json
plain .out/stdout >made
{
    printf '{\n"threads":1,\n'
    separator='"measurements":[{'
    for one in '(negation in place)' rope; do
        printf '%s\n"what":"apply",\n"encoding":"%s",\n"tokens":4096,\n"forward":{\n},\n' "$separator" "$one"
        separator='}, {'
    done
    for one in 'none 16' 'none 48' 'rope 16' 'rope 48'; do
        printf '}, {\n"what":"attention",\n"encoding":"%s",\n"tokens":%s,\n' "${one% *}" "${one#* }"
        printf '"forward":{\n},\n"backward":{\n}\n'
    done
    for one in none rope; do # the smoke budget's 32 words of N(16, 1.6), twice, with 32 end tokens
        printf '}, {\n"what":"step",\n"encoding":"%s",\n"budget":"smoke",\n"step":{\n},\n"tokens":1022,\n' "$one"
    done
    printf '}]\n}\n'
} >wanted
checks=$((checks + 1))
diff wanted made >&2 || complain "bench --json lists other measurements"

# Times are positive and a median is no faster than the best; 8 bytes an element of 4096 × 2 × 8, tokens of a step.
checks=$((checks + 1))
tr -d '\t,' <.out/stdout | awk -F: '
    $1 == "\"tokens\"" { tokens = $2 }
    $1 == "\"best_seconds\"" { best = $2; times++; if (!(best > 1e-7)) bad = "a time in which nothing is computed" }
    $1 == "\"median_seconds\"" { medians++; if ($2 < best) bad = "a median below the best" }
    $1 == "\"bytes_per_second\"" && ($2 * best / (8 * 65536) - 1) ^ 2 > 1e-12 { bad = "bytes a second" }
    /_per_second"|"arena_bytes"|"isa"/ { rates++ }
    $1 == "\"tokens_per_second\"" && ($2 * best / tokens - 1) ^ 2 > 1e-12 { bad = "tokens a second" }
    $1 == "\"arena_bytes\"" && !($2 > 1e6 && $2 < 1e9) { bad = "activations" }
    END { if (bad != "" || times != 12 || medians != 12 || rates != 7) { print bad, times, medians, rates; exit 1 } }' >&2 || complain "times and rates of bench --json"

# The tables: the same, rounded.
# shellcheck disable=SC2086
works bench $sizes
checks=$((checks + 1))
sed -e 's/[0-9.e-]* m\{0,1\}s  */TIME /g' -e 's/+[0-9]* %  */MEDIAN /g' -e 's/+[0-9]* %$/MEDIAN/' -e 's/[0-9.]* [kM]  */RATE /g' \
    -e 's/[0-9.]* [KMG]iB/BYTES/g' -e 's/  */ /g' -e 's/^[a-z0-9]* kernels/ISA kernels/' -e 's/MEDIAN [0-9.]* /MEDIAN N /g' \
    -e 's/N [0-9]* %$/N SHARE/' .out/stdout >made
cat >wanted <<'END'
ISA kernels, 1 threads; fastest call, and how far the median lies above it

operators on 4096 tokens, 2 heads of 8, float32, in place
apply fastest median GB/s of in-place bandwidth
(negation in place) TIME MEDIAN N SHARE
rope TIME MEDIAN N SHARE

causal attention, one sequence, 2 heads of 8, float32
attention tokens forward median GFLOP/s backward median GFLOP/s workspace
none 16 TIME MEDIAN N TIME MEDIAN N BYTES
none 48 TIME MEDIAN N TIME MEDIAN N BYTES
rope 16 TIME MEDIAN N TIME MEDIAN N BYTES
rope 48 TIME MEDIAN N TIME MEDIAN N BYTES

forward and backward of a batch, budget smoke: dimension 64, 2 + 2 layers, 32 samples of mean length 16
training step fastest median tokens/s activations
none TIME MEDIAN RATE BYTES
rope TIME MEDIAN RATE BYTES
END
diff wanted made >&2 || complain "the tables of bench"
# GB/s are 8 bytes × 65,536 elements over the time in ms; the share is the floor's time over the row's. GFLOP/s are
# 2 T² × 16 forward, 2.5 times as many backward.
checks=$((checks + 1))
awk 'function off(a, b, least) { return (a - b) ^ 2 > (0.02 * b + least) ^ 2 }
    { gsub(/ ms/, "") }
    /^\(negation/ { floor = $4 }
    /^\(negation/ || (/^rope/ && NF == 7 && $6 == "%") || (/^rope/ && $7 == "%" && NF == 7) {
        rows++
        time = /^\(/ ? $4 : $2; rate = $(NF - 2); share = $(NF - 1)
        if (off(rate, 8 * 65536 / time / 1e6, 0.06) || off(share, 100 * floor / time, 0.6)) bad = bad " " $0
    }
    /^(none|rope) +(16|48) / {
        rows++
        if (off($6, 2 * $2 * $2 * 16 / $3 / 1e6, 0.6) || off($10, 5 * $2 * $2 * 16 / $7 / 1e6, 0.6)) bad = bad " " $0
    }
    END { if (bad != "" || rows != 6) { print rows ":" bad; exit 1 } }' .out/stdout >&2 || complain "rates in the tables"

# One kind alone.
works bench apply --tokens 64 --heads 1 --head-dim 4 --encodings rope --repeat 1
checks=$((checks + 1))
! grep -q -e attention -e training .out/stdout || complain "bench apply measures more than that"
run bench attention --lengths 0 --encodings none
[ "$status" -eq 2 ] && grep -q '^locus: .*--lengths' .out/stderr || complain "--lengths 0"
run bench apply --encodings nonsense --tokens 8
[ "$status" -eq 2 ] && grep -q "^locus: .*'nonsense'" .out/stderr || complain "an encoding that is not there"

# What is refused is refused before anything is printed.
refuses 2 '--lengths' bench --lengths 16,x
refuses 2 "'nonsense'" bench step --encodings rope,nonsense
refuses 1 'learned' bench attention --encodings none,learned --lengths 16
refuses 1 'learned' bench apply --encodings none,learned --tokens 16
# A step has embeddings for it to act on.
works bench step --encodings 'learned(size=64)' --repeat 1 --threads 1
# What only the measuring finds: its line and status, and no part of a result.
for form in text json; do
    run bench step --encodings 'learned(size=1)' --repeat 1 --threads 1 --format $form
    [ "$status" -eq 1 ] && grep -q '^locus: position 1 of token 1 is outside the learned table of 1 rows' .out/stderr ||
        complain "a step that cannot be placed, as $form (exit $status)"
    ! grep -q -e '[{[]' -e '^training step' .out/stdout || complain "a step that cannot be placed prints a result as $form"
done
# The shortest.
works bench attention --lengths 1 --encodings none --heads 1 --head-dim 1 --repeat 1 --threads 1
prints '^none  *1 '
finish
