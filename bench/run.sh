#!/bin/sh
# SPDX-License-Identifier: MIT
# Everything that docs/performance.md quotes, in one run, and PyTorch beside it where it is installed (pip install
# torch==2.13.0; for the part `encodings` also onnx, onnxruntime and jax). Usage: ./dev bench [PART …], with the parts plans, parallel,
# kernels, apply, attention, decode, generation, kinds, encodings, trees, groups, linalg, scores, step, tree-step, image-step,
# decoder-step, torch and peers; ranks (Open MPI) only if named.
# Training steps and attention stand beside PyTorch at its best on this machine: float32 and bfloat16, as written and compiled, and on
# AMD processors once more with MKL's fast path, which MKL keeps for Intel's. peer_best.py says all rows and the ratio to the best.
set -eu
build=build/release/bench
[ $# -gt 0 ] || set -- plans parallel kernels apply attention decode generation kinds encodings trees groups linalg scores step tree-step \
    image-step decoder-step torch peers

peer() {
    if python3 -c 'import torch' 2>/dev/null; then
        python3 "$@"
    else
        echo "bench: PyTorch is not installed: no peer beside this (pip install torch==2.13.0)" >&2
    fi
}

# MKL asks a function of its own whether it may take its fast path; one that is loaded before it says yes.
fast_mkl=
if grep -q AuthenticAMD /proc/cpuinfo 2>/dev/null; then
    fast_mkl=$PWD/$build/fast_mkl.so
    echo 'int mkl_serv_intel_cpu_true(void) { return 1; }' | ${CC:-cc} -shared -fPIC -x c -o "$fast_mkl" - || fast_mkl=
fi

# A peer that is compared in all of PyTorch's ways.
peer_at_its_best() {
    peer "$@"
    if [ -n "$fast_mkl" ]; then
        LD_PRELOAD=$fast_mkl LOCUS_PEER_MKL='fast path' peer "$@"
    fi
}

# A training step in both precisions beside a peer's: all rows, then the ratios. step SHAPE PEER [OPTION …]
step_beside() {
    shape=$1
    shift
    for precision in float32 bf16; do
        "$build/bench_step" --json --shape "$shape" --precision $precision >"$build/step_$precision.json"
    done
    peer_at_its_best "$@" >"$build/step_peer.jsonl"
    python3 bench/peer_best.py "$build/step_float32.json" "$build/step_bf16.json" "$build/step_peer.jsonl"
}

for part in "$@"; do
    case $part in
    plans | parallel | kernels | apply | decode | kinds | groups | linalg | scores)
        echo "== $part"
        "$build/bench_$part"
        ;;
    attention)
        echo "== $part"
        for type in float32 bf16; do
            "$build/bench_attention" --type $type
        done
        peer_at_its_best bench/peer_attention.py
        ;;
    encodings) # every encoding for prefill and decode, and whoever else can do it
        echo "== $part"
        "$build/bench_encodings" >"$build/encodings.jsonl"
        if python3 -c 'import torch' 2>/dev/null; then
            python3 bench/peer_encodings.py --locus "$build/encodings.jsonl"
        else
            cat "$build/encodings.jsonl"
        fi
        ;;
    trees) # both on the same batch, if there is someone to write it
        echo "== $part"
        if peer bench/peer_trees.py --write "$build/trees.txt" && [ -f "$build/trees.txt" ]; then
            "$build/bench_trees" --batch "$build/trees.txt"
            peer bench/peer_trees.py --read "$build/trees.txt"
        else
            "$build/bench_trees"
        fi
        ;;
    step)
        echo "== $part"
        step_beside published bench/peer_step.py
        ;;
    tree-step)
        echo "== $part"
        step_beside trees bench/peer_tree_step.py
        ;;
    image-step) # without stochastic depth and with it
        echo "== $part"
        step_beside cifar10 bench/peer_image_step.py
        peer_at_its_best bench/peer_image_step.py --depth 0.1 --cases sdpa-none
        ;;
    decoder-step) # and with a language model's vocabulary
        echo "== $part"
        step_beside decoder bench/peer_decoder_step.py
        step_beside text bench/peer_decoder_step.py --batch 8 --length 513 --vocabulary 8000
        ;;
    generation) # decoding with a whole model; the same parameters for both
        echo "== $part"
        "$build/bench_generation" --write "$build/generation.safetensors"
        peer bench/peer_generation.py --model "$build/generation.safetensors"
        rm -f "$build/generation.safetensors"
        ;;
    torch) # locus.torch beside PyTorch at its best
        echo "== $part"
        if [ -x build/python-environment/bin/python ] && [ -d build/python/python/locus ]; then
            PYTHONPATH=build/python/python build/python-environment/bin/python bench/torch_attention.py
        else
            echo "bench: the Python package is not built: ./dev test python.names builds it" >&2
        fi
        ;;
    ranks) # and what the measured says of more of them
        echo "== $part"
        sh bench/shared_steps.sh >"$build/ranks.jsonl"
        python3 tools/rank_costs.py "$build/ranks.jsonl" --locus build/release/locus
        ;;
    peers)
        echo "== peers: rotate-half"
        peer bench/peer_apply.py
        ;;
    *)
        echo "bench: unknown part '$part': there are plans, parallel, kernels, apply, attention, decode, generation, kinds, encodings, trees, groups, linalg, scores, step, tree-step, image-step, decoder-step, torch, peers and ranks" >&2
        exit 2
        ;;
    esac
done
