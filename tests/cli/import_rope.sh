#!/bin/sh
# SPDX-License-Identifier: MIT
# locus import-rope: the spec of every published configuration, notes, --json, contradictions, files that are none. That the
# specs turn as the models do is tests/golden/test_golden_import_rope.c.
. "${LOCUS_SOURCE:?}/tests/cli/transcript.inc"
configs=$LOCUS_SOURCE/tests/cli/configs

# imports NAME SPEC: and nothing is noted
imports() {
    works import-rope "$configs/$1.json"
    [ "$(cat .out/stdout)" = "$2" ] || complain "$1 is not '$2'"
}

# notes PATTERN: the last run noted it, on lines of its own
notes() {
    checks=$((checks + 1))
    grep -q -e "^locus: note: .*$1" .out/stderr || complain "no note '$1'"
}

imports llama2 'rope(pairs=half)'
imports llama3 'rope(pairs=half, base=500000)'
imports llama31 'rope(pairs=half, base=500000, scaling=llama3, factor=8, original=8192)'
imports llama31-new 'rope(pairs=half, base=500000, scaling=llama3, factor=8, original=8192)'
imports llama32 'rope(pairs=half, base=500000, scaling=llama3, factor=32, original=8192)'
imports llama-linear 'rope(pairs=half, scaling=linear, factor=4)'
imports llama-dynamic 'rope(pairs=half, scaling=dynamic, factor=2, original=4096)'
imports mistral 'rope(pairs=half)'
imports mistral-nemo 'rope(pairs=half, base=1000000)'
imports qwen2 'rope(pairs=half, base=1000000)'
imports qwen25-yarn 'rope(pairs=half, base=1000000, scaling=yarn, factor=4, original=32768)'
imports qwen2-vl 'rope(pairs=half, base=1000000, axes=3, sections=16:24:24)'
imports qwen25-vl-new 'rope(pairs=half, base=1000000, axes=3, sections=16:24:24)'
imports qwen3 'rope(pairs=half, base=1000000)'
imports qwen3-vl 'rope(pairs=half, base=5000000, axes=3, sections=24:20:20, order=interleaved)'
imports qwen3-vl-new 'rope(pairs=half, base=5000000, axes=3, sections=24:20:20, order=interleaved)'
imports phi2 'rope(pairs=half, rotate=32)'
imports pythia 'rope(pairs=half, rotate=32)'
imports pythia-new 'rope(pairs=half, rotate=32)'
imports gptj 'rope(rotate=64)'
imports glm4 'rope(rotate=64)'
imports stablelm 'rope(pairs=half, rotate=20)'
imports gemma3-1b '5*rope(pairs=half) / rope(pairs=half, base=1000000)'
imports gemma3-4b '5*rope(pairs=half) / rope(pairs=half, base=1000000, scaling=linear, factor=8)'
imports gemma3-4b-new '5*rope(pairs=half) / rope(pairs=half, base=1000000, scaling=linear, factor=8)'
imports cohere2 '3*rope(base=50000) / none'
imports smollm3 '3*rope(pairs=half, base=5000000) / none'
imports gpt-oss 'rope(pairs=half, base=150000, scaling=yarn, factor=32, original=4096, truncate=off)'
imports nanochat 'rope(pairs=half, turn=backward)'
imports moonshine 'rope(rotate=32)'
imports ministral3 'rope(pairs=half, base=1000000, scaling=yarn, factor=16, original=16384, mscale=1, mscale_all=1) + temperature(length=16384, first=0)'
imports llama4-scout '3*rope(base=500000, scaling=llama3, factor=16, original=8192, high=1) + scores(chunk=8192) / temperature'
imports yarn-attention 'rope(pairs=half, scaling=yarn, factor=16, original=4096, fast=48, slow=2, attention=1.1)'

# LongRoPE: lists of 48 numbers, not cut; the factor follows from the lengths.
works import-rope "$configs/phi3-128k.json"
prints '^rope(pairs=half, scaling=longrope, factor=32, original=4096, short=1.05:.*:2.4, long=1.03:.*:64.1)$'
[ "$(tr -cd ':' <.out/stdout | wc -c)" -eq 94 ] || complain 'not two lists of 48'
works import-rope "$configs/phi4-mini.json"
prints 'rotate=96, scaling=longrope, factor=32, original=4096, short=1:1:'
# A spec of more than a kilobyte is a spec: nothing cuts it on its way.
works check "$(cat .out/stdout)" --head-dim 128 --json
prints ':47.77)"'

# One factor of attention for both lists, said twice; two of them cannot be said.
sed 's/"type": "longrope",/& "short_mscale": 1.25, "long_mscale": 1.25,/' "$configs/phi3-128k.json" >twice.json
works import-rope twice.json --quiet
prints ', original=4096, attention=1\.25, short=1\.05:1\.0686:'
sed 's/"type": "longrope",/& "short_mscale": 1.5, "long_mscale": 1.25,/' "$configs/phi3-128k.json" >two.json
refuses 1 'has short_mscale 1.5 and long_mscale 1.25: one factor for both lengths' import-rope two.json
sed 's/"type": "longrope",/& "short_mscale": "x", "long_mscale": 1.25,/' "$configs/phi3-128k.json" >text.json
refuses 1 'short_mscale' import-rope text.json

# DeepSeek: the part that turns, and what else its attention needs.
run import-rope "$configs/deepseek-v3.json"
[ "$status" -eq 0 ] || complain 'deepseek-v3'
prints '^rope(rotate=64, scaling=yarn, factor=40, original=4096, mscale=1, mscale_all=1)$'
notes 'the 64 dimensions that turn stand behind the other 128'
notes 'scores are scaled by 0.135233779'
works import-rope "$configs/deepseek-v3.json" --quiet
works import-rope "$configs/deepseek-v3.json" --quiet --json
prints '"head_dim":	192'
prints '"length":	163840'
prints '"model_type":	"deepseek_v3"'
prints 'stand behind the other 128'

# YaRN with beta_fast = beta_slow, which is a step; families whose latent heads are interleaved without saying so.
run import-rope "$configs/kimi-k2.json"
prints '^rope(base=50000, rotate=64, scaling=yarn, factor=32, original=4096, fast=1, mscale=1, mscale_all=1)$'
for name in deepseek-v32 longcat-flash glm47-flash; do
    run import-rope "$configs/$name.json"
    [ "$status" -eq 0 ] || complain "$name"
    prints '^rope([^h]*rotate=64'
    notes 'the 64 dimensions that turn stand behind'
done

# ModernBERT's windows are halves, of both sides there and of one in the decoder, and its first layer sees all.
run import-rope "$configs/modernbert.json"
prints '^rope(pairs=half, base=160000) / 2\*rope(pairs=half)$'
notes 'layers with a window see keys fewer than 65 away (local_attention 128, halved): --window'
works import-rope "$configs/modernbert.json" --attention --quiet
prints '^rope(pairs=half, base=160000) / 2\*rope(pairs=half) + scores(window=65)$'
run import-rope "$configs/ettin-decoder.json"
prints '^rope(pairs=half, base=160000)$'
notes 'fewer than 64 away'
works import-rope "$configs/ettin-decoder.json" --attention --quiet
prints '^rope(pairs=half, base=160000) / 2\*rope(pairs=half, base=160000) + scores(window=64)$'

# Everything that attention needs, where it is asked for: windows by layer, scales, caps, sinks.
works import-rope "$configs/mistral.json" --attention
prints '^rope(pairs=half) + scores(window=4096)$'
works import-rope "$configs/gpt-oss.json" --attention
prints '^rope(.*truncate=off) + scores(window=128, sinks=on) / rope(.*truncate=off) + scores(sinks=on)$'
works import-rope "$configs/gemma3-1b.json" --json
prints '"attention":	"5\*rope(pairs=half) + scores(window=512) / rope(pairs=half, base=1000000)"'
run import-rope "$configs/deepseek-v3.json" --attention
prints ' + scores(scale=0.1352337788608801)$'

works import-rope "$configs/gemma3-4b.json" --json
prints '"spec":	"5\*rope(pairs=half) / rope(pairs=half, base=1000000, scaling=linear, factor=8)"'
prints '"model_type":	"gemma3"'
prints '"head_dim":	256'
prints 'layers with a window see 1024 keys'
works import-rope "$configs/llama2.json" --json
prints '"notes":	\[\]'

# The specs are those of other commands, with one of their layers where there are several.
npy x.npy '<f4' '(2, 1, 8)' '\000\000\200\077' 16
works apply "$("$LOCUS" import-rope "$configs/gemma3-4b.json")" --layer 4 -i x.npy --positions 3,9 -o y.npy
works apply 'rope(pairs=half)' -i x.npy --positions 3,9 -o z.npy
cmp -s y.npy z.npy || complain 'layer 4 of Gemma 3 is not local'
works apply "$("$LOCUS" import-rope "$configs/gemma3-4b.json")" --layer 11 -i x.npy --positions 3,9 -o y.npy
works apply 'rope(pairs=half, base=1000000, scaling=linear, factor=8)' -i x.npy --positions 3,9 -o z.npy
cmp -s y.npy z.npy || complain 'layer 11 of Gemma 3 is not global'
works apply '3*rope / none' --layer 3 -i x.npy --positions 3,9 -o y.npy
cmp -s y.npy x.npy || complain 'layer 3 turns'
works apply '3*rope' -i x.npy --positions 3,9 -o y.npy
refuses 2 'choose one with --layer' apply '3*rope / none' -i x.npy --positions 3,9 -o no.npy
refuses 2 '' apply '3*rope / nune' --layer 1 -i x.npy --positions 3,9 -o no.npy

# config FIELDS: a small Llama with them
config() {
    printf '{"model_type": "llama", "hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 2,
        "max_position_embeddings": 8192, %s}\n' "$1" >config.json
}

# Notes, not errors: what means nothing to the rope type, families that are not listed.
config '"rope_scaling": {"rope_type": "linear", "factor": 2, "beta_fast": 32, "colour": "red"}'
run import-rope config.json
[ "$status" -eq 0 ] || complain 'unknown keys are no error'
prints '^rope(pairs=half, scaling=linear, factor=2)$'
notes "rope_scaling.beta_fast means nothing to rope type 'linear'"
notes "rope_scaling.colour means nothing to rope type 'linear'"
run import-rope config.json --json
prints 'rope_scaling.colour'
printf '{"model_type": "mine", "rope_theta": 5000, "hidden_size": 64, "num_attention_heads": 4}' >config.json
run import-rope config.json
[ "$status" -eq 0 ] || complain 'an unknown family is no error'
prints '^rope(pairs=half, base=5000)$'
notes "model_type 'mine' is not listed, so this is a guess: half pairs"
printf '{"model_type": "mine", "rope_parameters": {"rope_type": "yarn", "rope_theta": 5000, "factor": 4, "original_max_position_embeddings": 4096,
    "llama_4_scaling_beta": 0.2}, "head_dim": 16}' >config.json
run import-rope config.json
prints '+ temperature(length=4096, beta=0.2, first=0)$'
notes 'is taken as Ministral 3 has it, which is a guess as well'
# It means nothing to those that do not read it.
config '"rope_scaling": {"rope_type": "yarn", "factor": 2, "original_max_position_embeddings": 4096, "llama_4_scaling_beta": 0.1}'
run import-rope config.json
notes "llama_4_scaling_beta means nothing"
config '"rope_scaling": {"rope_type": "yarn", "factor": 2, "original_max_position_embeddings": 4096, "mscale": 0.7}'
run import-rope config.json
notes 'mscale has no effect'
config '"rope_scaling": {"rope_type": "yarn", "factor": 8, "original_max_position_embeddings": 4096}'
run import-rope config.json
notes 'factor is 8, max_position_embeddings is 2 times'
prints 'factor=8'

# The same, said twice, contradicts nothing; null is not said.
config '"rope_theta": 1e4, "rope_parameters": {"rope_theta": 10000, "rope_type": "default", "type": "mrope", "factor": null}'
works import-rope config.json
prints '^rope(pairs=half)$'
# What families leave unsaid of attention: Gemma 2's cap, Granite's scale; windows of unknown width; scalings of their own.
printf '{"model_type": "gemma2", "head_dim": 256, "query_pre_attn_scalar": 144, "sliding_window": 4096, "num_hidden_layers": 42}' >config.json
works import-rope config.json --attention
prints '^rope(pairs=half) + scores(scale=0.08333333333333333, cap=50, window=4096) / rope(pairs=half) + scores(scale=0.08333333333333333, cap=50)$'
printf '{"model_type": "gemma2", "head_dim": 256, "query_pre_attn_scalar": 1, "sliding_window": 4096, "num_hidden_layers": 42}' >config.json
works import-rope config.json --attention
prints '^rope(pairs=half) + scores(scale=1, cap=50, window=4096) /'
printf '{"model_type": "granite", "head_dim": 64, "num_hidden_layers": 2}' >config.json
works import-rope config.json --attention
prints '^rope(pairs=half) + scores(scale=1)$'
printf '{"model_type": "smollm3", "head_dim": 64, "use_sliding_window": true, "sliding_window": 512, "num_hidden_layers": 4}' >config.json
works import-rope config.json --attention
prints '^3\*rope(pairs=half, base=2000000) / scores(window=512)$'
printf '{"model_type": "qwen2_moe", "head_dim": 64, "use_sliding_window": true, "sliding_window": 512, "max_window_layers": 2,
    "num_hidden_layers": 4}' >config.json
works import-rope config.json --attention
prints '^rope(pairs=half) + scores(window=512) / 3\*rope(pairs=half)$'
printf '{"model_type": "olmo3", "head_dim": 128, "num_hidden_layers": 8}' >config.json
works import-rope config.json --json
prints 'does not say how wide the windows'
printf '{"model_type": "gpt_oss", "head_dim": 64, "num_hidden_layers": 8, "sliding_window": 128}' >config.json
run import-rope config.json
notes 'no rope_parameters: transformers then takes a scaling'
# Types of layers in the new layout, one without positions; layers without attention.
config '"rope_parameters": {"sliding_attention": {"rope_type": "default", "rope_theta": 1e4}, "full_attention": null},
    "layer_types": ["sliding_attention", "full_attention"]'
works import-rope config.json
prints '^rope(pairs=half) / none$'
printf '{"model_type": "hunyuan_v1_dense", "head_dim": 128, "max_position_embeddings": 32768,
    "rope_scaling": {"type": "dynamic", "alpha": 1000, "factor": 1}}' >config.json
run import-rope config.json
prints '^rope(pairs=half, scaling=ntk, factor=1000)$'
notes 'queries and keys are normalised with weights after they have turned'
printf '{"model_type": "granitemoehybrid", "head_dim": 64, "position_embedding_type": "nope", "rope_theta": 10000, "num_hidden_layers": 4}' >config.json
works import-rope config.json
prints '^none$'
printf '{"model_type": "qwen3_moe", "head_dim": 64, "use_sliding_window": true, "sliding_window": 512, "num_hidden_layers": 4}' >config.json
works import-rope config.json --attention
prints '^rope(pairs=half) + scores(window=512)$'
printf '{"model_type": "llama4_text", "head_dim": 128, "max_position_embeddings": 32768, "num_hidden_layers": 48}' >config.json
works import-rope config.json
prints '^3\*rope(base=500000) + scores(chunk=8192) / temperature$'
printf '{"model_type": "llama4_text", "head_dim": 128, "num_hidden_layers": 4, "no_rope_layers": [1, 0, 1, 1],
    "attn_temperature_tuning": false, "attention_chunk_size": 64}' >config.json
works import-rope config.json
prints '^rope(base=500000) + scores(chunk=64) / none / rope(base=500000) + scores(chunk=64)$'
# Falcon-RW's positions are ALiBi's, divided with the products; BLOOM's are not. Qwen 1: log-n scaling.
printf '{"model_type": "falcon", "alibi": true, "hidden_size": 2048, "num_attention_heads": 32}' >config.json
works import-rope config.json
prints '^alibi(scaled=on)$'
printf '{"model_type": "falcon", "alibi": false, "hidden_size": 4544, "num_attention_heads": 71}' >config.json
works import-rope config.json
prints '^rope(pairs=half)$'
printf '{"model_type": "bloom", "hidden_size": 1024, "n_head": 16}' >config.json
works import-rope config.json
prints '^alibi$'
printf '{"model_type": "qwen", "hidden_size": 4096, "num_attention_heads": 32, "rotary_emb_base": 10000, "rotary_pct": 1.0, "seq_length": 8192,
    "use_logn_attn": true, "use_dynamic_ntk": true}' >config.json
run import-rope config.json
prints '^rope(pairs=half) + temperature(growth=log)$'
notes 'use_dynamic_ntk: for a text of L > 8192 tokens say scaling=ntk'
# Llama 4 Scout: a step instead of a ramp, which transformers reads (with a warning).
printf '{"model_type": "llama4", "text_config": {"model_type": "llama4_text", "head_dim": 128, "num_hidden_layers": 48,
    "rope_theta": 500000.0, "max_position_embeddings": 10485760, "rope_scaling": {"factor": 16.0,
    "high_freq_factor": 1.0, "low_freq_factor": 1.0, "original_max_position_embeddings": 8192,
    "rope_type": "llama3"}}}' >config.json
works import-rope config.json
prints '^3\*rope(base=500000, scaling=llama3, factor=16, original=8192, high=1) + scores(chunk=8192) / temperature$'
works import-rope config.json --json
prints 'low_freq_factor and high_freq_factor are equal'
config '"rope_parameters": {"rope_type": "proportional", "partial_rotary_factor": 0.25, "rope_theta": 1e6}'
works import-rope config.json
prints '^rope(pairs=half, base=1000000, rotate=proportional:0.25)$'

# wrong PATTERN FIELDS
wrong() {
    config "$2"
    refuses 1 "^locus: 'config.json' .*$1" import-rope config.json
}
wrong "rope_scaling.rope_type 'stretch', which nobody knows: it is one of default" \
    '"rope_scaling": {"rope_type": "stretch", "factor": 2}'
wrong 'rope_scaling.factor = -2: it must be a number above 0' '"rope_scaling": {"rope_type": "linear", "factor": -2}'
wrong 'rope_scaling.factor = 0' '"rope_scaling": {"type": "dynamic", "factor": 0}'
wrong 'rope_scaling.factor = "two"' '"rope_scaling": {"type": "linear", "factor": "two"}'
wrong 'no field factor' '"rope_scaling": {"type": "linear"}'
wrong 'rope_scaling.factor, but no rope_type' '"rope_scaling": {"factor": 2}'
wrong 'rope_parameters.rope_theta is 10000, but rope_theta is 500000' \
    '"rope_theta": 500000, "rope_parameters": {"rope_theta": 10000}'
wrong 'rope_theta is 10000, but rope_theta is 20000' '"rope_theta": 10000, "rope_theta": 20000'
wrong "rope_scaling.rope_type is 'linear', but rope_scaling.type is 'dynamic'" \
    '"rope_scaling": {"type": "dynamic", "rope_type": "linear", "factor": 2}'
wrong 'rope_parameters.factor is 2, but rope_scaling.factor is 4' \
    '"rope_scaling": {"rope_type": "linear", "factor": 4}, "rope_parameters": {"rope_type": "linear", "factor": 2}'
wrong 'no field original_max_position_embeddings' '"rope_scaling": {"rope_type": "yarn", "factor": 4}'
wrong 'no field original_max_position_embeddings' \
    '"rope_scaling": {"rope_type": "llama3", "factor": 4, "low_freq_factor": 1, "high_freq_factor": 4}'
wrong 'high_freq_factor (1) must be above low_freq_factor (4)' '"rope_scaling": {"rope_type": "llama3", "factor": 4,
    "low_freq_factor": 4, "high_freq_factor": 1, "original_max_position_embeddings": 4096}'
wrong 'beta_fast (1) must be above beta_slow (2)' '"rope_scaling": {"rope_type": "yarn", "factor": 4, "beta_fast": 1,
    "beta_slow": 2, "original_max_position_embeddings": 4096}'
wrong 'rope_scaling.mrope_section adds up to 7, but 8 pairs turn' \
    '"rope_scaling": {"type": "mrope", "mrope_section": [2, 2, 3]}'
wrong 'mrope_section that is no list' '"rope_scaling": {"type": "mrope", "mrope_section": 3}'
wrong '2 numbers in rope_scaling.short_factor: 8 pairs turn' \
    '"rope_scaling": {"type": "longrope", "short_factor": [1, 2],
    "long_factor": [1, 2], "original_max_position_embeddings": 4096}'
wrong 'item in rope_scaling.long_factor that is no number above 0' '"rope_scaling": {"type": "longrope",
    "short_factor": [1, 1, 1, 1, 1, 1, 1, 1], "long_factor": [1, 1, 1, 1, 1, 1, 1, 0], "original_max_position_embeddings": 4096}'
wrong 'it must be at most 1' '"partial_rotary_factor": 1.5'
wrong 'pairs need an even number' '"partial_rotary_factor": 0.2'
wrong 'rotary_dim is 8, partial_rotary_factor 0.25 of 16 makes 4' '"partial_rotary_factor": 0.25, "rotary_dim": 8'
wrong 'rotary_dim is 18, head_dim is 16' '"rotary_dim": 18'
wrong 'partial_rotary_factor is 0.5, but rotary_pct is 0.25' '"partial_rotary_factor": 0.5, "rotary_pct": 0.25'
wrong 'rope_theta = -1' '"rope_theta": -1'
wrong 'rope_scaling that is no object' '"rope_scaling": [1]'
wrong 'head_dim that is no whole number' '"head_dim": 2.5'
wrong 'num_hidden_layers is 2, layer_types is of length 3' '"layer_types": ["a", "b", "c"]'
wrong 'no_rope_layers is of length 3, with 2 layers' '"no_rope_layers": [1, 0, 1]'
wrong 'no layer_types' \
    '"rope_parameters": {"full_attention": {"rope_theta": 1}, "sliding_attention": {"rope_theta": 2}}'
wrong 'says alibi' '"alibi": true'

printf '{"model_type": "bert", "hidden_size": 768}' >config.json
refuses 1 "has no rotary settings (model_type 'bert'" import-rope config.json
printf '{"model_type": "llama",\n "rope_theta": }\n' >config.json
refuses 1 "'config.json' is not JSON: it cannot be read from line 2 on" import-rope config.json
printf '{"rope_theta": 1} and more' >config.json
refuses 1 'is not JSON' import-rope config.json
: >config.json
refuses 1 'is not JSON' import-rope config.json
printf '[1, 2]' >config.json
refuses 1 'holds no JSON object' import-rope config.json
head -c 300 "$configs/llama31.json" >config.json
refuses 1 'is not JSON' import-rope config.json
refuses 1 'nowhere.json' import-rope nowhere.json
refuses 2 'CONFIG.json is missing' import-rope
absent no.npy
# A file as large as weights is not read.
dd if=/dev/zero of=config.json bs=1 count=0 seek=3221225472 2>/dev/null
refuses 1 'has 3072 MiB: a model.s configuration has a few KiB' import-rope config.json
rm config.json

# Each name that the program knows has a row of docs/import-rope.md: how far it agrees with its model, or why nobody can say.
names=$(sed -n '/families\[\] = {/,/^};/p' "$LOCUS_SOURCE/lab/rope/rope_families.c" | tr -d '\n' |
    sed 's/" *"//g; s/\.names = "/\n&/g' | sed -n 's/^\.names = "\([^"]*\)".*/\1/p' | tr '|' '\n')
[ "$(echo "$names" | wc -l)" -ge 120 ] || complain "lab/rope/rope_families.c has another form: $names"
for name in $names; do
    checks=$((checks + 1))
    grep -qE "^\| ($name|${name}_text) \| " "$LOCUS_SOURCE/docs/import-rope.md" || complain "docs/import-rope.md has no row of $name"
done
finish
