#!/bin/sh
# SPDX-License-Identifier: MIT
# Everything that docs/performance.md quotes, in one run, and PyTorch beside it where it is installed, for python3 or in
# build/python-environment, or LOCUS_BENCH_PYTHON (pip install torch==2.13.0; for the part `encodings` also onnx, onnxruntime and jax).
# Usage: ./dev bench [--list] [PART …], with the parts plans, parallel, kernels, apply, attention, decode, generation, kinds,
# encodings, trees, groups, linalg, scores, step, tree-step, image-step, decoder-step and torch; ranks (Open MPI)
# and ggml (pip install ggml-python==0.0.45) only if named. --list says the commands of an AMD processor and runs none.
# Whatever has PyTorch as a peer stands beside PyTorch at its best on this machine: float32 and bfloat16, as written and compiled,
# and on AMD processors all of it once more with MKL's fast path, which MKL keeps for Intel's. peer_best.py says all rows and the
# ratio to the best.
set -eu
build=build/release/bench
all='plans parallel kernels apply attention decode generation kinds encodings trees groups linalg scores step tree-step image-step
    decoder-step torch'
listing=false
if [ "${1:-}" = --list ]; then
    listing=true
    shift
fi
# shellcheck disable=SC2086 # parts, to be split
[ $# -gt 0 ] || set -- $all

# into FILE COMMAND…: what it prints is added to the file.
into() {
    file=$1
    shift
    if $listing; then
        echo "$*"
    else
        "$@" >>"$file"
    fi
}

# shown COMMAND…: what it prints is shown.
shown() {
    if $listing; then
        echo "$*"
    else
        "$@"
    fi
}

# fresh NAME…: empty files of these names
fresh() {
    for name in "$@"; do
        $listing || : >"$build/$name"
    done
}

# python_with MODULE: a Python that has it, or python3
python_with() {
    for candidate in ${LOCUS_BENCH_PYTHON:-} python3 build/python-environment/bin/python; do
        if "$candidate" -c "import $1" 2>/dev/null; then
            echo "$candidate"
            return
        fi
    done
    echo python3
}
python=$(python_with torch)

has_torch() {
    $listing || "$python" -c 'import torch' 2>/dev/null
}

# MKL asks a function of its own whether it may take its fast path; one that is loaded before it says yes.
is_amd() {
    $listing || grep -q AuthenticAMD /proc/cpuinfo 2>/dev/null
}
fast_mkl=$PWD/$build/fast_mkl.so
if ! $listing && is_amd &&
    ! echo 'int mkl_serv_intel_cpu_true(void) { return 1; }' | ${CC:-cc} -shared -fPIC -x c -o "$fast_mkl" -; then
    fast_mkl=
fi

# peer FILE PROGRAM [OPTION…]: a peer in all of PyTorch's ways. No other line of this script starts one.
peer() {
    rows=$1
    shift
    if ! has_torch; then
        echo "bench: PyTorch is not installed: no peer beside this (pip install torch==2.13.0)" >&2
        return 0
    fi
    into "$rows" "$python" "$@"
    if is_amd && [ -n "$fast_mkl" ]; then
        into "$rows" env LD_PRELOAD="$fast_mkl" LOCUS_PEER_MKL='fast path' "$python" "$@"
    elif is_amd; then
        echo '{"peer": "PyTorch", "mkl": "fast path", "left_out": "what switches it on did not compile: ratios are to its slow path"}' >>"$rows"
    fi
}

# A training step in both precisions beside a peer's: all rows, then the ratios. step SHAPE PEER [OPTION …]
step_beside() {
    shape=$1
    shift
    fresh step_float32.json step_bf16.json step_peer.jsonl
    for precision in float32 bf16; do
        into "$build/step_$precision.json" "$build/bench_step" --json --shape "$shape" --precision $precision
    done
    peer "$build/step_peer.jsonl" "$@"
    if [ "$shape" = cifar10 ]; then # with stochastic depth, too
        peer "$build/step_peer.jsonl" "$@" --depth 0.1 --cases sdpa-none
    fi
    shown python3 bench/peer_best.py step "$build/step_float32.json" "$build/step_bf16.json" "$build/step_peer.jsonl"
}

for part in "$@"; do
    case $part in plans | parallel | kernels | apply | attention | decode | generation | kinds | encodings | trees | groups | linalg | \
        scores | step | tree-step | image-step | decoder-step | torch | ranks | ggml) ;;
    *)
        echo "bench: unknown part '$part': there are $(echo $all), ranks and ggml" >&2
        exit 2
        ;;
    esac
done

for part in "$@"; do
    echo "== $part"
    case $part in
    plans | parallel | kernels | decode | kinds | groups | linalg | scores) shown "$build/bench_$part" ;;
    apply)
        fresh apply.json apply_peer.jsonl
        into "$build/apply.json" "$build/bench_apply" --json
        peer "$build/apply_peer.jsonl" bench/peer_apply.py
        shown python3 bench/peer_best.py apply "$build/apply.json" "$build/apply_peer.jsonl"
        ;;
    attention)
        fresh attention.jsonl attention_peer.jsonl
        for type in float32 bf16; do
            into "$build/attention.jsonl" "$build/bench_attention" --type $type
        done
        peer "$build/attention_peer.jsonl" bench/peer_attention.py
        shown python3 bench/peer_best.py attention "$build/attention.jsonl" "$build/attention_peer.jsonl"
        ;;
    encodings) # every encoding for prefill and decode, and whoever else can do it
        fresh encodings.jsonl encodings_peer.jsonl
        into "$build/encodings.jsonl" "$build/bench_encodings"
        peer "$build/encodings_peer.jsonl" bench/peer_encodings.py --locus "$build/encodings.jsonl"
        shown python3 bench/peer_best.py encodings "$build/encodings.jsonl" "$build/encodings_peer.jsonl"
        ;;
    trees) # both on the same batch, if there is someone to write it
        fresh trees.jsonl trees_peer.jsonl
        if has_torch; then
            shown "$python" bench/peer_trees.py --write "$build/trees.txt"
            into "$build/trees.jsonl" "$build/bench_trees" --json --batch "$build/trees.txt"
        else
            into "$build/trees.jsonl" "$build/bench_trees" --json
        fi
        peer "$build/trees_peer.jsonl" bench/peer_trees.py --read "$build/trees.txt"
        shown python3 bench/peer_best.py trees "$build/trees.jsonl" "$build/trees_peer.jsonl"
        ;;
    step) step_beside published bench/peer_step.py ;;
    tree-step) step_beside trees bench/peer_tree_step.py ;;
    image-step) step_beside cifar10 bench/peer_image_step.py ;;
    decoder-step) # and with a language model's vocabulary
        step_beside decoder bench/peer_decoder_step.py
        step_beside text bench/peer_decoder_step.py --batch 8 --length 513 --vocabulary 8000
        ;;
    generation) # decoding with a whole model; the same parameters for both
        fresh generation.jsonl generation_peer.jsonl
        into "$build/generation.jsonl" "$build/bench_generation" --write "$build/generation.safetensors"
        peer "$build/generation_peer.jsonl" bench/peer_generation.py --model "$build/generation.safetensors"
        shown python3 bench/peer_best.py generation "$build/generation.jsonl" "$build/generation_peer.jsonl"
        $listing || rm -f "$build/generation.safetensors"
        ;;
    torch) # locus.torch in one process with PyTorch
        fresh torch.jsonl
        if $listing || [ -d build/python/python/locus ]; then
            PYTHONPATH=build/python/python
            export PYTHONPATH
            peer "$build/torch.jsonl" bench/torch_attention.py
            unset PYTHONPATH
            shown python3 bench/peer_best.py torch "$build/torch.jsonl"
        else
            echo "bench: the Python package is not built: ./dev test python.names builds it" >&2
        fi
        ;;
    ggml) # of llama.cpp: rope and attention of one sequence
        fresh ggml.jsonl ggml_peer.jsonl
        for length in 512 4096; do
            into "$build/ggml.jsonl" "$build/bench_attention" --lengths $length --tokens $length --mask causal --encodings rope
        done
        into "$build/ggml_peer.jsonl" "$(python_with ggml)" bench/peer_ggml.py
        shown python3 bench/peer_best.py attention "$build/ggml.jsonl" "$build/ggml_peer.jsonl"
        ;;
    ranks) # and what the measured says of more of them
        fresh ranks.jsonl
        into "$build/ranks.jsonl" sh bench/shared_steps.sh
        shown python3 tools/rank_costs.py "$build/ranks.jsonl" --locus build/release/locus
        ;;
    esac
done
