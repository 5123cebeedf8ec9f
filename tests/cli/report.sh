#!/bin/sh
# SPDX-License-Identifier: MIT
# locus report over real, tiny runs: the page and the JSON.
. "${LOCUS_SOURCE:?}/tests/cli/transcript.inc"

tiny='--steps 6 --dim 16 --heads 2 --feed-forward 32 --layers 1 --length 5 --batch 8 --train-samples 64 --dev-samples 16
    --test-samples 16 --greedy-samples 4 --evaluate-every 2 --test-lengths 10 --store runs/locus.db --quiet'
# shellcheck disable=SC2086
for encoding in sinusoidal 'algebraic(group=seq, decay=0.98)' 'relative(window=4)'; do
    for seed in 0 1; do
        works train --task copy --encoding "$encoding" --seed $seed $tiny
    done
done
# shellcheck disable=SC2086
{
    works train --task reverse --encoding rope $tiny
    works train --task reverse --encoding rope --kv-heads 1 --attention linear $tiny
}
works report --store runs/locus.db -o page.html
prints '^page.html$'
works report --store runs/locus.db --task reverse --json
prints 'over 20 symbols, attention linear, 1 key-value heads'
for text in '<title>Positional encodings on copy and reverse</title>' 'not separated' 'Figure 1' 'Table 2' 'length 10' \
    "locus report --store runs/locus.db -o page.html" 'budget custom' '<svg' 'cosine between two rows' 'The score kernel' \
    'The score is multiplied by 0.98 to the power of the distance'; do
    checks=$((checks + 1))
    grep -q -e "$text" page.html || complain "the page lacks '$text'"
done
# A table's kernel has no band around it, heads that differ have one.
checks=$((checks + 1))
awk '/<h4><code>/ { name = $0; gsub(/.*<code>|<\/code>.*/, "", name) }
    /class="band"/ && name != "" { band[name] = 1 }
    /<\/figure>/ { name = "" }
    END { for (n in band) print n }' page.html >bands
! grep -q -x sinusoidal bands && grep -q '^algebraic(' bands && grep -q -x 'relative(window=4)' bands ||
    complain "bands around kernels of: $(cat bands)"
checks=$((checks + 1))
! grep -q 'No picture' page.html || complain 'a score kernel could not be drawn'
checks=$((checks + 1))
! grep -q -i -e 'src=' -e 'https://' -e 'nan<' page.html || complain 'the page is not self-contained'
works report --store runs/locus.db --task copy --json
prints '"encoding":.*sinusoidal'
prints '"greedy_exact"'
[ ! -e runs/report.html ] || complain '--json wrote a page'
works report --store runs/locus.db --task copy -o copy.html --title 'A <title> & more' --quiet
grep -q '<h1>A &lt;title&gt; &amp; more</h1>' copy.html || complain 'the title is not escaped'
! grep -q 'reverse' copy.html || complain '--task copy shows another task'
# Trees: the two orders are two sections, with scores by depth and nodes, and angles of every branch.
trees='--steps 4 --dim 16 --heads 2 --feed-forward 32 --layers 1 --depth 3 --batch 8 --train-samples 64 --dev-samples 16
    --test-samples 16 --greedy-samples 4 --evaluate-every 2 --store runs/trees.db --quiet'
# shellcheck disable=SC2086
for order in breadth depth; do
    works train --task tree-copy --order $order --encoding 'algebraic(group=tree:2, decay=0.98)' $trees
done
works report --store runs/trees.db -o trees.html
for text in '<h2>tree-copy, breadth first' '<h2>tree-copy, depth first' 'Test accuracy by depth of the tree' \
    'Test accuracy by number of nodes' 'branch 2' 'peak memory' 'binary trees of depth N(3, 1), 20 symbols'; do
    checks=$((checks + 1))
    grep -q -F -e "$text" trees.html || complain "the page of trees lacks '$text'"
done
works report --store runs/trees.db --json
prints '"order":.*"depth"'
prints '"nodes":'
works runs --store runs/trees.db
prints 'peak memory'
# What is drawn of encodings that a training left as they were (its rate is next to nothing), to the last coordinate: score kernels and angles, as
# tests/golden/report_kernels.txt has them.
small='--steps 1 --rate 1e-12 --dim 16 --heads 2 --feed-forward 16 --layers 1 --batch 4 --train-samples 8 --dev-samples 4 --test-samples 4
    --greedy-samples 0 --evaluate-every 1 --store runs/kernels.db --quiet'
# shellcheck disable=SC2086
{
    for encoding in none alibi 'rope + decay(rate=0.9)' sinusoidal; do
        works train --task copy --length 5 --encoding "$encoding" $small
    done
    works train --task reverse --length 5 --encoding 'algebraic(group=cycle:30)' $small
    works train --task tree-copy --depth 2 --encoding 'algebraic(group=tree:2)' $small
    works train --task tree-copy --depth 2 --encoding 'rope / alibi' --layers 2 $small
    works train --task tree-copy --depth 2 --encoding 'algebraic(group=tree:3, heads=shared)' --arity 3 $small
}
works report --store runs/kernels.db -o kernels.html
awk '/^<figure data-save="charts">/ { open = 1; text = "" }
    open { text = text $0 "\n" }
    /<\/figure>/ { if (open && (text ~ /id="kernel/ || text ~ /id="angles/)) printf "%s", text; open = 0 }' kernels.html |
    sed -e 's/"range":\[[^]]*\]/"range":[]/g' -e 's/-\{0,1\}[0-9.]*e-[0-9]*/0/g' >report_kernels.txt # what is next to 0 has any digits
checks=$((checks + 1))
alike report_kernels.txt "$LOCUS_SOURCE/tests/golden/report_kernels.txt" || {
    cp report_kernels.txt "${LOCUS_BUILD:-/tmp}"
    complain "kernels and angles are drawn otherwise, all of them in ${LOCUS_BUILD:-/tmp}/report_kernels.txt, from where they can" \
        "take the kept file's place if they are right: $(diff report_kernels.txt "$LOCUS_SOURCE/tests/golden/report_kernels.txt" | head -n 10 | cut -c1-300)"
}
refuses 1 'no run matches' report --store runs/locus.db --task repeat -o no.html
refuses 1 'nowhere' report --store runs/locus.db -o nowhere/no.html
absent no.html
finish
