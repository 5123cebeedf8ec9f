#!/bin/sh
# SPDX-License-Identifier: MIT
# locus check: laws hold where they are promised, for every kind of group; figures show where they are not.
. "${LOCUS_SOURCE:?}/tests/cli/transcript.inc"

# law NAME FIELD: a field of the last run's JSON
law() {
    tr -d ' \t\n' <.out/stdout | sed "s/.*\"$1\":{\([^}]*\)}.*/\1/" | tr ',' '\n' | sed -n "s/\"$2\":\(.*\)/\1/p"
}

# says NAME PROMISED HOLDS
says() {
    checks=$((checks + 1))
    [ "$(law "$1" promised)" = "$2" ] || complain "$1: promised is '$(law "$1" promised)', not $2"
    [ "$(law "$1" holds)" = "$3" ] || complain "$1: holds is '$(law "$1" holds)', not $3 (error $(law "$1" error))"
}

# lacks NAME: the law makes no sense there
lacks() {
    checks=$((checks + 1))
    ! grep -q "\"$1\"" .out/stdout || complain "$1 is measured"
}

# Homomorphisms to orthogonal operators: all laws are promised; commutators on abelian groups.
for spec in rope roper mixed 'string(group=grid:3)' 'algebraic(group=seq)' \
    'algebraic(group=cycle:6, generator=cayley)' \
    'algebraic(group=grid:2, generator=householder, init=random, decay=0.98)' 'algebraic(group=tree:1)' \
    'algebraic(group=seq*cycle:1000000, generator=angles, values=on)' 'rope + alibi + decay'; do
    works check "$spec" --json
    for name in homomorphism inverse orthogonality norm commutators long_homomorphism drift relativity; do
        says "$name" true true
    done
done

# A tree's branches do not commute; all else holds, also for words of 1,000 letters.
for spec in 'algebraic(group=tree:2)' 'algebraic(group=tree:3, generator=householder, init=random)' \
    'algebraic(group=seq*tree:2*cycle:5, values=on, decay=0.9)'; do
    works check "$spec" --json
    for name in homomorphism inverse orthogonality norm long_homomorphism drift relativity; do
        says "$name" true true
    done
    says commutators false false
done
says period true true
[ "$(law period error)" = 0 ] || complain "cycles differ by $(law period error), not by 0"
# Cycles so long that a few turns leave 64 bits: as many are made as there is room for, or none.
for n in 576460752303423487 2305843009213693951 2305843009213693952 4611686018427387904 9223372036854775807; do
    works check "algebraic(group=cycle:$n)" --json
    says period true true
    [ "$(law period error)" = 0 ] || complain "cycle:$n: off by $(law period error)"
done
works check 'algebraic(group=seq)' --json
lacks period

# LieRE is orthogonal and no homomorphism; the figure shows it.
works check 'liere(group=grid:2)' --json
for name in inverse orthogonality norm drift; do says "$name" true true; done
for name in homomorphism long_homomorphism commutators relativity; do says "$name" false false; done
awk -v e="$(law homomorphism error)" 'BEGIN { exit !(e > 0.1) }' || complain "liere is almost a homomorphism"

# One side alone: absolute positions.
works check 'algebraic(group=grid:2, side=query)' --json
says homomorphism true true
says relativity false false
works check 'rope(side=key)' --json
says relativity false false

# At the score: relative, and no operators. At the embedding: neither.
for spec in alibi 'alibi(group=tree:2)' 'decay(group=grid:2)' 'relative(window=5, values=on)' none; do
    works check "$spec" --json
    says relativity true true
    lacks homomorphism
done
for spec in sinusoidal 'learned(size=64)'; do
    works check "$spec" --json
    says relativity false false
    lacks homomorphism
done

# Axes, sections, parts: the head's dimension is what the spec asks for.
for spec in 'rope(axes=3)' 'rope(pairs=half, axes=3, sections=16:24:24)' 'rope(rotate=64)' 'rope(scaling=linear, factor=4)' \
    'rope(scaling=dynamic, factor=2, original=100)' 'roper(axes=2)' '3*rope'; do
    works check "$spec" --json
    for name in homomorphism inverse orthogonality norm commutators relativity; do
        says "$name" true true
    done
done
# An attention factor stretches; what is relative stays so.
for spec in 'rope(scaling=yarn, factor=4, original=16)' 'rope(xpos=512)' \
    'rope(scaling=longrope, factor=4, original=16, short=1:1:1, long=1:2:3)'; do
    works check "$spec" --json
    says relativity true true
    says orthogonality false false
done
for spec in t5 kerple 'scores(cap=3)' cope; do
    works check "$spec" --json
    says relativity true true
    lacks homomorphism
done
for spec in chebyshev 'shiv-quirk(depth=4)' fire; do
    works check "$spec" --json
    says relativity false false
done
# One layer of a pattern.
works check 'rope(pairs=half) / none' --layer 0 --json
prints '"spec":.*"rope(pairs=half)"'
works check 'rope / none' --layer 1 --json
prints '"spec":.*"none"'
refuses 2 'have 2 different encodings; choose one with --layer' check 'rope / none'
refuses 2 'layer must be at least 0' check 'rope / none' --layer -1

works check 'learned(size=1)' --json
says relativity false true

# A table has an end, the operators beside it have none.
works check 'learned(size=100) + algebraic(group=seq, decay=learned:0.9)' --json
says homomorphism true true
says relativity false false

# Shapes, seeds, and the table for people.
works check 'algebraic(group=grid:2)' --heads 3 --head-dim 10 --seed 7
prints '^homomorphism .* yes  *holds$'
works check 'algebraic(group=tree:2)'
prints '^commutators .* no  *does not hold, and is not promised$'
works check 'algebraic(group=tree:2)' --seed 4 --json
cp .out/stdout once
works check 'algebraic(group=tree:2)' --seed 4 --json --threads 3
cmp -s once .out/stdout || complain 'threads change what is measured'
prints '"spec":.*"algebraic(group=tree:2)"'

refuses 2 'SPEC is missing' check
refuses 2 'cycle' check 'algebraic(group=cycle:0)'
refuses 1 'head_dim' check rope --head-dim 5
refuses 1 'params' check 'algebraic(group=seq)' --params nowhere/params.safetensors
finish
