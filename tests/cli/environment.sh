#!/bin/sh
# SPDX-License-Identifier: MIT
# Variables that say what cannot be read are bad usage: status 2 and one line that names the variable.
set -eu
refused() { # variable value
    status=0
    message=$(env "$1=$2" "$LOCUS" encodings 2>&1 >/dev/null) || status=$?
    [ "$status" = 2 ] || { echo "$1=$2: status $status"; exit 1; }
    case $message in *"$1 is '$2': expected "*) ;; *) echo "$1=$2: $message"; exit 1 ;; esac
    [ "$(printf '%s\n' "$message" | wc -l)" = 1 ] || { echo "$1=$2: more than a line: $message"; exit 1; }
}
for value in garbage AVX2 avx 'scalar ' 1; do refused LOCUS_ISA "$value"; done
for value in -1 0 1025 99999999999999999999999 2x '2 ' +2 0x2 many; do refused LOCUS_THREADS "$value"; done
for value in '' scalar avx2 avx512 avx512bf16 amx neon; do LOCUS_ISA=$value "$LOCUS" encodings >/dev/null; done
for value in '' 1 2 1024 007; do LOCUS_THREADS=$value "$LOCUS" encodings >/dev/null; done
[ "$(LOCUS_ISA=scalar "$LOCUS" --version | sed -n 's/^kernels: \([a-z0-9]*\),.*/\1/p')" = scalar ]

# A number beyond a limit is told the limit.
told() { # spec words
    status=0
    message=$("$LOCUS" check "$1" 2>&1 >/dev/null) || status=$?
    [ "$status" = 2 ] || { echo "$1: status $status"; exit 1; }
    case $message in *"$2"*) ;; *) echo "$1: $message"; exit 1 ;; esac
}
told 'learned(size=999999999999)' 'expected integer from 1 to 16777216'
told 'relative(window=1e9)' 'to 16777216'
told 'cope(max=70000)' 'to 65536'
told 't5(buckets=5000)' 'to 4096'
told 'sinusoidal(base=1e301)' 'at most 1e+300'
told 'scores(window=1e16)' 'at most 1e+15'
told 'decay(rate=2)' 'rate ≤ 1'
