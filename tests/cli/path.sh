#!/bin/sh
# SPDX-License-Identifier: MIT
# locus path: normal forms, inverses, relative paths, lengths and distances on every kind of group; as JSON; refusals.
. "${LOCUS_SOURCE:?}/tests/cli/transcript.inc"

# says WORDS…: what `locus path` prints, on one line, compared with standard input
says() {
    works path "$@"
    tr -s ' \n' ' ' <.out/stdout >got
    tr -s ' \n' ' ' >want
    cmp -s got want || complain "locus path $*: $(cat got)"
}
says tree:2 1+2-2 <<'END'
path 1 inverse -1 length 1
END
says seq -3 <<'END'
path -3 inverse 3 length 3
END
says cycle:6 -1 <<'END'
path 5 inverse 1 length 5
END
says cycle:6 5 1 <<'END'
path 5 inverse 1 length 5 to 1 relative 2 distance 2
END
says tree:2 -2+1 1 <<'END'
path -2+1 inverse -1+2 length 2 to 1 relative -1+2+1 distance 3
END
says tree:1 1+1+1 1 <<'END'
path 1+1+1 inverse -1-1-1 length 3 to 1 relative -1-1 distance 2
END
says grid:2 '(0,0)' '(3,3)' <<'END'
path (0,0) inverse (0,0) length 0 to (3,3) relative (3,3) distance 4
END
says 'seq * (seq * tree:2)' '(3,(4,1+2))' '(0,0,1+1)' <<'END'
path (3,4,1+2) inverse (-3,-4,-2-1) length 9 to (0,0,1+1) relative (-3,-4,-2+1) distance 7
END
says seq -9223372036854775807 <<'END'
path -9223372036854775807 inverse 9223372036854775807 length 9223372036854775807
END
says cycle:9223372036854775807 -1 <<'END'
path 9223372036854775806 inverse 1 length 9223372036854775806
END

# A word that begins with a sign is never an option; options may stand anywhere, and -- ends them.
says tree:2 -1-2 -- -1 <<'END'
path -1-2 inverse 2+1 length 2 to -1 relative 2 distance 1
END

# json WANTED WORDS…: without white space
json() {
    wanted=$1
    shift
    works path "$@" --json
    tr -d ' \t\n' <.out/stdout >got
    [ "$(cat got)" = "$wanted" ] || complain "locus path $* --json: $(cat got)"
}
json '{"path":"1","inverse":"-1","length":1}' tree:2 1+2-2
json '{"path":"-3","inverse":"3","length":3,"relative":"8","distance":8}' seq -3 5
json '{"path":"(3,1+2)","inverse":"(-3,-2-1)","length":5}' 'seq*tree:2' '(3,1+2)'
json '{"path":"0","inverse":"0","length":0,"relative":"9223372036854775807","distance":9223372036854775807}' \
    seq 0 9223372036854775807
json '{"path":"2","inverse":"2","length":2}' cycle:4 -2

# caret COLUMN WORDS…: bad usage whose caret stands there
caret() {
    column=$1
    shift
    refuses 2 '' path "$@"
    [ "$(awk '/^ *\^/ { print index($0, "^") - 2 }' .out/stderr)" = "$column" ] || complain "caret is not at $column"
}
caret 7 cycle:0 1
caret 1 'tre:2' 1
caret 2 tree:2 1+3
caret 4 tree:2 1+2-0
caret 2 seq 1+2
caret 6 grid:2 '(1,2,3)'
caret 1 grid:2 5
caret 1 grid:2 '(1,2'
caret 3 tree:2 1+
caret 5 'seq*tree:2' '(3,1+5)'
caret 1 seq 9223372036854775808
refuses 2 "grid:3' needs a tuple of 3" path grid:3 '(1,2)'
refuses 2 'no branch .3. on tree:1' path tree:1 3
refuses 2 'EXPR is missing' path seq
refuses 2 'one word too many' path seq 1 2 3
refuses 2 'nested more than 1000 deep' path "$(awk 'BEGIN { for (i = 0; i < 10000; i++) printf "("; print "seq" }')" 1
refuses 2 'nested more than 1000 deep' path seq "$(awk 'BEGIN { for (i = 0; i < 10000; i++) printf "("; print "1" }')"

# Overflow is a failure, not a number.
refuses 1 'inverse does not fit in 64 bits' path seq -9223372036854775808
refuses 1 'relative path does not fit in 64 bits' path seq -2 9223372036854775807
refuses 1 'length does not fit in 64 bits' path grid:2 '(9223372036854775807,1)'
refuses 1 '2^31 axes' path grid:9223372036854775807 '(1,2)'
finish
