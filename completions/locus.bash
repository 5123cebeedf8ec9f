# SPDX-License-Identifier: MIT
# bash completion for locus; made by 'locus completion bash'

_locus()
{
    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} at=$COMP_CWORD
    local -a line=("${COMP_WORDS[@]}")
    while [ "${line[1]}" = --plugin ] && [ "$at" -gt 2 ]; do
        line=("${line[0]}" "${line[@]:3}")
        at=$((at - 2))
    done
    local command=${line[1]} options= operands= words= value=
    COMPREPLY=()
    [ "$command" != --plugin ] || return
    if [ "$at" -eq 1 ]; then
        COMPREPLY=($(compgen -W " encodings path encode apply attend check fold import-rope data train eval generate compare reproduce runs report plot bench completion --plugin --help --version" -- "$current"))
        return
    fi
    case $command in
    data)
        if [ "$at" -eq 2 ]; then words=" make inspect get"; fi
        command="$command ${line[2]}" ;;
    plot)
        if [ "$at" -eq 2 ]; then words=" group similarity spectrum frequencies table"; fi
        command="$command ${line[2]}" ;;
    esac
    case $command in
    "encodings")
        options=" --json --help"
        operands=" none sinusoidal learned chebyshev shiv-quirk relative rope roper alibi decay t5 kerple fire cope temperature scores algebraic mixed string liere"
        case $previous in
        esac ;;
    "path")
        options=" --json --help"
        operands=""
        case $previous in
        esac ;;
    "encode")
        options=" --positions --output --dim --heads --head-dim --operators --scores --decay --params --seed --length --layer --threads --help"
        operands=" none sinusoidal learned chebyshev shiv-quirk relative rope roper alibi decay t5 kerple fire cope temperature scores algebraic mixed string liere"
        case $previous in
        -p|--positions) return ;;
        -o|--output) return ;;
        -d|--dim) words=""; value=1 ;;
        -H|--heads) words=""; value=1 ;;
        --head-dim) words=""; value=1 ;;
        --params) return ;;
        --seed) words=""; value=1 ;;
        --length) words=""; value=1 ;;
        --layer) words=""; value=1 ;;
        --threads) words=""; value=1 ;;
        esac ;;
    "apply")
        options=" --input --positions --output --inverse --params --seed --length --layer --threads --help"
        operands=" none sinusoidal learned chebyshev shiv-quirk relative rope roper alibi decay t5 kerple fire cope temperature scores algebraic mixed string liere"
        case $previous in
        -i|--input) return ;;
        -p|--positions) return ;;
        -o|--output) return ;;
        --params) return ;;
        --seed) words=""; value=1 ;;
        --length) words=""; value=1 ;;
        --layer) words=""; value=1 ;;
        --threads) words=""; value=1 ;;
        esac ;;
    "attend")
        options=" --query --key --value --positions --key-positions --mask --prefix --scale --cap --window --keep --documents --key-documents --bias --attention --landmarks --clusters --iterations --output --weights --grad-output --grad-dir --params --seed --length --layer --threads --help"
        operands=" none sinusoidal learned chebyshev shiv-quirk relative rope roper alibi decay t5 kerple fire cope temperature scores algebraic mixed string liere"
        case $previous in
        -q|--query) return ;;
        -k|--key) return ;;
        -v|--value) return ;;
        -p|--positions) return ;;
        --key-positions) return ;;
        --mask) words=" full causal prefix"; value=1 ;;
        --prefix) words=""; value=1 ;;
        --scale) words=""; value=1 ;;
        --cap) words=""; value=1 ;;
        --window) words=""; value=1 ;;
        --keep) words=""; value=1 ;;
        --documents) return ;;
        --key-documents) return ;;
        --bias) return ;;
        --attention) words=" softmax linear soft clustered"; value=1 ;;
        --landmarks) words=""; value=1 ;;
        --clusters) words=""; value=1 ;;
        --iterations) words=""; value=1 ;;
        -o|--output) return ;;
        --weights) return ;;
        --grad-output) return ;;
        --grad-dir) return ;;
        --params) return ;;
        --seed) words=""; value=1 ;;
        --length) words=""; value=1 ;;
        --layer) words=""; value=1 ;;
        --threads) words=""; value=1 ;;
        esac ;;
    "check")
        options=" --heads --head-dim --params --seed --length --layer --json --threads --help"
        operands=" none sinusoidal learned chebyshev shiv-quirk relative rope roper alibi decay t5 kerple fire cope temperature scores algebraic mixed string liere"
        case $previous in
        -H|--heads) words=""; value=1 ;;
        --head-dim) words=""; value=1 ;;
        --params) return ;;
        --seed) words=""; value=1 ;;
        --length) words=""; value=1 ;;
        --layer) words=""; value=1 ;;
        --threads) words=""; value=1 ;;
        esac ;;
    "fold")
        options=" --heads --head-dim --query --key --value --out-projection --transposed --to --pairs --basis --output --params --seed --length --layer --json --threads --help"
        operands=" none sinusoidal learned chebyshev shiv-quirk relative rope roper alibi decay t5 kerple fire cope temperature scores algebraic mixed string liere"
        case $previous in
        -H|--heads) words=""; value=1 ;;
        --head-dim) words=""; value=1 ;;
        -q|--query) return ;;
        -k|--key) return ;;
        -v|--value) return ;;
        --out-projection) return ;;
        --to) words=" rotary algebraic"; value=1 ;;
        --pairs) words=" interleaved half"; value=1 ;;
        --basis) words=" identity random"; value=1 ;;
        -o|--output) return ;;
        --params) return ;;
        --seed) words=""; value=1 ;;
        --length) words=""; value=1 ;;
        --layer) words=""; value=1 ;;
        --threads) words=""; value=1 ;;
        esac ;;
    "import-rope")
        options=" --attention --json --quiet --help"
        operands=""
        case $previous in
        esac ;;
    "data make")
        options=" --set --n --seed --symbols --length --length-deviation --depth --depth-deviation --arity --order --digits --sequence --target --preset --expression-depth --arguments --shortest --longest --data --train-text --dev-text --test-text --vocabulary --model --image --output --json --quiet --help"
        operands=" copy reverse repeat tree-copy tree-reorder tree-c3 tree-ops cifar10 addition substring-index substring-search text listops"
        case $previous in
        --set) words=" train dev test"; value=1 ;;
        -n|--n) words=""; value=1 ;;
        -s|--seed) words=""; value=1 ;;
        --symbols) words=""; value=1 ;;
        -l|--length) words=""; value=1 ;;
        --length-deviation) words=""; value=1 ;;
        --depth) words=""; value=1 ;;
        --depth-deviation) words=""; value=1 ;;
        --arity) words=""; value=1 ;;
        --order) words=" breadth depth"; value=1 ;;
        --digits) words=""; value=1 ;;
        --sequence) words=""; value=1 ;;
        --target) words=" digit parity"; value=1 ;;
        --preset) words=" seed lra"; value=1 ;;
        --expression-depth) words=""; value=1 ;;
        --arguments) words=""; value=1 ;;
        --shortest) words=""; value=1 ;;
        --longest) words=""; value=1 ;;
        --data) words=""; value=1 ;;
        --train-text) return ;;
        --dev-text) return ;;
        --test-text) return ;;
        --vocabulary) words=""; value=1 ;;
        --model) return ;;
        --image) words=""; value=1 ;;
        -o|--output) return ;;
        esac ;;
    "data inspect")
        options=" --set --n --seed --symbols --length --length-deviation --depth --depth-deviation --arity --order --digits --sequence --target --preset --expression-depth --arguments --shortest --longest --data --show --json --help"
        operands=" copy reverse repeat tree-copy tree-reorder tree-c3 tree-ops cifar10 addition substring-index substring-search text listops"
        case $previous in
        --set) words=" train dev test"; value=1 ;;
        -n|--n) words=""; value=1 ;;
        -s|--seed) words=""; value=1 ;;
        --symbols) words=""; value=1 ;;
        -l|--length) words=""; value=1 ;;
        --length-deviation) words=""; value=1 ;;
        --depth) words=""; value=1 ;;
        --depth-deviation) words=""; value=1 ;;
        --arity) words=""; value=1 ;;
        --order) words=" breadth depth"; value=1 ;;
        --digits) words=""; value=1 ;;
        --sequence) words=""; value=1 ;;
        --target) words=" digit parity"; value=1 ;;
        --preset) words=" seed lra"; value=1 ;;
        --expression-depth) words=""; value=1 ;;
        --arguments) words=""; value=1 ;;
        --shortest) words=""; value=1 ;;
        --longest) words=""; value=1 ;;
        --data) words=""; value=1 ;;
        --show) words=""; value=1 ;;
        esac ;;
    "data get")
        options=" --from --to --quiet --help"
        operands=""
        case $previous in
        --from) return ;;
        --to) return ;;
        esac ;;
    "train")
        options=" --task --encoding --seed --embedding-init --budget --setup --position-scale --logit-scale --steps --epochs --batch --dim --heads --kv-heads --attention --layers --feed-forward --dropout --norm --output --pool --pretrained --length --length-deviation --symbols --digits --sequence --order --depth --depth-deviation --arity --tree-paths --target --preset --expression-depth --arguments --shortest --longest --data --augment --train-samples --dev-samples --test-samples --greedy-samples --test-lengths --test-depths --rate --warmup --weight-decay --patience --clip --evaluate-every --checkpoint-seconds --data-seed --store --name --restart --json --quiet --threads --help"
        operands=""
        case $previous in
        -t|--task) words=" copy reverse repeat tree-copy tree-reorder tree-c3 tree-ops cifar10 addition substring-index substring-search text listops"; value=1 ;;
        -e|--encoding) words=" none sinusoidal learned chebyshev shiv-quirk relative rope roper alibi decay t5 kerple fire cope temperature scores algebraic mixed string liere"; value=1 ;;
        -s|--seed) words=""; value=1 ;;
        --embedding-init) words=" scaled unit plain"; value=1 ;;
        --budget) words=" smoke quick paper"; value=1 ;;
        --setup) words=" paper code"; value=1 ;;
        --position-scale) words=" none sqrt-dim"; value=1 ;;
        --logit-scale) words=" none inverse-sqrt-dim"; value=1 ;;
        --steps) words=""; value=1 ;;
        --epochs) words=""; value=1 ;;
        --batch) words=""; value=1 ;;
        --dim) words=""; value=1 ;;
        --heads) words=""; value=1 ;;
        --kv-heads) words=""; value=1 ;;
        --attention) words=" softmax linear soft clustered"; value=1 ;;
        --layers) words=""; value=1 ;;
        --feed-forward) words=""; value=1 ;;
        --dropout) return ;;
        --norm) words=" before after"; value=1 ;;
        --output) words=" own tied"; value=1 ;;
        --pool) words=" first mean"; value=1 ;;
        --pretrained) return ;;
        -l|--length) words=""; value=1 ;;
        --length-deviation) words=""; value=1 ;;
        --symbols) words=""; value=1 ;;
        --digits) words=""; value=1 ;;
        --sequence) words=""; value=1 ;;
        --order) words=" breadth depth"; value=1 ;;
        --depth) words=""; value=1 ;;
        --depth-deviation) words=""; value=1 ;;
        --arity) words=""; value=1 ;;
        --tree-paths) words=" own next code"; value=1 ;;
        --target) words=" digit parity"; value=1 ;;
        --preset) words=" seed lra"; value=1 ;;
        --expression-depth) words=""; value=1 ;;
        --arguments) words=""; value=1 ;;
        --shortest) words=""; value=1 ;;
        --longest) words=""; value=1 ;;
        --data) words=""; value=1 ;;
        --augment) words=" autoaugment none"; value=1 ;;
        --train-samples) words=""; value=1 ;;
        --dev-samples) words=""; value=1 ;;
        --test-samples) words=""; value=1 ;;
        --greedy-samples) words=""; value=1 ;;
        --test-lengths) words=""; value=1 ;;
        --test-depths) words=""; value=1 ;;
        --rate) words=""; value=1 ;;
        --warmup) words=""; value=1 ;;
        --weight-decay) words=""; value=1 ;;
        --patience) words=""; value=1 ;;
        --clip) words=""; value=1 ;;
        --evaluate-every) words=""; value=1 ;;
        --checkpoint-seconds) words=""; value=1 ;;
        --data-seed) words=""; value=1 ;;
        --store) return ;;
        --name) words=""; value=1 ;;
        --threads) words=""; value=1 ;;
        esac ;;
    "eval")
        options=" --lengths --depths --data --set --n --greedy-samples --store --json --quiet --threads --help"
        operands=""
        case $previous in
        -l|--lengths) words=""; value=1 ;;
        --depths) words=""; value=1 ;;
        --data) words=""; value=1 ;;
        --set) words=" test dev train"; value=1 ;;
        -n|--n) words=""; value=1 ;;
        --greedy-samples) words=""; value=1 ;;
        --store) return ;;
        --threads) words=""; value=1 ;;
        esac ;;
    "generate")
        options=" --input --n --length --depth --prompt --prompts --tokens --temperature --top-k --top-p --seed --store --json --quiet --threads --help"
        operands=""
        case $previous in
        -i|--input) words=""; value=1 ;;
        -n|--n) words=""; value=1 ;;
        -l|--length) words=""; value=1 ;;
        --depth) words=""; value=1 ;;
        -p|--prompt) words=""; value=1 ;;
        --prompts) return ;;
        --tokens) words=""; value=1 ;;
        --temperature) words=""; value=1 ;;
        --top-k) words=""; value=1 ;;
        --top-p) return ;;
        -s|--seed) words=""; value=1 ;;
        --store) return ;;
        --threads) words=""; value=1 ;;
        esac ;;
    "compare")
        options=" --task --encodings --seeds --seed --embedding-init --jobs --budget --setup --position-scale --logit-scale --steps --epochs --batch --dim --heads --kv-heads --attention --layers --feed-forward --dropout --norm --output --pool --pretrained --length --length-deviation --symbols --digits --sequence --order --depth --depth-deviation --arity --tree-paths --target --preset --expression-depth --arguments --shortest --longest --data --augment --train-samples --dev-samples --test-samples --greedy-samples --test-lengths --test-depths --rate --warmup --weight-decay --patience --clip --evaluate-every --checkpoint-seconds --data-seed --store --page --no-page --restart --json --quiet --threads --help"
        operands=""
        case $previous in
        -t|--task) words=" copy reverse repeat tree-copy tree-reorder tree-c3 tree-ops cifar10 addition substring-index substring-search text listops"; value=1 ;;
        -e|--encodings) words=" none sinusoidal learned chebyshev shiv-quirk relative rope roper alibi decay t5 kerple fire cope temperature scores algebraic mixed string liere"; value=1 ;;
        --seeds) words=""; value=1 ;;
        -s|--seed) words=""; value=1 ;;
        --embedding-init) words=" scaled unit both plain"; value=1 ;;
        -j|--jobs) words=""; value=1 ;;
        --budget) words=" smoke quick paper"; value=1 ;;
        --setup) words=" paper code"; value=1 ;;
        --position-scale) words=" none sqrt-dim"; value=1 ;;
        --logit-scale) words=" none inverse-sqrt-dim"; value=1 ;;
        --steps) words=""; value=1 ;;
        --epochs) words=""; value=1 ;;
        --batch) words=""; value=1 ;;
        --dim) words=""; value=1 ;;
        --heads) words=""; value=1 ;;
        --kv-heads) words=""; value=1 ;;
        --attention) words=" softmax linear soft clustered"; value=1 ;;
        --layers) words=""; value=1 ;;
        --feed-forward) words=""; value=1 ;;
        --dropout) return ;;
        --norm) words=" before after"; value=1 ;;
        --output) words=" own tied"; value=1 ;;
        --pool) words=" first mean"; value=1 ;;
        --pretrained) return ;;
        -l|--length) words=""; value=1 ;;
        --length-deviation) words=""; value=1 ;;
        --symbols) words=""; value=1 ;;
        --digits) words=""; value=1 ;;
        --sequence) words=""; value=1 ;;
        --order) words=" breadth depth"; value=1 ;;
        --depth) words=""; value=1 ;;
        --depth-deviation) words=""; value=1 ;;
        --arity) words=""; value=1 ;;
        --tree-paths) words=" own next code"; value=1 ;;
        --target) words=" digit parity"; value=1 ;;
        --preset) words=" seed lra"; value=1 ;;
        --expression-depth) words=""; value=1 ;;
        --arguments) words=""; value=1 ;;
        --shortest) words=""; value=1 ;;
        --longest) words=""; value=1 ;;
        --data) words=""; value=1 ;;
        --augment) words=" autoaugment none"; value=1 ;;
        --train-samples) words=""; value=1 ;;
        --dev-samples) words=""; value=1 ;;
        --test-samples) words=""; value=1 ;;
        --greedy-samples) words=""; value=1 ;;
        --test-lengths) words=""; value=1 ;;
        --test-depths) words=""; value=1 ;;
        --rate) words=""; value=1 ;;
        --warmup) words=""; value=1 ;;
        --weight-decay) words=""; value=1 ;;
        --patience) words=""; value=1 ;;
        --clip) words=""; value=1 ;;
        --evaluate-every) words=""; value=1 ;;
        --checkpoint-seconds) words=""; value=1 ;;
        --data-seed) words=""; value=1 ;;
        --store) return ;;
        --page) return ;;
        --threads) words=""; value=1 ;;
        esac ;;
    "reproduce")
        options=" --budget --setup --seeds --seed --decay --embedding-init --factors --tree-paths --drop-worst --more --columns --rows --jobs --data --pretrained --store --list --no-page --from --check --json --quiet --threads --help"
        operands=" table1 table2 table3 roper listops"
        case $previous in
        --budget) words=" smoke quick paper"; value=1 ;;
        --setup) words=" paper code"; value=1 ;;
        --seeds) words=""; value=1 ;;
        -s|--seed) words=""; value=1 ;;
        --decay) words=" on off both"; value=1 ;;
        --embedding-init) words=" scaled unit both"; value=1 ;;
        --tree-paths) words=" own next code"; value=1 ;;
        -c|--columns) words=""; value=1 ;;
        -r|--rows) words=""; value=1 ;;
        -j|--jobs) words=""; value=1 ;;
        --data) words=""; value=1 ;;
        --pretrained) return ;;
        --store) return ;;
        --from) return ;;
        --threads) words=""; value=1 ;;
        esac ;;
    "runs")
        options=" --task --encoding --output --store --json --quiet --help"
        operands=" show delete export import"
        case $previous in
        -t|--task) words=" copy reverse repeat tree-copy tree-reorder tree-c3 tree-ops cifar10 addition substring-index substring-search text listops"; value=1 ;;
        -e|--encoding) words=" none sinusoidal learned chebyshev shiv-quirk relative rope roper alibi decay t5 kerple fire cope temperature scores algebraic mixed string liere"; value=1 ;;
        -o|--output) return ;;
        --store) return ;;
        esac ;;
    "report")
        options=" --output --store --task --budget --setup --embedding-init --title --json --quiet --help"
        operands=""
        case $previous in
        -o|--output) return ;;
        --store) return ;;
        -t|--task) words=" copy reverse repeat tree-copy tree-reorder tree-c3 tree-ops cifar10 addition substring-index substring-search text listops"; value=1 ;;
        -b|--budget) words=""; value=1 ;;
        --setup) words=""; value=1 ;;
        --embedding-init) words=""; value=1 ;;
        --title) words=""; value=1 ;;
        esac ;;
    "plot group")
        options=" --from --to --output --help"
        operands=""
        case $previous in
        --from) words=""; value=1 ;;
        --to) words=""; value=1 ;;
        -o|--output) return ;;
        esac ;;
    "plot similarity")
        options=" --positions --origin --heads --head-dim --dim --output --params --seed --length --layer --threads --help"
        operands=" none sinusoidal learned chebyshev shiv-quirk relative rope roper alibi decay t5 kerple fire cope temperature scores algebraic mixed string liere"
        case $previous in
        -p|--positions) return ;;
        --origin) words=""; value=1 ;;
        -H|--heads) words=""; value=1 ;;
        --head-dim) words=""; value=1 ;;
        -d|--dim) words=""; value=1 ;;
        -o|--output) return ;;
        --params) return ;;
        --seed) words=""; value=1 ;;
        --length) words=""; value=1 ;;
        --layer) words=""; value=1 ;;
        --threads) words=""; value=1 ;;
        esac ;;
    "plot spectrum")
        options=" --heads --head-dim --dim --output --params --seed --length --layer --threads --help"
        operands=" none sinusoidal learned chebyshev shiv-quirk relative rope roper alibi decay t5 kerple fire cope temperature scores algebraic mixed string liere"
        case $previous in
        -H|--heads) words=""; value=1 ;;
        --head-dim) words=""; value=1 ;;
        -d|--dim) words=""; value=1 ;;
        -o|--output) return ;;
        --params) return ;;
        --seed) words=""; value=1 ;;
        --length) words=""; value=1 ;;
        --layer) words=""; value=1 ;;
        --threads) words=""; value=1 ;;
        esac ;;
    "plot frequencies")
        options=" --head-dim --output --params --seed --length --layer --threads --help"
        operands=" none sinusoidal learned chebyshev shiv-quirk relative rope roper alibi decay t5 kerple fire cope temperature scores algebraic mixed string liere"
        case $previous in
        --head-dim) words=""; value=1 ;;
        -o|--output) return ;;
        --params) return ;;
        --seed) words=""; value=1 ;;
        --length) words=""; value=1 ;;
        --layer) words=""; value=1 ;;
        --threads) words=""; value=1 ;;
        esac ;;
    "plot table")
        options=" --positions --dim --output --params --seed --length --layer --threads --help"
        operands=" none sinusoidal learned chebyshev shiv-quirk relative rope roper alibi decay t5 kerple fire cope temperature scores algebraic mixed string liere"
        case $previous in
        -p|--positions) return ;;
        -d|--dim) words=""; value=1 ;;
        -o|--output) return ;;
        --params) return ;;
        --seed) words=""; value=1 ;;
        --length) words=""; value=1 ;;
        --layer) words=""; value=1 ;;
        --threads) words=""; value=1 ;;
        esac ;;
    "bench")
        options=" --encodings --tokens --lengths --heads --head-dim --budget --repeat --json --threads --help"
        operands=" apply attention step"
        case $previous in
        -e|--encodings) words=" none sinusoidal learned chebyshev shiv-quirk relative rope roper alibi decay t5 kerple fire cope temperature scores algebraic mixed string liere"; value=1 ;;
        -n|--tokens) words=""; value=1 ;;
        -l|--lengths) words=""; value=1 ;;
        -H|--heads) words=""; value=1 ;;
        --head-dim) words=""; value=1 ;;
        -b|--budget) words=" smoke quick paper"; value=1 ;;
        -r|--repeat) words=""; value=1 ;;
        --threads) words=""; value=1 ;;
        esac ;;
    "completion")
        options=" --help"
        operands=" bash zsh man"
        case $previous in
        esac ;;
    esac
    if [ -z "$value" ]; then
        case $current in
        -*) words=$options ;;
        *) words="$words $operands" ;;
        esac
    fi
    COMPREPLY=($(compgen -W "$words" -- "$current"))
}

complete -o default -F _locus locus
