#!/bin/sh
# SPDX-License-Identifier: MIT
# locus --plugin: encodings from shared objects are listed, checked, trained, compared and reported like any other; what
# is no plugin, or does not do what it promises, is said in one line.
. "${LOCUS_SOURCE:?}/tests/cli/transcript.inc"

examples=${LOCUS_BUILD:?}/examples/plugins
plugins=$LOCUS_BUILD/tests/plugins
window="--plugin $examples/window.so"
both="$window --plugin=$examples/wheels.so"

# plugged PATTERN WORD…: works, and prints that
plugged() {
    pattern=$1
    shift
    works "$@"
    prints "$pattern"
}

# Listed, with options, parameters, and other plugins; the line that stands first stays what it was without.
# shellcheck disable=SC2086
{
    plugged '^window: a bias' $window encodings
    plugged '^wheels: turns' $both encodings
    plugged '^  width  *4  *number > 0' $window encodings window
    plugged '^  learned  *speed' $both encodings wheels
    plugged '"learned":.*"width"' $window encodings window --json
    plugged '^window	' $window completion words -- check wi
    plugged '^window(width=	' $window completion words -- check "'window(w"
    plugged "(locus $window completion words" $window completion bash
    plugged '^usage' $window check --help
    plugged '^usage: locus .*COMMAND' $window --help
    plugged '^locus [0-9]' $window --version
}
prints 'locus'
works encodings
checks=$((checks + 1))
! grep -q '^window' .out/stdout || complain 'a plugin without --plugin'

# Laws: promised and kept.
for spec in wheels 'wheels(most=10) + window' 'rope + window' 'algebraic(group=tree:2) + window(group=tree:2)'; do
    # shellcheck disable=SC2086
    works $both check "$spec" --json
    checks=$((checks + 1))
    tr -d ' \t\n' <.out/stdout >laws
    grep -q '"promised":true,"holds":true' laws && ! grep -q '"promised":true,"holds":false' laws ||
        complain "a law of $spec does not hold: $(cat laws)"
done
# shellcheck disable=SC2086
{
    works $both encode 'window(width=2)' --heads 2 --positions 0:9 --scores -o scores.npy
    works $both encode wheels --heads 2 --head-dim 6 --positions 0:9 --operators -o operators.npy
}
[ -s scores.npy ] && [ -s operators.npy ] || complain 'no tables'

# Trained, scored, decoded with, compared, reported.
small="--dim 16 --heads 2 --layers 1 --feed-forward 32 --length 5 --symbols 6 --train-samples 100 --dev-samples 20
    --test-samples 30 --batch 10 --steps 20 --evaluate-every 10 --threads 1"
# shellcheck disable=SC2086
{
    plugged '"state":[[:space:]]*"done"' $both train --task copy --encoding 'wheels + window(width=2)' $small --name own --json --quiet
    plugged 'wheels + window(width=2)' $both runs
    plugged '^test' $both eval own
    plugged '^output' $both generate own -n 1
    works $both train --task reverse --encoding 'window(width=3)' $small --name other --quiet
    works $both compare --task copy --encodings 'rope,wheels' --seeds 1 $small --quiet
    works $both report -o own.html --quiet
}
grep -q wheels own.html || complain 'the report does not know wheels'

# Trees, and decoding from a prompt.
small="--dim 16 --heads 2 --layers 1 --feed-forward 32 --batch 4 --steps 10 --threads 1 --quiet"
# shellcheck disable=SC2086
{
    works $both train --task tree-copy --encoding 'algebraic(group=tree:2) + window(group=tree:2)' --depth 2 \
        --train-samples 40 --dev-samples 8 --test-samples 8 --greedy-samples 4 --evaluate-every 5 $small --name tree
    plugged '^output' $both generate tree -n 1
    works $both train --task addition --encoding 'wheels + window' --sequence 40 --greedy-samples 2 --digits 1 \
        --train-samples 20 $small --name sum
    works $both generate sum --prompt '?1+2; '
}

# Such a run without its plugin: which encoding is unknown, and what loads it.
refuses 2 "there is no encoding 'wheels'.*locus --plugin FILE.so" eval own
refuses 2 "there is no encoding 'window'.*locus --plugin FILE.so" eval other
refuses 2 "there is no encoding 'window'.*locus --plugin FILE.so" check window
works runs
prints 'wheels + window(width=2)'

# What is no plugin.
echo text >text.so
# shellcheck disable=SC2086
{
    refuses 2 "'missing.so' cannot be loaded" --plugin missing.so encodings
    refuses 2 "'text.so' cannot be loaded" --plugin text.so encodings
    refuses 2 "plugin_none.so' is no plugin of locus: it has no locus_plugin_entry" --plugin "$plugins/plugin_none.so" encodings
    refuses 2 'built for binary interface [0-9]* of locus, this is [0-9]*: build it again' --plugin "$plugins/plugin_old.so" encodings
    refuses 2 "there is an encoding 'window' already" $window $window encodings
    refuses 2 'which file' --plugin
    refuses 2 'stands before the command: locus --plugin FILE.so encodings' encodings $window
    refuses 2 'a command is missing' $window
    refuses 2 "unknown command '--plugins'\|stands before any command" --plugins x encodings
}

# What breaks its promises: check says so, and plans with what is no number are refused.
bad="--plugin $plugins/plugin_bad.so"
# shellcheck disable=SC2086
{
    run $bad check bad-absolute --json
    grep -q '"relativity"' .out/stdout && grep -A4 '"relativity"' .out/stdout | grep -q '"holds":[[:space:]]*false' ||
        complain 'bad-absolute: relativity holds'
    [ "$status" -eq 1 ] || complain "bad-absolute: exit $status"
    sed 's/off by [1-9][0-9.]* (/off by N (/' .out/stderr >said
    echo "locus: check: 'bad-absolute' breaks a law that it promises: relativity, score(c+a, c+b) = score(a, b), is off by N (at most 1e-10)" |
        cmp -s - said || complain 'bad-absolute: which law'
    run $bad check bad-absolute
    prints '^relativity .* yes  *FAILS$'
    run $bad check 'alibi + bad-squares'
    prints '^relativity .* no  *does not hold, and is not promised$'
    run $bad check bad-squares --json
    grep -A4 '"homomorphism"' .out/stdout | grep -q '"holds":[[:space:]]*false' || complain 'bad-squares: a homomorphism'
    [ "$status" -eq 1 ] || complain "bad-squares: exit $status"
    refuses 1 "'bad-hole' says nan for the query at" $bad check bad-hole
    refuses 1 "the callback of 'bad-failing' failed: no table for this length" $bad encode bad-failing --heads 1 --positions 0:4 --scores -o no.npy
}
absent no.npy
finish
