#!/bin/sh
# SPDX-License-Identifier: MIT
# ./dev bench: every part that has PyTorch as a peer runs it in all of its ways and sets it beside locus, and ratios are of equal
# work, to the fastest row. Nothing is timed here.
. "${LOCUS_SOURCE:?}/tests/cli/stepwise.inc"
command -v python3 >/dev/null || { echo "there is no python3"; exit 77; }

# Commands of all parts: each peer once as installed and once with MKL's fast path, then the ratios.
(cd "$LOCUS_SOURCE" && sh bench/run.sh --list) >commands
for peer in $(cd "$LOCUS_SOURCE" && grep -l '^import peer_ways$' bench/*.py); do
    grep -q 'peer_ways\.\(begin\|add_options\)' "$LOCUS_SOURCE/$peer" || fail "$peer does not say what its own products reach"
    grep -q " $peer" commands || fail "no part of run.sh runs $peer"
done
awk '
    function ends() {
        if (peers != fast || (peers > 0 && !ratios)) { print part ": " peers " peers, " fast " with the fast path, " ratios + 0 " ratios"; bad = 1 }
        all += peers; peers = fast = ratios = 0
    }
    /^== / { ends(); part = $2; next }
    /bench\/peer_best\.py/ { ratios++; if (peers != fast) { print part ": ratios before the fast path"; bad = 1 } }
    / --write / { next }
    /bench\/(peer_(step|tree_step|image_step|decoder_step|attention|apply|encodings|generation|trees)|torch_attention)\.py/ {
        if (/LD_PRELOAD=.*LOCUS_PEER_MKL=fast path/) { fast++; if (substr($0, index($0, "path ") + 5) != last) { print "not the same peer: " $0; bad = 1 } }
        else { peers++; last = $0 }
    }
    END { ends(); if (all != 12) { print all " peers"; bad = 1 } exit bad }' commands || fail "not every peer is run in all ways"
status=0
(cd "$LOCUS_SOURCE" && sh bench/run.sh --list plans nonsense) >out 2>err || status=$?
[ "$status" = 2 ] && [ ! -s out ] && grep -q "unknown part 'nonsense'" err || fail "an unknown part: $status, $(cat out err)"

# A part as it runs, with programs that print what is written here, on what says that it is an AMD processor: with a compiler, and
# with none that works.
mkdir -p tree/bench tree/build/release/bench bin
cp "$LOCUS_SOURCE/bench/run.sh" "$LOCUS_SOURCE/bench/peer_best.py" tree/bench
cat >tree/build/release/bench/bench_apply <<'END'
#!/bin/sh
echo '[ {"positions": 64, "peak_gflops": 400, "rope": {"forward_s": 2e-6}, "algebraic": {"forward_s": 4e-5}} ]'
END
cat >bin/python3 <<END
#!/bin/sh
case \$1 in
-c) ;;
bench/peer_apply.py)
    seconds=8e-6
    [ "\${LOCUS_PEER_MKL:-as installed}" = 'as installed' ] || seconds=3e-6
    echo "{\"peer\": \"P\", \"case\": \"c\", \"way\": \"float32\", \"mkl\": \"\${LOCUS_PEER_MKL:-as installed}\", \"work\": {\"encoding\": \"rope\", \"positions\": 64, \"pass\": \"forward\"}, \"best_s\": \$seconds}"
    ;;
*) exec $(command -v python3) "\$@" ;;
esac
END
printf '#!/bin/sh\nexit 0\n' >bin/grep
chmod +x tree/build/release/bench/bench_apply bin/python3 bin/grep
ran() {
    (cd tree && PATH="$work/bin:$PATH" LD_PRELOAD='' "$@" sh bench/run.sh apply 2>/dev/null) >out || fail "run.sh apply: $(cat out)"
}
ran env CC="${CC:-cc}"
grep -q '"ratio": 1.5' out && grep -q 'MKL fast path' out && ! grep -q left_out out || fail "with the fast path: $(cat out)"
ran env CC=false
grep -q '"ratio": 4.0' out && grep -q '"mkl": "fast path", "left_out": ".*did not compile' out || fail "without it: $(cat out)"

# Ratios: of equal work alone, to the fastest row of any way; stochastic depth is work of its own.
cat >float32.json <<'END'
{"precision": "float32", "product_gflops": 400, "steps": [
  {"encoding": "algebraic(group=seq, decay=0.98)", "stochastic_depth": 0, "best_seconds": 0.5},
  {"encoding": "algebraic(group=tree:2, decay=0.98)", "stochastic_depth": 0, "best_seconds": 0.6},
  {"encoding": "none", "stochastic_depth": 0, "best_seconds": 0.8},
  {"encoding": "none", "stochastic_depth": 0.1, "best_seconds": 0.4}]}
END
cat >bf16.json <<'END'
{"precision": "bf16", "product_gflops": 800, "steps": [{"encoding": "none", "stochastic_depth": 0, "best_seconds": 0.5}]}
END
cat >peer.jsonl <<'END'
{"peer": "P", "mkl": "as installed", "threads": 2, "product_gflops": {"float32": 200}}
{"peer": "P", "case": "e", "way": "float32", "mkl": "as installed", "work": {"encoding": "algebraic(group=tree:2, decay=0.98)", "depth": 0}, "best_s": 18}
{"peer": "P", "case": "e", "way": "float32 compiled", "mkl": "as installed", "work": {"encoding": "algebraic(group=tree:2, decay=0.98)", "depth": 0}, "left_out": "no"}
{"peer": "P", "case": "s", "way": "float32", "mkl": "as installed", "work": {"encoding": "none", "depth": 0}, "best_s": 2.4}
{"peer": "P", "case": "s", "way": "float32 compiled", "mkl": "fast path", "work": {"encoding": "none", "depth": 0}, "best_s": 1.6}
{"peer": "P", "case": "s", "way": "bf16", "mkl": "fast path", "work": {"encoding": "none", "depth": 0}, "best_s": 1.2}
{"peer": "P", "case": "s", "way": "float32", "mkl": "as installed", "work": {"encoding": "none", "depth": 0.1}, "best_s": 2}
{"peer": "P", "case": "s", "way": "float32", "mkl": "as installed", "work": {"encoding": "rope", "depth": 0}, "best_s": 3}
END
python3 "$LOCUS_SOURCE/bench/peer_best.py" step float32.json bf16.json peer.jsonl >out
tail -n +11 out >ratios
cat >wanted <<'END'
{"work": {"encoding": "algebraic(group=seq, decay=0.98)", "depth": 0}, "locus": "float32", "locus_s": 0.5, "no_ratio": "no peer did this work"}
{"work": {"encoding": "algebraic(group=tree:2, decay=0.98)", "depth": 0}, "locus": "float32", "locus_s": 0.6, "peer_s": 18, "peer": "P, e, float32, MKL as installed", "ratio": 30.0}
{"work": {"encoding": "none", "depth": 0}, "locus": "float32", "locus_s": 0.8, "peer_s": 1.2, "peer": "P, s, bf16, MKL fast path", "ratio": 1.5, "peer_in_this_precision": "P, s, float32 compiled, MKL fast path", "ratio_in_this_precision": 2.0}
{"work": {"encoding": "none", "depth": 0.1}, "locus": "float32", "locus_s": 0.4, "peer_s": 2, "peer": "P, s, float32, MKL as installed", "ratio": 5.0}
{"work": {"encoding": "none", "depth": 0}, "locus": "bf16", "locus_s": 0.5, "peer_s": 1.2, "peer": "P, s, bf16, MKL fast path", "ratio": 2.4}
{"work": {"depth": 0, "encoding": "rope"}, "no_ratio": "locus was not timed with this"}
END
diff wanted ratios || fail "ratios of steps"

# Attention: both passes, types and masks apart.
{
    echo '{"program": "locus", "threads": 2, "isa": "avx512", "peak_gflops": 400}'
    echo '{"program": "locus", "encoding": "none", "batch": 1, "length": 64, "ragged": false, "type": "bf16", "causal": true, "forward": {"best_ms": 2}, "both": {"best_ms": 5}}'
} >attention.jsonl
for pass in forward both; do
    for causal in true false; do
        echo "{\"peer\": \"P\", \"case\": \"sdpa\", \"way\": \"bf16\", \"work\": {\"encoding\": \"none\", \"batch\": 1, \"length\": 64, \"ragged\": false, \"causal\": $causal, \"pass\": \"$pass\"}, \"best_s\": 0.02}"
    done
done >attention_peer.jsonl
python3 "$LOCUS_SOURCE/bench/peer_best.py" attention attention.jsonl attention_peer.jsonl >out
[ "$(grep -o '"ratio": [0-9.]*' out | tr '\n' ' ')" = '"ratio": 10.0 "ratio": 4.0 ' ] && [ "$(grep -c no_ratio out)" = 2 ] ||
    fail "ratios of attention: $(cat out)"
