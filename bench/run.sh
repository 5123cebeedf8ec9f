#!/bin/sh
# SPDX-License-Identifier: MIT
# Everything that docs/performance.md quotes, in one run, and PyTorch beside it where it is installed (pip install
# torch==2.13.0; for the part `encodings` also onnx, onnxruntime and jax). Usage: ./dev bench [PART …], with the parts plans, parallel,
# kernels, apply, attention, decode, generation, kinds, encodings, trees, groups, linalg, scores, step, tree-step, image-step,
# decoder-step, torch and peers.
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

for part in "$@"; do
    case $part in
    plans | parallel | kernels | apply | decode | kinds | groups | linalg | scores | step)
        echo "== $part"
        "$build/bench_$part"
        ;;
    attention)
        echo "== $part"
        "$build/bench_attention"
        peer bench/peer_attention.py
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
    tree-step)
        echo "== $part"
        "$build/bench_step" --shape trees
        peer bench/peer_tree_step.py
        ;;
    image-step)
        echo "== $part"
        "$build/bench_step" --shape cifar10
        peer bench/peer_image_step.py
        peer bench/peer_image_step.py --depth 0.1 --cases sdpa-none
        ;;
    decoder-step)
        echo "== $part"
        "$build/bench_step" --shape decoder
        peer bench/peer_decoder_step.py
        "$build/bench_step" --shape text # a language model's vocabulary
        peer bench/peer_decoder_step.py --batch 8 --length 513 --vocabulary 8000
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
    peers)
        echo "== peers: a training step, rotate-half"
        peer bench/peer_step.py
        peer bench/peer_apply.py
        ;;
    *)
        echo "bench: unknown part '$part': there are kernels, apply, attention, decode, generation, kinds, encodings, trees, groups, linalg, scores, step, tree-step, image-step, decoder-step, torch and peers" >&2
        exit 2
        ;;
    esac
done
