#!/bin/sh
# SPDX-License-Identifier: MIT
# locus encodings, help, version, and unknown names.
. "${LOCUS_SOURCE:?}/tests/cli/transcript.inc"

works encodings
names=$(sed -n 's/^    _(\([a-z0-9_]*\)).*/\1/p' "$LOCUS_SOURCE/src/spec/registry.c" | tr _ -)
[ "$(echo "$names" | wc -l)" -ge 20 ] || complain "src/spec/registry.c has another form: $names"
for name in $names; do
    prints "^$name: "
done
works encodings rope
prints '^rope: '
prints 'pairs'
prints 'base'
[ "$(grep -c '^[a-z0-9-]*: ' .out/stdout)" -eq 1 ] || complain "encodings rope shows more than rope"
works encodings --json
prints '"name":.*"algebraic"'
works encodings rope --json
prints '"default":'
prints '"default":'
# For programs: kinds, words and ranges of options.
works encodings scores --json
prints '"kind":.*"off or integer"'
works encodings rope --json
prints '"choices":.*"interleaved", "half"'
prints '"minimum":.*0'
prints '"open":.*true'
# The longest entry is readable in 100 columns, and says all there is; every entry has its head.
works encodings rope
for option in pairs base rotate learned side scaling factor original fast slow attention mscale mscale_all truncate low high \
    short long axes frequencies sections order xpos gamma centre values; do
    prints "^  $option  *[^ ]"
done
works encodings
checks=$((checks + 1))
sed 's/[^ -~][^ -~]*/x/g' .out/stdout | awk 'length($0) > 100 { exit 1 }' || complain 'a line is longer than 100 columns'
[ "$(grep -c '^  acts on' .out/stdout)" -eq "$(grep -c '^[a-z0-9-]*: ' .out/stdout)" ] || complain 'an entry without sites'
works encodings chebyshev
prints '^  acts on  embedding, encoded$'
works encodings kerple
prints '^  group   seq  '
works encodings chebyshev --json
prints '"encoded"'

refuses 2 "there is no encoding 'rop'; did you mean 'rope'?" encodings rop
refuses 2 "there is no encoding 'alg'; did you mean 'algebraic'?" encodings alg
refuses 2 'one word too many' encodings rope alibi

works --help
for command in encodings encode apply attend import-rope 'data make' train eval generate compare runs report bench; do
    prints "^  $command "
done
works --version
prints '^locus [0-9]'
for command in encodings encode apply attend import-rope 'data make' 'data inspect' train eval generate compare runs report bench; do
    # shellcheck disable=SC2086
    works $command --help
    prints "^usage: locus $command"
    prints '^example'
done
# The options that its help lists are those of its manual.
for command in path encode 'data make' train; do
    # shellcheck disable=SC2086
    works $command --help
    sed -n 's/^  \(    \|-., \)\(--[a-z0-9-]*\).*/\2/p' .out/stdout | sort >listed
    sed -n "/^\.SS locus $command/,/^\.SS /p" "$LOCUS_SOURCE/man/locus.1" | tr -d '\\' | sed -n 's/^fB\(-.fR, fB\)\?\(--[a-z0-9-]*\)fR.*/\2/p' |
        sort >manual
    checks=$((checks + 1))
    [ -s listed ] && cmp -s listed manual || complain "$command --help and its manual list other options: $(diff listed manual)"
done
works help encode
prints '^usage: locus encode'
works data --help
prints 'data make'

refuses 2 'a command is missing'
refuses 2 "unknown command 'trian'; did you mean 'train'?" trian
refuses 2 "unknown command 'xyzzy'" xyzzy
refuses 2 'data: which one?' data
refuses 2 "unknown command 'data mak'; did you mean 'data make'?" data mak
refuses 2 "stands before any command" --json encodings
refuses 2 'unknown option --jsn; did you mean --json?' encodings --jsn

# A full disk on standard output is a failure.
if [ -w /dev/full ]; then
    checks=$((checks + 1))
    "$LOCUS" encodings >/dev/full 2>.out/stderr
    [ $? -eq 1 ] && grep -q '^locus: cannot write to standard output' .out/stderr || complain 'output to a full device'
fi

# The files in the tree are what the tables say.
for made in bash:completions/locus.bash zsh:completions/_locus fish:completions/locus.fish man:man/locus.1; do
    works completion "${made%%:*}"
    checks=$((checks + 1))
    cmp -s .out/stdout "$LOCUS_SOURCE/${made#*:}" ||
        complain "${made#*:} is out of date: locus completion ${made%%:*} > ${made#*:}"
    : >.out/stdout
done

# What may stand next: the first words of the answers, and for files what a shell completes itself.
offers() {
    wanted=$1
    shift
    works completion words -- "$@"
    checks=$((checks + 1))
    got=$(cut -f1 .out/stdout | tr '\n' ' ')
    [ "$got" = "$wanted " ] || complain "completion of '$*': '$got', not '$wanted'"
    : >.out/stdout
}
# Before the first letter as before the first word: all commands, and what stands before one.
works completion words -- ''
cp .out/stdout all
works completion words --
checks=$((checks + 1))
cmp -s .out/stdout all && grep -q '^encode' all && grep -q '^--plugin' all || complain "completion of nothing: $(cat all)"
: >.out/stdout
offers 'words encodings encode' enc
offers 'words --plugin' --pl
offers 'words inspect' data i
offers 'words encodings encode' help enc
offers 'words sinusoidal' encode sinu
offers 'words --operators' encode rope --oper
offers 'words causal' attend rope --mask ca
offers 'words causal' attend rope --mask=ca
offers 'words causal' attend rope --mask = ca
offers 'words full causal prefix' attend rope --mask =
offers 'files' apply rope --input x
offers 'files' apply rope -i x
offers 'folders' attend rope --grad-dir ''
offers 'words reverse' train --task rev
offers 'words copy,reverse' compare --task copy,rev
offers 'words rope,alibi' compare --encodings 'rope,ali'
offers 'words rope + alibi' check 'rope + ali'
offers 'words rope / alibi' check 'rope / ali'
offers 'words rope(pairs=' check "'rope(pai"
offers 'words rope(base=500, pairs=half' check "'rope(base=500, pairs=h"
offers 'words rope rope( roper' check "'rope"
offers 'words algebraic(group=tree:' check "'algebraic(group=t"
offers 'words soft(landmarks=' attend rope --attention "'soft(l"
offers 'words rope(base=500),alibi' compare --encodings "'rope(base=500),ali"
offers 'words sinusoidal' --plugin x.so encode sinu
offers 'files' --plugin ''
offers 'words' path seq ''
offers 'words' eval no-such-run

# Runs by their names, of the store of the line.
mkdir -p runs
"$LOCUS" runs import "$LOCUS_SOURCE/docs/results/table1-quick.json" --quiet || complain "runs import"
run=$("$LOCUS" completion words -- eval '' | sed -n 2p | cut -f1)
offers "words $run" eval "$run"
offers 'words' eval --store other.db "$run"
cp runs/locus.db unnamed.db
"${LOCUS_PYTHON:-python3}" -c 'import sqlite3
with sqlite3.connect("unnamed.db") as store:
    store.execute("UPDATE run SET name = ? WHERE id = 1", ("",))' || complain 'a run without a name'
works completion words -- eval --store unnamed.db ''
checks=$((checks + 1))
[ "$(wc -l <.out/stdout)" -ge 32 ] && ! cut -f1 .out/stdout | grep -qx '' || complain 'a run without a name is offered'
# Not those that are more than letters to a shell, and one that is an option: the store may be a stranger's.
for name in 'a$(touch proof)' 'a`touch proof`' 'a;touch proof' 'a b' "a'b" 'a|b' 'a*' 'a\b' '~a' aé --help a.b_c+d-2; do
    "$LOCUS" runs rename --quiet -- '#1' "$name" || complain "runs rename to $name"
    works completion words -- eval ''
    cut -f1 .out/stdout >offered
    checks=$((checks + 1))
    [ "$(wc -l <offered)" -ge 32 ] || complain 'other runs are not offered'
    grep -qxF -e "$name" offered && [ "$name" != a.b_c+d-2 ] && complain "completion offers $name"
    : >.out/stdout
done
offers 'words a.b_c+d-2' eval a

PATH=$(dirname "$LOCUS"):$PATH
if command -v bash >/dev/null; then
    checks=$((checks + 1))
    cat >try.bash <<'SCRIPT'
. "$1/completions/locus.bash"
complete_line() { COMP_WORDS=("$@"); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _locus; echo "${COMPREPLY[*]}"; }
[ "$(complete_line locus enc)" = "encodings encode" ] || exit 1
[ "$(complete_line locus attend rope --mask ca)" = "causal" ] || exit 2
[ "$(complete_line locus train --task copy,rev)" = "copy,reverse" ] || exit 3
[ "$(complete_line locus check "'rope(base=500, pairs=h")" = "rope(base=500, pairs=half" ] || exit 4
[ -z "$(complete_line locus apply rope --input x)" ] || exit 5
# Whatever the program says, a shell reads a word, and runs nothing.
locus() { printf 'words\n%s\tdone\n' "$answer"; }
reads_as() { [ "$(complete_line locus eval "$1")" = "$2" ]; }
for answer in 'a$(touch proof)' 'a`touch proof`' 'a;touch proof' "a'b" 'a|b&c>d' 'a*' 'a\b' '~a' "'\$(touch proof)" '"$(touch proof)'; do
    eval "set -- $(complete_line locus eval a)"
    [ "$#:$1" = "1:$answer" ] || exit 6
done
[ ! -e proof ] || exit 7
answer='a"$`!\'
reads_as "'a" "$answer" && reads_as '"a' '' || exit 8
answer="a';b"
reads_as "'a" '' && reads_as '"a' "$answer" || exit 9
answer='a,b:c=d/e@f%g+h_i-j.k'
reads_as a "$answer" || exit 10
SCRIPT
    bash try.bash "$LOCUS_SOURCE" || complain "bash completion, case $?"
fi
if command -v groff >/dev/null; then
    checks=$((checks + 1))
    groff -ww -man -Tutf8 "$LOCUS_SOURCE/man/locus.1" >/dev/null 2>.out/stderr
    [ ! -s .out/stderr ] || complain 'groff warns of man/locus.1'
fi
finish
