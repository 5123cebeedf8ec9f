#!/bin/sh
# SPDX-License-Identifier: MIT
# What commands say, whole: standard output, standard error and exit status of many short ones, among them all the ways to ask
# for what makes no sense, as tests/golden/spoken.txt has them.
. "${LOCUS_SOURCE:?}/tests/cli/transcript.inc"
export LOCUS_THREADS=1

# says WORD…: what the program says
says() {
    run "$@"
    printf '$ locus'
    for word; do
        case $word in
        *[!A-Za-z0-9_.,:/=+-]* | '') printf " '%s'" "$word" ;;
        *) printf ' %s' "$word" ;;
        esac
    done
    printf '\n'
    cat .out/stdout .out/stderr
    [ "$status" -eq 0 ] || printf '[%d]\n' "$status"
}

# Numbers and shapes of every kind; a store of recorded runs, and some that are trained.
npy q.npy '<f4' '(2, 2, 4)' '\000\000\200\077' 16
npy k.npy '<f4' '(2, 1, 4)' '\000\000\200\077' 8
npy wide.npy '<f4' '(2, 2, 6)' '\000\000\200\077' 24
npy flat.npy '<f4' '(2, 4)' '\000\000\200\077' 8
npy long.npy '<f4' '(3, 2, 4)' '\000\000\200\077' 24
npy whole.npy '<i4' '(2,)' '\000\000\000\000' 2
npy three.npy '<i4' '(3,)' '\000\000\000\000' 3
npy nan.npy '<f4' '(1, 1, 2)' '\000\000\300\177\000\000\200\077'
npy bias.npy '<f4' '(2, 2)' '\000\000\000\000' 4
npy empty.npy '<f4' '(0, 2, 4)' '' 0
printf '1 2 3\n' >words.txt
cat >llama.json <<'END'
{"model_type": "llama", "hidden_size": 64, "num_attention_heads": 4, "rope_theta": 500000.0, "max_position_embeddings": 8192}
END
cat >yarn.json <<'END'
{"model_type": "qwen2", "hidden_size": 64, "num_attention_heads": 4, "max_position_embeddings": 32768, "rope_theta": 1000000.0,
 "rope_scaling": {"type": "yarn", "factor": 4.0, "original_max_position_embeddings": 8192}, "use_sliding_window": false}
END
cat >gemma.json <<'END'
{"model_type": "gemma2", "hidden_size": 64, "head_dim": 32, "num_attention_heads": 4, "attn_logit_softcapping": 50.0,
 "query_pre_attn_scalar": 256, "sliding_window": 4096, "num_hidden_layers": 2, "max_position_embeddings": 8192}
END
printf 'SentencePiece' >model.bin
printf '1+2\n\n2\n' >blank.txt
printf '1+2\n1+3\n' >beyond.txt
printf '1\n\0002\n' >zero.txt
printf '0.5\n\n2\n' >reals.txt
printf '(0.5,1)\n(2,3,4)\n' >real_pairs.txt
npy pairs.npy '<i4' '(2, 2)' '\001\000\000\000' 4
npy branches.npy '<i4' '(2, 2)' '\000\000\000\000\001\000\000\000\000\000\000\000\377\377\377\377'
npy hole.npy '<i4' '(1, 2)' '\377\377\377\377\000\000\000\000'
npy reals.npy '<f4' '(2,)' '\000\000\000\077' 2
npy hidden.npy '<f4' '(2, 2)' '\000\000\200\377\000\000\000\000' 2
npy undefined.npy '<f4' '(2, 2)' '\000\000\000\000\000\000\300\177' 2
npy infinite.npy '<f4' '(1, 2, 2)' '\000\000\000\000\000\000\000\000\000\000\200\177\000\000\000\000'
npy doubles.npy '<f8' '(1, 1, 2)' '\000\000\000\000\000\000\360\177' 2
npy one.npy '<f4' '(1, 1)' '\000\000\000\000'
npy tall.npy '<f4' '(3, 2)' '\000\000\000\000' 6
npy deep.npy '<f4' '(1, 1, 2, 2)' '\000\000\000\000' 4
npy beyond.npy '<i8' '(2,)' '\000\000\000\000\000\000\000\000\000\000\000\200\000\000\000\000'
npy below.npy '<i8' '(2,)' '\377\377\377\177\377\377\377\377\000\000\000\200\377\377\377\377'
npy edges.npy '<i8' '(2,)' '\000\000\000\200\377\377\377\377\377\377\377\177\000\000\000\000'
awk 'BEGIN { for (i = 0; i < 40; i++) print "the " i % 7 "\t" (i % 2 ? "up" : "down") }' >labels.tsv
cp "$LOCUS_SOURCE/tests/golden/spoken_runs.json" recorded.json
run runs import recorded.json --quiet
few='--dim 16 --heads 2 --layers 1 --feed-forward 16 --batch 2 --steps 2 --evaluate-every 2 --dev-samples 2 --test-samples 2 --quiet'
tiny="--train-samples 4 $few"
# shellcheck disable=SC2086
{
    run train --task copy --encoding rope --length 4 --symbols 5 $tiny --store t/locus.db --name words
    run train --task tree-copy --encoding 'algebraic(group=tree:2)' --depth 2 $tiny --store t/locus.db --name trees
    run train --task addition --encoding alibi --digits 2 --sequence 40 $tiny --store t/locus.db --name sums
    run train --task copy --encoding alibi --length 4 --symbols 5 $tiny --store t/locus.db --name kept --keep-optimizer
    run train --task addition --encoding none --digits 2 --sequence 40 $few --store t/locus.db --name endless
    run train --task classify --encoding rope --data labels.tsv --dim 16 --heads 2 --layers 1 --feed-forward 16 --batch 2 \
        --steps 2 --quiet --store t/locus.db --name labels --keep-optimizer
}

{
    says import-rope llama.json
    says import-rope yarn.json --json
    says import-rope gemma.json
    says import-rope gemma.json --attention
    says import-rope none.json
    says import-rope words.txt
    says import-rope llama.json words.txt

    says data --help
    says --help
    says
    says trian
    says data
    says plot grop
    says -x encodings
    says help nothing
    says encodings decay
    says encodings chebyshev
    says encodings t5 --json
    says encodings learned --json
    says encodings relative --json
    says encodings algebraic --json
    says encodings scores
    says encodings t5 --format csv
    says encodings --format csv
    says encodings rop
    says encodings none
    says encodings a b

    says path seq 3 -5
    says path grid:2 '(1,2)' '(3,-4)'
    says path cycle:6 1 5 --json
    says path tree:2 1+2 2+1-2 --json
    says path 'seq*tree:3' '(2,1+3)'
    says path 'seq*tree:3' '(2,1+4)'
    says path cycle:0 1
    says path seq 1.5
    says path tree:2 1 1
    says path seq 3 4 --json
    says path seq 9223372036854775807 -9223372036854775807
    says path seq

    says encode rope --positions 0:2
    says encode rope --positions 0:2 -o x.npy
    says encode rope --positions 0:2 --dim 4 -o x.npy
    says encode alibi --positions 0:2 --dim 4 -o x.npy
    says encode sinusoidal --positions 0:2 --operators -o x.npy
    says encode sinusoidal --positions 0:2 --scores -o x.npy
    says encode sinusoidal --dim 4 -o x.npy
    says encode sinusoidal --positions 0:2 -o x.npy
    says encode rope --positions 0:2 --operators -o x.npy
    says encode rope --positions 0:2 --operators --heads 2 -o x.npy
    says encode rope --positions 0:2 --operators --heads 1 --head-dim 3 -o x.npy
    says encode alibi --positions 0:2 --scores -o x.npy
    says encode 'alibi(scaled=on)' --positions 0:2 --scores --heads 2 -o x.npy
    says encode alibi --positions 0:2 --decay --heads 2 -o x.npy
    says encode alibi --positions 0:2 --scores --operators --heads 2 -o x.npy
    says encode 'chebyshev(site=output)' --positions 0:2 --operators --heads 1 --head-dim 4 -o x.npy
    says encode 'rope / none' --positions 0:2 --operators --heads 1 --head-dim 4 -o x.npy
    says encode '2*rope' --positions 0:1 --operators --heads 1 --head-dim 2 -o x.npy
    says encode sinusoidal --positions 5:5 --dim 4 -o x.npy
    says encode sinusoidal --positions 5 --dim 4 -o x.npy --params none.safetensors
    says encode cope --positions 0:2 --scores --heads 1 -o x.npy
    says encode alibi --positions 0:2 --operators --heads 1 --head-dim 4 -o x.npy
    says encode rope --positions 0:2 --scores --heads 1 -o x.npy
    says encode none --positions 0:2 --scores --heads 1 -o x.npy

    # positions GROUP P: what is wrong with them
    positions() {
        says encode "algebraic(group=$1)" --heads 1 --head-dim 24 --positions "$2" --operators -o x.npy
    }
    positions tree:2 0:4
    positions grid:2 0:4
    positions 'grid:3*seq' 0:4
    positions grid:9 0:4
    positions grid:10 0:4
    positions seq 4:4
    positions seq 0:2000000000
    positions seq 3000000000000000000:3000000000000000009
    positions seq 1:2:3
    positions seq 1:x
    positions seq 99999999999999999999:1
    positions grid:3 grid:4x6
    positions seq grid:4x6
    positions 'seq*seq' grid:5
    positions tree:2 grid:4
    positions grid:2 grid:4x0
    positions grid:2 grid:4xx6
    positions grid:2 grid:4x6y
    positions grid:2 grid:99999x99999
    positions seq grid:1073741825
    positions tree:2 1,1+3
    positions tree:2 '1,1+2,(2'
    positions grid:2 '(1,2),(3,4,5)'
    positions tree:2 1,,2
    positions grid:2 1,2
    positions tree:2 blank.txt
    positions tree:2 beyond.txt
    positions tree:2 three.npy
    positions grid:3 pairs.npy
    positions cycle:4 pairs.npy
    positions 'seq*tree:2' pairs.npy
    positions tree:1 branches.npy
    positions tree:2 hole.npy
    positions seq empty.npy
    positions seq none.npy
    positions seq zero.txt
    positions cycle:4 0.5
    positions tree:2 reals.npy
    positions grid:2 reals.npy
    positions grid:2 flat.npy
    positions seq 0.5,,1
    positions seq 0.5.1
    positions seq 0.5:2
    positions seq '0.5 7'
    positions grid:2 0.5,1
    positions grid:2 '(0.5,1),(2,3.5'
    positions seq reals.txt
    positions grid:2 real_pairs.txt
    positions seq ''
    positions seq 1e3

    says apply rope --input q.npy --positions 0:3 -o x.npy
    says apply rope --input flat.npy --positions 0:2 -o x.npy
    says apply rope --input whole.npy --positions 0:2 -o x.npy
    says apply alibi --input q.npy --positions 0:2 -o x.npy
    says apply rope --input nan.npy --positions 0 -o x.npy
    says apply rope --input empty.npy --positions 0 -o x.npy
    says apply rope --positions 0:2 -o x.npy
    says apply rope --input q.npy -o x.npy
    says apply rope --input q.npy --positions 0:2
    long=$(printf '%-200s' alibi)
    says apply "$long" --input q.npy --positions 0:2 -o x.npy
    says apply "$long " --input q.npy --positions 0:2 -o x.npy
    says apply 'rope / alibi' --input q.npy --positions 0:2 -o x.npy
    says apply 'rope / alibi' --layer 1 --input q.npy --positions 0:2 -o x.npy
    says apply 'rope / alibi' --layer 2 --input q.npy --positions 0:2 -o x.npy
    says apply '2*rope' --input q.npy --positions 0:2 -o x.npy
    says apply 'chebyshev(site=output)' --input q.npy --positions 0:2 -o x.npy
    says apply rope --input infinite.npy --positions 0 -o x.npy
    says apply rope --input doubles.npy --positions 0 -o x.npy
    says apply rope --input deep.npy --positions 0 -o x.npy
    says apply rope --input none.npy --positions 0 -o x.npy

    says attend rope
    says attend rope --query q.npy --key q.npy
    says attend rope --query q.npy --key q.npy --value q.npy
    says attend rope --query q.npy --key q.npy --value q.npy --positions 0:2
    says attend rope --query q.npy --key q.npy --value q.npy --positions 0:3 -o x.npy
    says attend rope --query q.npy --key wide.npy --value q.npy --positions 0:2 -o x.npy
    says attend rope --query q.npy --key k.npy --value q.npy --positions 0:2 -o x.npy
    says attend rope --query k.npy --key q.npy --value q.npy --positions 0:2 -o x.npy
    says attend rope --query q.npy --key long.npy --value long.npy --positions 0:2 -o x.npy
    says attend rope --query q.npy --key long.npy --value q.npy --positions 0:2 --key-positions 0:3 -o x.npy
    says attend rope --query q.npy --key q.npy --value q.npy --positions 0:2 --key-positions 0:3 -o x.npy
    says attend rope --query q.npy --key q.npy --value q.npy --positions 0:2 --prefix 1 -o x.npy
    says attend rope --query q.npy --key q.npy --value q.npy --positions 0:2 --mask prefix -o x.npy
    says attend rope --query q.npy --key q.npy --value q.npy --positions 0:2 --keep 1 -o x.npy
    says attend rope --query q.npy --key q.npy --value q.npy --positions 0:2 --scale 0 -o x.npy
    says attend rope --query q.npy --key q.npy --value q.npy --positions 0:2 --cap -1 -o x.npy
    says attend rope --query q.npy --key q.npy --value q.npy --positions 0:2 --grad-output q.npy -o x.npy
    says attend rope --query q.npy --key q.npy --value q.npy --positions 0:2 --grad-dir d -o x.npy
    says attend rope --query q.npy --key q.npy --value q.npy --positions 0:2 --grad-dir d --grad-output k.npy
    says attend rope --query q.npy --key q.npy --value q.npy --positions 0:2 --documents three.npy -o x.npy
    says attend rope --query q.npy --key q.npy --value q.npy --positions 0:2 --documents q.npy -o x.npy
    says attend rope --query q.npy --key q.npy --value q.npy --positions 0:2 --key-documents whole.npy -o x.npy
    says attend rope --query q.npy --key long.npy --value long.npy --positions 0:2 --key-positions 0:3 --documents whole.npy -o x.npy
    says attend rope --query q.npy --key q.npy --value q.npy --positions 0:2 --bias q.npy -o x.npy
    says attend rope --query q.npy --key q.npy --value q.npy --positions 0:2 --bias whole.npy -o x.npy
    says attend rope --query q.npy --key q.npy --value q.npy --positions 0:2 --bias bias.npy --attention linear -o x.npy
    says attend alibi --query q.npy --key q.npy --value q.npy --positions 0:2 --attention linear -o x.npy
    says attend rope --query q.npy --key q.npy --value q.npy --positions 0:2 --attention linear --weights w.npy
    says attend rope --query q.npy --key q.npy --value q.npy --positions 0:2 --attention linear --landmarks 2 -o x.npy
    says attend rope --query q.npy --key q.npy --value q.npy --positions 0:2 --landmarks 2 --clusters 2 -o x.npy
    says attend rope --query q.npy --key q.npy --value q.npy --positions 0:2 --iterations 2 -o x.npy
    says attend rope --query q.npy --key q.npy --value q.npy --positions 0:2 --attention liner -o x.npy
    says attend 'rope + scores(window=1)' --query q.npy --key q.npy --value q.npy --positions 0:2 --keep 1 -o x.npy
    says attend rope --query q.npy --key q.npy --value k.npy --positions 0:2 -o x.npy
    says attend rope --query q.npy --key q.npy --value wide.npy --positions 0:2 -o x.npy
    says attend rope --query q.npy --key k.npy --value k.npy --positions 0:2 -o x.npy
    # attends WORD…: queries, keys and values that agree
    attends() {
        says attend rope --query q.npy --key q.npy --value q.npy --positions 0:2 "$@"
    }
    attends --attention 'soft(landmarks=2)' --landmarks 2 -o x.npy
    attends --attention soft --clusters 2 -o x.npy
    attends --attention clustered --landmarks 2 -o x.npy
    attends --attention clustered --clusters 0 -o x.npy
    attends --attention linear --cap 2 -o x.npy
    attends --attention linear --window 2 -o x.npy
    attends --attention linear --documents three.npy -o x.npy
    attends --bias hidden.npy -o x.npy
    attends --bias undefined.npy -o x.npy
    attends --bias infinite.npy -o x.npy
    attends --bias one.npy -o x.npy
    attends --bias tall.npy -o x.npy
    attends --bias reals.npy -o x.npy
    attends --bias deep.npy -o x.npy
    attends --bias none.npy -o x.npy
    attends --cap 0 -o x.npy
    attends --scale -0.5 -o x.npy
    attends --mask causal --prefix 1 -o x.npy
    attends --mask prefix --prefix 0 -o x.npy
    attends --window 1 --keep 1 -o x.npy
    attends --documents beyond.npy -o x.npy
    attends --documents below.npy -o x.npy
    attends --documents edges.npy -o x.npy
    attends --documents bias.npy -o x.npy
    attends --key-positions 0:2 --documents whole.npy -o x.npy
    attends --key-positions 0:2 --documents whole.npy --key-documents three.npy -o x.npy
    attends --grad-dir d --grad-output long.npy
    attends --grad-dir d --grad-output wide.npy
    attends --grad-output q.npy
    attends --weights w.npy
    # The longest folders that the results have room in, and longer ones.
    dots=$(printf '%500s' '' | sed 's: :./:g')
    for name in dd ddd; do
        run fold rope --heads 2 --head-dim 4 -o "$(printf '%.986s' "$dots")$name"
        printf '%s [%d]\n' "$(grep -o '.\{30\}$' .out/stderr)" "$status"
    done
    for name in ddd dddd; do
        run attend rope --query q.npy --key q.npy --value q.npy --positions 0:2 --grad-output q.npy --grad-dir "$dots$name"
        printf '%s [%d]\n' "$(grep -o '.\{30\}$' .out/stderr)" "$status"
    done

    says fold rope
    says fold rope --heads 2
    says fold rope --heads 2 --head-dim 4
    says fold rope --heads 2 --head-dim 4 -o x.npy
    says fold rope --heads 2 --head-dim 4 -o ./x.npy
    says fold rope --heads 2 --head-dim 4 -o ./plain
    mkdir -p with.dot/with.dot
    says fold rope --heads 2 --head-dim 4 -o with.dot/with.dot
    says fold rope --heads 2 --head-dim 4 -o with.dot/plain
    says fold alibi --heads 2 --head-dim 4 -o x.safetensors
    says fold 'algebraic(group=seq)' --heads 2 --head-dim 4 -o x.safetensors
    says fold 'algebraic(group=seq)' --heads 2 --head-dim 4 -o x.safetensors --json
    says fold 'algebraic(group=seq)' --heads 2 --head-dim 4 -o folder
    says fold 'algebraic(group=seq)' --heads 2 --head-dim 4 -o folder --json
    says fold 'algebraic(group=seq, heads=shared)' --heads 2 --head-dim 5 -o x.safetensors
    says fold 'algebraic(group=seq)' --heads 2 --head-dim 5 -o x.safetensors
    says fold 'algebraic(group=seq, heads=shared, decay=0.9)' --pairs half --heads 2 --head-dim 4 -o x.safetensors
    says fold 'algebraic(group=seq, heads=shared, decay=learned:0.9)' --pairs half --heads 2 --head-dim 4 -o x.safetensors
    says fold 'algebraic(group=seq)' --pairs half --heads 2 --head-dim 4 -o x.safetensors
    says fold 'algebraic(group=grid:2)' --pairs half --heads 2 --head-dim 4 -o x.safetensors
    says fold 'algebraic(group=grid:2, split=3:5)' --heads 2 --head-dim 8 -o x.safetensors
    says fold 'algebraic(group=tree:2)' --heads 2 --head-dim 4 -o x.safetensors
    says fold 'rope(pairs=half, rotate=proportional:0.5)' --heads 2 --head-dim 8 -o x.safetensors
    says fold 'rope(base=100)' --pairs half --heads 2 --head-dim 8 -o x.safetensors
    says fold 'algebraic(group=seq, init=random)' --heads 2 --head-dim 4 -o x.safetensors
    says fold 'algebraic(group=seq, init=random)' --to algebraic --heads 2 --head-dim 4 -o x.safetensors
    says fold 'algebraic(generator=householder)' --to algebraic --heads 2 --head-dim 4 -o x.safetensors
    says fold rope --heads 2 --head-dim 4 -o gone/x.safetensors
    says fold mixed --pairs half --heads 2 --head-dim 4 -o x.safetensors
    says fold string --heads 2 --head-dim 4 -o x.safetensors
    says fold string --to algebraic --heads 2 --head-dim 4 -o x.safetensors
    says fold rope --to algebraic --heads 2 --head-dim 4 -o x.safetensors
    says fold 'rope(rotate=2)' --to algebraic --heads 2 --head-dim 4 -o x.safetensors
    says fold roper --to algebraic --basis random --heads 2 --head-dim 4 -o x.safetensors
    says fold 'rope(axes=2)' --to algebraic --heads 2 --head-dim 8 -o x.safetensors
    says fold 'rope(axes=3)' --to algebraic --heads 1 --head-dim 8 -o x.safetensors
    says fold 'rope(axes=2, order=interleaved)' --to algebraic --heads 2 --head-dim 8 -o x.safetensors
    says fold 'rope(axes=2, rotate=4)' --to algebraic --heads 2 --head-dim 8 -o x.safetensors
    says fold rope --basis random --heads 2 --head-dim 4 -o x.safetensors
    says fold rope --to algebraic --pairs half --heads 2 --head-dim 4 -o x.safetensors
    says fold 'rope + alibi' --to algebraic --heads 2 --head-dim 4 -o x.safetensors
    says fold 'rope + sinusoidal' --heads 2 --head-dim 4 -o x.safetensors
    says fold rope --query flat.npy --heads 2 --head-dim 2 -o x.safetensors
    says fold rope --value flat.npy --heads 2 --head-dim 2 -o x.safetensors
    says fold rope --value flat.npy --out-projection flat.npy --heads 2 --head-dim 2 -o x.safetensors
    says fold 'rope(values=on)' --query flat.npy --key flat.npy --heads 2 --head-dim 2 -o x.safetensors
    says fold rope --query flat.npy --key flat.npy --heads 2 --head-dim 2 -o x.safetensors
    says fold rope --query flat.npy --key flat.npy --transposed --heads 2 --head-dim 2 -o x.safetensors
    says fold rope --query q.npy --key wide.npy --heads 2 --head-dim 4 -o x.safetensors
    says fold rope --query bias.npy --key whole.npy --heads 1 --head-dim 2 -o x.safetensors
    says fold rope --query reals.npy --key reals.npy --heads 2 --head-dim 2 -o x.safetensors
    says fold rope --query reals.npy --key wide.npy --heads 1 --head-dim 2 -o x.safetensors
    says fold 'rope(values=on)' --query reals.npy --key reals.npy --value flat.npy --out-projection flat.npy --heads 1 --head-dim 2 -o x.safetensors
    says fold 'roper' --query bias.npy --key bias.npy --value bias.npy --out-projection wide.npy --heads 1 --head-dim 2 -o x.safetensors
    says check 'shiv-quirk(depth=4, k=4)' --heads 6 --head-dim 2
    says check rope --heads 0
    says check none
    says check rope --head-dim 3
    says fold rope --to algebraic --heads 2 --head-dim 4 -o x.safetensors --params none.safetensors
    says fold rope --heads 2 --head-dim 4 -o x.safetensors --to algebraic --json

    says plot group seq
    says plot group seq -o x.gif
    says plot group seq --from 1 -o x.svg
    says plot group seq --from 1 --to 1+ -o x.svg
    says plot group tree:64 -o x.svg
    says plot group grid:5 -o x.svg
    says plot group 'seq*seq*seq*tree:2' -o x.svg
    says plot group cycle:20000 -o x.svg
    says plot group cycle:200*cycle:1*tree:1 -o x.svg
    says plot similarity rope --positions 0:3 -o x.svg
    says plot similarity rope --origin 0 -o x.svg
    says plot similarity rope --positions 0.5,1 --origin 0 -o x.svg
    says plot similarity rope --positions 0:3 --origin 1+2 -o x.svg
    says plot spectrum alibi -o x.svg
    says plot spectrum none -o x.svg
    says plot frequencies alibi -o x.svg
    says plot frequencies rope rope rope rope rope rope rope rope rope -o x.svg
    says plot frequencies rope
    says plot table rope --positions 0:3 -o x.svg
    says plot table sinusoidal -o x.svg
    says plot curves words --store t/locus.db
    says plot curves words -o x.svg
    says plot curves nobody --store t/locus.db -o x.svg
    says plot lengths words --store t/locus.db -o x.svg
    says plot attention words --store t/locus.db -o x.svg --input 1 --sample 1
    says plot attention words --store t/locus.db -o x.svg --input '1 9'
    says plot attention words --store t/locus.db -o x.svg --sample 9
    says plot attention trees --store t/locus.db -o x.svg --input '(1 2 3)'
    says plot curves 1 nobody -o x.svg
    says plot lengths 1 -o x.svg
    says plot group seq --to 1 -o x.svg
    says plot group seq -o gone/x.svg
    says plot similarity sinusoidal --positions 0:3 --origin 0 --dim 4 -o gone/x.svg
    says plot similarity alibi --positions 0:3 --origin x --dim 4 -o gone/x.svg
    says plot spectrum sinusoidal -o x.svg
    says plot spectrum rope -o gone/x.svg
    says plot spectrum rope --head-dim 3 -o x.svg
    says plot table rope --dim 4 -o x.svg --positions 0:3
    says plot table sinusoidal --dim 4 -o gone/x.svg --positions 0:3
    says plot table 'chebyshev(site=output)' --dim 4 -o gone/x.svg --positions 0:3
    says plot frequencies rope rope rope rope rope rope rope rope -o gone/x.svg
    says plot frequencies rope alibi -o x.svg
    says plot frequencies rope --head-dim 3 -o x.svg
    # The longest names that stand beside a curve.
    for digits in 12345 123456; do
        run plot frequencies 'rope(base=12345, scaling=yarn, factor=8, original=4096) + sinusoidal(base=54321.'$digits') + learned(size=12345, deviation=0.5) + t5(buckets=64) + alibi(scaled=on)' -o x.svg
        grep -o '>rope(.*<' x.svg
    done
    says plot similarity
    says plot attention words --store t/locus.db -o x.svg --input zero.txt
    says plot attention words --store t/locus.db -o x.svg --sample 0
    says plot attention words --store t/locus.db -o x.gif --input 1

    says data inspect copy -n 20 --length 5 --symbols 6
    says data inspect copy -n 20 --length 5 --symbols 6 --set test --json
    says data inspect reverse -n 3 --length 4 --length-deviation 0 --show 1
    says data inspect repeat -n 2 --length 3 --show 0 --seed 3
    says data inspect tree-c3 -n 4 --depth 2 --show 1
    says data inspect tree-ops -n 4 --depth 2 --order depth --json
    says data inspect addition -n 3 --digits 2 --sequence 60
    says data inspect substring-search -n 2 --sequence 30 --length 4 --show 1
    says data inspect substring-index -n 2 --sequence 40 --length 4 --json
    says data inspect listops -n 5 --longest 20 --shortest 5 --arguments 3 --expression-depth 4
    says data inspect listops -n 5 --longest 20 --shortest 5 --arguments 3 --expression-depth 4 --target parity --json
    says data inspect nothing
    says data inspect ./
    says data inspect nothing.jsonl
    says data inspect words.txt
    says data inspect text
    says data inspect classify
    says data inspect cifar10 --data nowhere
    mkdir half
    { printf '\003'; head -c 3072 /dev/zero; } >half/test_batch.bin
    says data inspect cifar10 --data half
    for i in 1 2 3 4 5; do cp half/test_batch.bin half/data_batch_$i.bin; done
    rm half/test_batch.bin
    says data inspect cifar10 --data half
    says data inspect cifar10 -n 3
    says data inspect copy --digits 3
    says data inspect addition --order depth
    says data make copy -n 2 --length 3 -o -
    says data make tree-copy -n 1 --depth 1 -o -
    says data make addition -n 2 --digits 1 -o -
    says data make listops -n 1 --shortest 3 --longest 9 -o -
    says data make copy -n 3 --length 4 -o words.jsonl
    says data inspect words.jsonl
    says data make copy -n 3 --length 4 -o gone/words.jsonl
    says data make listops -n 1 --shortest 3 --longest 9 -o gone/lists.tsv
    says data make copy
    says data make copy --sequence 20 -o -
    says data make addition --sequence 20 -o -
    says data make copy --image 3 -o -
    says data make copy --json -o -
    says data make cifar10 -o x.txt
    says data make cifar10 -n 3 -o x.png
    says data make pairs -o -
    says data make text
    says data make text --train-text words.txt --set dev
    says data make text --train-text words.txt --vocabulary 300 --model model.bin
    says data make text --train-text words.txt -o -
    says data make text --train-text none.txt -o made
    says data make text --train-text words.txt --model model.bin -o made
    says data make coppy -o -
    says data get copy
    says data get text
    says data get everything
    says data get cifar10 --to ''
    says data get cifar10 --from nowhere.tar.gz --to gone
    says data inspect pairs -n 3 --data words.txt
    says data inspect classify --seed 3 --data labels.tsv
    says data inspect classify --data labels.tsv
    says data inspect classify --data labels.tsv --set test --json
    says data make classify --data labels.tsv -o -
    says data make copy -n 0 -o -
    says data make copy -n 1 --length 3 --set test --seed 9 -o -
    says data make text --train-text words.txt --vocabulary 1 -o made
    says data make text --train-text words.txt --vocabulary 256 -o made --quiet
    says data make cifar10 -o x.png --image 1 --data nowhere
    says data inspect copy -n 1 --show 2 --length 3
    says data inspect copy -n 3 --show 2 --length 3
    says data inspect tree-copy -n 2 --depth 1001
    says data make tree-copy -n 2 --depth 1001 -o -
    says data inspect none.jsonl --show 0
    says data inspect words
    says data get listops
    says data get classify

    says train
    says train --task copy
    says train --task coppy --encoding rope
    says train --task copy --encoding rope --steps 5 --epochs 1
    says train --task copy --encoding rope --checkpoint-seconds 5 --checkpoint-every-minutes 1
    says train --task copy --encoding rope --dim 10 --heads 3
    says train --task copy --encoding rope --dim 12 --heads 4 --kv-heads 3
    says train --task addition --encoding rope --logit-scale inverse-sqrt-dim --output own
    says train --task copy --encoding rope --shards 3
    says train --task copy --encoding rope --shards 4 --batch 2
    says train --task addition --encoding rope --epochs 3
    says train --task copy --encoding rope --depth 3
    says train --task tree-copy --encoding rope --test-lengths 3
    says train --task tree-copy --encoding rope --test-depths 3,0
    says train --task copy --encoding rope --digits 3
    says train --task cifar10 --encoding rope --dev-samples 3
    says train --task substring-search --encoding rope --greedy-samples 3
    says train --task copy --encoding rope --test-lengths 1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20
    says train --task copy --encoding rope --test-lengths 0
    says train --task copy --encoding rope --attention liner
    says train --task classify --encoding rope
    says train --task classify --encoding rope --data none.tsv
    says train --task classify --encoding rope --data words.txt --sequence 5
    says train --task copy --encoding rope --pretrained none
    says train --task listops --encoding none --pretrained none
    says train --task listops --encoding none --pretrained none --dim 3
    says train --task listops --encoding none --sequence 30
    says train --task text --encoding rope --data nowhere
    says train --task copy --encoding rope --init-from nobody --store t/locus.db
    says train --task copy --encoding rope --name ../x
    says train --continue nobody --steps 3 --store t/locus.db
    says train --continue words --steps 1 --store t/locus.db --seed 1
    says train --continue words --steps 1 --store t/locus.db --dim 3
    says train --continue sums --steps 1 --store t/locus.db --length 3
    says train --continue 1 --steps 1
    says train --continue words --store none/locus.db
    says train --continue words --store t/locus.db
    says train --continue words --steps 1 --store t/locus.db
    says train --continue kept --steps 1 --name kept --store t/locus.db
    says train --continue kept --steps 1 --init-from words --store t/locus.db
    says train --continue labels --steps 1 --store t/locus.db
    says train --continue labels --steps 1 --data none.tsv --store t/locus.db
    sed 's/the 1/the 8/' labels.tsv >others.tsv
    says train --continue labels --steps 1 --data others.tsv --store t/locus.db
    says train --task copy --encoding rope --init-from words --store t/locus.db
    says train --task copy --encoding rope --init-from none.safetensors --store t/locus.db

    says eval 1
    says generate 1 --input 1
    says plot attention 1 -o x.svg
    says eval words
    says eval nobody --store t/locus.db
    says eval words x.png --store t/locus.db
    says eval words --store t/locus.db --depths 3
    says eval words --store t/locus.db --lengths 0
    says eval words --store t/locus.db --lengths 2000000
    says eval words --store t/locus.db --data here
    says eval sums --store t/locus.db --lengths 19
    says eval words --store t/locus.db --n 0
    says eval words --store t/locus.db --greedy-samples -1
    # shellcheck disable=SC2086
    run train --task tree-copy --encoding 'shiv-quirk(depth=2, k=2)' --depth 4 ${tiny%--quiet} --dim 24 --store p/locus.db --name cut
    sed -n -e '1,2p' -e '/^note/p' -e 's/^\(2 steps in\) .*, \(.* parameters\), peak .*/\1 TIME, \2/p' .out/stdout
    # shellcheck disable=SC2086
    run train --task copy --encoding rope --length 3 --length-deviation 0 --symbols 1 --rate 0.02 ${tiny%--quiet} --batch 4 --steps 30 \
        --evaluate-every 5 --store p/locus.db --name learnt
    cp .out/stdout learnt
    run runs show learnt --store p/locus.db --json
    sed -n "s/ $(sed -n 's/.*"steps_to_99":[^0-9]*\([1-9][0-9]*\).*/\1/p' .out/stdout) steps$/ N steps/p" learnt
    for sizes in '' '--depths 2,5,6' '--depths 1' '--depths 5 --quiet'; do
        # shellcheck disable=SC2086
        run eval cut --store p/locus.db $sizes
        cat .out/stderr
    done
    for quiet in '' --quiet; do
        # shellcheck disable=SC2086
        run generate cut --store p/locus.db --input '(11 1 (12 2 (13 3 4)))' $quiet
        cat .out/stderr
    done
    says eval endless --store t/locus.db --set train
    says eval '' --store t/locus.db
    says eval labels --store t/locus.db
    says eval labels --store t/locus.db --lengths 3
    says generate labels --store t/locus.db
    says generate words --store t/locus.db --input '1 9'
    says generate words --store t/locus.db --input ''
    says generate words --store t/locus.db --input 1 -n 2
    says generate words --store t/locus.db --depth 2
    says generate words --store t/locus.db --prompt 1
    says generate words --store t/locus.db --data here
    says generate trees --store t/locus.db --input 1
    says generate trees --store t/locus.db --length 3
    says generate sums --store t/locus.db --prompt 1 --prompts words.txt
    says generate sums --store t/locus.db --prompt ''
    says generate sums --store t/locus.db --prompt 1 -n 2
    says generate sums --store t/locus.db --prompt 1 --top-k 2
    says generate sums --store t/locus.db --prompt 1 --top-p 0
    says generate sums --store t/locus.db --prompt x
    says generate sums --store t/locus.db --prompts none.txt
    says generate sums --store t/locus.db --length 3
    says generate words --store t/locus.db -n 0
    says generate words --store t/locus.db --input '1 2 x'
    says generate words --store t/locus.db --input 1 --length 3
    says generate sums --store t/locus.db --top-p 1.5
    says generate sums --store t/locus.db --prompt 1 --seed 1
    says generate sums --store t/locus.db --prompt 1 --temperature 0 --top-p 0.5
    says generate sums --store t/locus.db --prompts zero.txt
    says generate sums --store t/locus.db --prompts empty.npy
    says generate sums --store t/locus.db --prompt 1 --tokens 0

    says compare
    says compare --task copy,tree-copy --seeds 2 --list
    says compare --task copy --encodings rope,alibi,rope --embedding-init both --seed 3 --list
    says compare --task copy --encodings rope --vary rate=0.1,0.2 --vary layers=1,2 --list
    says compare --task listops --encodings none --target parity --list --json
    says compare --task addition --list
    says compare --task classify --list
    says compare --task copy --encodings rope --dim 64 --dropout 0.1 --layers 2 --kv-heads 4 --norm before --list
    says compare --task copy --encodings rope --dropout 0.2 --norm after --list
    says compare --task copy --encodings rope --dim 65 --list
    says compare --task classify --data labels.tsv --encodings rope --list
    says compare --task copy --encodings rope --vary rate
    says compare --task copy --encodings rope --vary =1
    says compare --task copy --encodings rope --vary ratee=1
    says compare --task copy --encodings rope --vary zzzzzzzz=1
    says compare --task copy --encodings rope --vary rate=1,,2
    says compare --task copy --encodings rope --vary rate=1,1
    says compare --task copy --encodings rope --vary rate=1,2,2
    says compare --task copy --encodings rope --vary rate=1 --vary rate=2
    says compare --task copy --encodings rope --vary rate=1 --vary layers=1 --vary layers=2
    says compare --task copy --encodings rope --vary rate=1 --rate 2
    says compare --task copy --encodings rope --vary lengths=1
    says compare --task copy --encodings rope --vary rate=x
    many=$(seq -s, 1024)
    run compare --task copy --encodings rope --vary "steps=$many,1025" --list
    cat .out/stderr
    run compare --task copy --encodings rope --vary "steps=$many" --vary rate=1,2 --list
    cat .out/stderr
    eight='--vary rate=1 --vary batch=1 --vary layers=1 --vary heads=1 --vary dropout=0 --vary warmup=0 --vary patience=1
        --vary norm=after'
    # shellcheck disable=SC2086
    {
        says compare --task copy --encodings rope $eight --list
        says compare --task copy --encodings rope $eight --vary steps=1 --list
    }
    says compare --task copy --encodings rope --list --sbatch
    says compare --task copy --encodings rope --sbatch --only 1
    says compare --task copy --encodings rope --list --only 2
    says compare --task copy --encodings rope --list --only ''
    says compare --task copy --encodings rope --list --parallel
    says compare --task copy --encodings rope --parallel --only 1
    says compare --task copy --encodings rope --sbatch --restart
    says compare --task copy --encodings rope,alibi --list --only 2
    says compare --task copy --encodings rope,alibi --list --only 0
    says compare --task copy --encodings rope --schedule constant --warmup 0.1 --list
    says compare --task copy --encodings rope --schedule constant --warmup 0 --list
    says compare --task copy --encodings rope --test-lengths 1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16 --list
    says compare --task copy --encodings rope --test-lengths 1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17 --list
    says compare --task copy --encodings rope --shards 2 --batch 2 --list
    says compare --task addition --encodings rope --epochs 3 --train-samples 10 --list
    says compare --task copy --encodings rope --jobs 0
    says compare --task copy --encodings rope --steps 5 --layers 2 --kv-heads 2 --dropout 0.2 --checkpoint-every-minutes 2 --shards 1 --list --json
    says compare --task cifar10 --encodings none --test-samples 30 --list --json
    # Alone, what differs from the budget's number makes the budget custom, and the number itself does not.
    for given in rate=0.003 rate=0.002 batch=33 batch=32 norm=after norm=before layers=3 layers=2 kv-heads=2 kv-heads=4 \
        steps=1499 steps=1500 epochs=399 epochs=400 dropout=0.2 dropout=0.1 test-samples=255 test-samples=256 attention=linear \
        attention=softmax checkpoint-seconds=5 shards=2 shards=1 length-deviation=2 length-deviation=1.6; do
        run compare --task copy --encodings rope "--${given%=*}" "${given#*=}" --list --format csv
        printf '%s ' "$given"
        sed -n 's/.*,//;2p' .out/stdout
    done
    # Trainings, of which a line tells each.
    # shellcheck disable=SC2086
    compares() {
        says compare --task copy --length 4 --symbols 5 --encodings "$1" ${tiny%--quiet} --store c/locus.db --no-page --only "$2"
    }
    compares rope,none 1
    compares rope,none 2,1
    compares 'rope,learned(size=1)' 2
    compares 'learned(size=1),learned(size=2)' 2,1
    # shellcheck disable=SC2086
    says compare --task copy --length 4 --symbols 5 --encodings 'learned(size=1),none' --seeds 2 $tiny --store c/locus.db --only 1,3,4
    says compare --task copy --length 4 --symbols 5 --encodings rope,t5 $tiny --store c/locus.db --list
    says compare --task cifar10,text --data here --list
    says compare --task copy --encodings rope --parallel
    says compare --task copy,reverse --encodings "rope,algebraic(group=seq)" --sbatch --threads 2

    says reproduce table1 --budget quick --columns copy-scaled --rows rope,sinusoidal --seeds 1 --no-page
    table=runs/reproduce-table1-quick-copy-scaled-rope+sinusoidal
    grep -v '^| this file by' $table.md
    grep '"arguments"' $table.json
    says reproduce --from $table.json --check
    says reproduce --from $table.json
    says reproduce --from $table.json table1
    says reproduce --from $table.json --seeds 2
    says reproduce --from $table.json -o page.html --check
    says reproduce --from $table.json -o page.html
    says reproduce --from $table.json -o gone/page.html
    says reproduce --from $table.json -o page.html --json
    mv $table.md kept.md
    mkdir $table.md
    run reproduce --from $table.json
    cat .out/stderr
    printf '[%d]\n' "$status"
    says reproduce --from $table.json --check
    rmdir $table.md
    mv kept.md $table.md
    says reproduce table1 --check
    says reproduce table1 -o page.html
    says reproduce roper --budget smoke --columns text-loss --data nowhere
    says reproduce table3 --budget smoke --data nowhere
    says reproduce
    sed 's/^| rope | [0-9]/| rope | 7/' $table.md >changed.md
    cp $table.json changed.json
    says reproduce --from changed.json --check
    says reproduce --from changed.json
    rm changed.md
    says reproduce --from changed.json --check
    sed 's/"--seeds=1"/"seeds=1"/' $table.json >changed.json
    says reproduce --from changed.json
    sed 's/"--seeds=1"/"--seeds=one"/' $table.json >changed.json
    says reproduce --from changed.json
    sed 's/"table1",/1,/' $table.json >changed.json
    says reproduce --from changed.json
    sed 's/"--rows=rope,sinusoidal"/"--rows=rope,alibi"/' $table.json >changed.json
    says reproduce --from changed.json
    sed 's/"dim":64/"dim":32/' $table.json >changed.json
    says reproduce --from changed.json
    says reproduce --from recorded.json
    says reproduce --from none.json
    says reproduce --from words.txt
    rm -r $table.*
    says reproduce table1 --budget quick --columns copy-scaled --rows rope --seeds 1 --no-page --quiet
    grep -v '^| this file by' runs/reproduce-table1-quick-copy-scaled-rope.md
    rm -r runs/reproduce-table1-quick-copy-scaled-rope.*
    for end in md html json; do
        mkdir runs/reproduce-table1-quick-copy-scaled-rope.$end # stands in a file's place
        run reproduce table1 --budget quick --columns copy-scaled --rows rope --seeds 1 --quiet
        tail -n 1 .out/stdout
        cat .out/stderr
        printf '[%d]\n' "$status"
        rm -r runs/reproduce-table1-quick-copy-scaled-rope.*
    done
    says reproduce table1 --columns copy --rows rope --seed 2 --sbatch
    says reproduce table1 --columns copy --rows rope --parallel --store 'a b/locus.db'
    # What a table's files are called.
    copies=$(printf 'copy,%.0s' $(seq 22))
    for asked in '--setup code' '--decay off' '--decay both' '--embedding-init scaled' '--embedding-init unit' '--embedding-init both' \
        --factors '--precision bf16' '--seed 1 --columns copy,reverse --rows rope' "--columns ${copies}repeat" "--columns ${copies}reverse"; do
        # shellcheck disable=SC2086
        run reproduce table1 $asked --parallel
        grep -o 'reproduce-table1[^ ]*-parts' .out/stdout | sort -u
    done
    for asked in 'table2 --tree-paths own' 'table2 --tree-paths next' 'table2 --tree-paths code' 'table3 --more --budget quick' \
        'roper --drop-worst --more'; do
        # shellcheck disable=SC2086
        run reproduce $asked --parallel
        grep -o 'reproduce-[^ ]*-parts' .out/stdout | sort -u
        cat .out/stderr
    done

    says runs --task copy
    says runs --task copy --encoding rope --format csv
    says runs --encoding rope --format latex
    says runs --encoding sinusoidal --format csv
    says runs --store t/locus.db --task addition --json --format csv
    says runs --task nothing
    says runs --task nothing --json
    says runs diff 1 2
    says runs diff 2 3
    says runs diff 1
    says runs diff 1 1
    says runs diff 1 3 --format csv
    says runs diff 1 3 --json
    says runs diff 1 nobody
    says runs show 3
    says runs show copy
    says runs show
    says runs delete
    says runs rename 1
    says runs rename 1 a/b
    says runs rename 1 first
    says runs rename 2 first
    says runs note 1
    says runs note 1 'mine, all of it'
    says runs show first --json
    says runs note 1 ''
    says runs delete 2
    says runs delete 2
    says runs export
    says runs export 1 1 -o x.json
    says runs export 1 3 1 -o x.json
    says runs export 99 -o x.json
    says runs export --task nothing -o x.json
    says runs export 1 -o x.json
    says runs export 1 3 --format csv -o x
    says runs export --format latex -o x
    says runs --format tensorboard
    says runs import
    says runs import none.json
    says runs import x.json
    says runs import x.json --checkpoints
    says runs import t/locus.db --store u/locus.db
    says runs import t/locus.db --store u/locus.db
    says runs import words.txt
    says runs diff 1 2 3
    says runs export 1 --store t/locus.db
    says runs import t/none.db
    says runs import recorded.json recorded.json
    says runs import recorded.json none.json
    says runs --format nothing
    says runs show 1 --format tensorboard
    says runs export 1 --format tensorboard -o board
    says runs export 1 2 --format csv -o gone/x
    says runs delete 99 first
    says runs delete first 99
    says runs note 99 text
    says runs note first 'two' words
    says runs rename 99 second
    says runs rename first second third
    says runs everything
    says runs --store none/locus.db
    says report --task nothing
    says report --setup code --format csv
    says report --json --task nothing
    says report -o gone/x.html
    says report --store none/locus.db
    says bench what
    says bench aply
    says bench apply --tokens 0
    says bench attention --lengths 0
    says bench attention --lengths 8,1048577
    says completion tcsh
    says completion bas
    says completion bash man
    says completion
} >spoken.txt
# Versions, times, and what depends on when.
sed -i -e "s/[0-9]\{4\}-[0-9][0-9]-[0-9][0-9]T[0-9:]*Z/TIME/g" -e 's/^locus [0-9.]*:/locus VERSION:/' \
    -e 's/: done in [0-9.]* s$/: done in TIME/' spoken.txt
checks=$((checks + 1))
cmp -s spoken.txt "$LOCUS_SOURCE/tests/golden/spoken.txt" || {
    cp spoken.txt "${LOCUS_BUILD:-/tmp}"
    : >.out/stdout
    : >.out/stderr
    complain "the program says something else, all of it in ${LOCUS_BUILD:-/tmp}/spoken.txt, from where it can take the kept" \
        "file's place if it is right: $(diff "$LOCUS_SOURCE/tests/golden/spoken.txt" spoken.txt | head -n 30)"
}
finish
