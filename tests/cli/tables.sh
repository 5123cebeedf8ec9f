#!/bin/sh
# SPDX-License-Identifier: MIT
# What published tables are made of, whole: every training of a table with its encoding and name, what is refused in which
# words, and how files of parts are called. Nothing is trained. tests/golden/reproduction_lists.txt has all of it; a name ends
# in the hash of its configuration, so that runs that are there stay those of their tables.
. "${LOCUS_SOURCE:?}/tests/cli/transcript.inc"

# lists WORD…: the trainings, or the line that says why there are none
lists() {
    run reproduce "$@" --list
    printf '== %s\n' "$*"
    cat .out/stdout .out/stderr
    [ "$status" -eq 0 ] || printf 'status %d\n' "$status"
}

# files WORD…: how the folder of a table's parts is called
files() {
    run reproduce "$@" --sbatch
    printf '== %s\n' "$*"
    sed -n "s/^parts='\(.*\)'$/\1/p" .out/stdout | sort -u
    cat .out/stderr
}

{
    lists table1 --seeds 1
    lists table1 --seeds 1 --seed 7 --factors
    lists table1 --embedding-init unit --seeds 1 --columns copy
    lists table1 --embedding-init both --columns reverse,copy-scaled --rows rope --seeds 2
    lists table1 --embedding-init scaled --columns copy --rows algebraic,rel
    lists table1 --setup code --budget paper --columns copy --seeds 1 --decay both
    lists table1 --precision bf16 --columns repeat-unit --seeds 1
    lists table2 --seeds 1
    lists table2 --columns tree-c3 --decay both --seeds 1
    lists table2 --columns tree-copy-depth,tree-ops --decay off --embedding-init both --seeds 1
    lists table2 --setup code --budget paper --columns tree-ops --embedding-init unit --seeds 1
    lists table2 --tree-paths next --columns tree-copy --rows algebraic --budget quick
    lists table2 --tree-paths code --columns tree-reorder --rows algebraic-tree --seeds 1
    lists table3
    lists table3 --more --decay both --budget quick
    lists table3 --budget paper --setup code
    lists roper --seeds 1
    lists roper --more --seeds 1 --columns tree,addition
    lists roper --budget paper --columns addition
    lists roper --drop-worst --columns substring-index --seeds 2 --decay both
    lists listops --seeds 1
    lists listops --columns parity --decay both --seeds 1 --rows algebraic,none
    lists table4
    lists table1 --columns cop
    lists table1 --columns copy --rows mixed
    lists table3 --rows mixed
    lists roper --columns tree-copy
    lists table2 --columns tree-copy --rows relative
    lists table1 --seeds 101
    lists table3 --embedding-init unit
    lists roper --embedding-init unit
    lists listops --setup code
    lists table2 --factors
    lists table1 --factors --embedding-init scaled
    lists table1 --drop-worst
    lists roper --drop-worst --seeds 1
    lists table1 --more
    lists listops --more
    lists table2 --data here
    lists table3 --tree-paths next
    lists table1 --pretrained here
    lists table1 --only 99
    lists table1 --only 3,24 --seeds 2
    files table1
    files table1 --columns copy,reverse-unit --seed 3
    files table1 --rows rope --embedding-init scaled --factors --budget quick
    files table1 --factors --embedding-init both --precision bf16
    files table2 --embedding-init unit --decay both --setup code --budget paper
    files table2 --decay off --tree-paths own --columns tree-copy --rows rope,algebraic
    files table2 --tree-paths next
    files table2 --tree-paths code
    files table3 --more
    files roper --drop-worst --columns addition --store 'a b/locus.db'
    files table2 --columns tree-copy-breadth,tree-copy-depth,tree-reorder-breadth,tree-reorder-depth,tree-c3-breadth,tree-c3-depth
    files table2 --columns tree-copy-breadth,tree-copy-depth,tree-reorder-breadth,tree-reorder-depth,tree-c3-breadth,tree-c3,tree-ops-depth,tree-copy
} >lists.txt
checks=$((checks + 1))
kept=$LOCUS_SOURCE/tests/golden/reproduction_lists.txt
cmp -s lists.txt "$kept" || {
    cp lists.txt "${LOCUS_BUILD:-/tmp}/reproduction_lists.txt"
    complain "tables are made of something else, all of it in ${LOCUS_BUILD:-/tmp}/reproduction_lists.txt, from where it can" \
        "take the kept file's place if it is right: $(diff "$kept" lists.txt | head -n 20)"
}
absent runs
finish
