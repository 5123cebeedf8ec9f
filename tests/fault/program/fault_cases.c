/* SPDX-License-Identifier: MIT */
/* What is tried: commands with the folders they start in, small enough for a run to take milliseconds. `data get` is
 * not among them: it ends well only with the published data. */
#include "faults.h"

/* Arrays whose bytes are letters: small numbers, all of them finite. */
#define ARRAYS \
    "npy() { text=\"{'descr': '<f4', 'fortran_order': False, 'shape': $2, }\"\n" \
    "while [ ${#text} -lt 117 ]; do text=\"$text \"; done\n" \
    "{ printf '\\223NUMPY\\001\\000\\166\\000%s\\n' \"$text\"\n" \
    "awk -v n=\"$3\" 'BEGIN { for (i = 0; i < n; i++) printf \"%c%c%c%c\", 65 + i % 23, 65 + i % 19, 97 + i % 17, 62 " \
    "}'; } >\"$1\"; }\n"

#define TEXT \
    "awk 'BEGIN { for (i = 0; i < 300; i++) printf \"the %d of a %s;\\n\", i * i % 97, i % 3 ? \"cat\" : \"dog\" }' " \
    ">plain.txt\n"

#define IMAGES \
    "record() { printf \"\\\\$(printf %03o \"$1\")\"; head -c 3072 /dev/zero | tr '\\0' \"$2\"; }\n" \
    "mkdir data; for i in 1 2 3 4 5; do { record 0 A; record 1 P; record 2 c; record 3 n; } >data/data_batch_$i.bin;" \
    " done\n{ record 0 B; record 1 Q; record 2 d; record 3 m; } >data/test_batch.bin\n"

/* Data of one's own: labelled texts, pairs of texts, pictures of a colour; and an encoder to be fine-tuned. */
#define LABELLED \
    "awk 'BEGIN { for (i = 0; i < 60; i++) { n = i * i % 7; printf \"w%d v%d u\\t%s\\n\", n, i % 5, " \
    "(n > 2 ? \"up\" : \"down\") } }' >all.tsv\n"
#define PAIRS \
    "awk 'BEGIN { for (i = 0; i < 60; i++) printf \"{\\\"input_text\\\": \\\"a%dé\\\", \\\"target_text\\\": " \
    "\\\"%db\\\"}\\n\", i, i % 7 }' >all.jsonl\n"
#define PICTURES \
    "for class in red green; do mkdir -p all/$class; for i in 0 1 2 3 4 5 6 7 8 9; do\n" \
    "awk -v r=$class -v i=$i 'BEGIN { print \"P3 6 5 255\"; for (p = 0; p < 30; p++) print (r == \"red\") * 200 + i, " \
    "9 * i, p }' >all/$class/$i.ppm; done; done\n"
#define ENCODER \
    "mkdir encoder && cp \"$LOCUS_SOURCE\"/tests/golden/bert_plain.safetensors encoder/model.safetensors && cp " \
    "\"$LOCUS_SOURCE\"/tests/golden/bert_plain.json encoder/config.json && printf '%s\\n' '[PAD]' '[UNK]' '[CLS]' " \
    "'[SEP]' '[MASK]' 0 1 2 3 4 5 6 7 8 9 '[' ']' '(' ')' min max med sm >encoder/vocab.txt\n"

#define SIZES \
    "--dim", "16", "--heads", "2", "--layers", "1", "--feed-forward", "16", "--threads", "1", "--checkpoint-seconds", \
        "0", "--quiet"
#define SHORT_WORDS \
    "--length", "5", "--symbols", "6", "--train-samples", "60", "--dev-samples", "10", "--test-samples", "10", \
        "--greedy-samples", "4", "--batch", "10", "--steps", "24", "--evaluate-every", "8"
#define DECODER_SIZES \
    "--dev-samples", "4", "--test-samples", "4", "--batch", "4", "--steps", "24", "--evaluate-every", "8"

#define ONE_RUN ONE_RUN_WITH("")
#define TWO_RUNS RUN("two", "--seed 1 ") ONE_RUN
#define ONE_RUN_WITH(more) RUN("one", more)
#define RUN(name, more) \
    "$LOCUS train " more \
    "--task copy --encoding rope --dim 16 --heads 2 --layers 1 --feed-forward 16 --threads 1 --length 5 " \
    "--symbols 6 --train-samples 60 --dev-samples 10 --test-samples 10 --greedy-samples 4 --batch 10 --steps 24 " \
    "--evaluate-every 8 --name " name " --quiet\n"

#define ONE_RUN_OF(task) \
    "$LOCUS train --task " task \
    " --encoding rope --dim 16 --heads 2 --layers 1 --feed-forward 16 --threads 1 --batch 4 --name one --quiet\n"

#define CASE_ENCODE \
    { \
        .name = "encode", .words = { \
            "encode", \
            "algebraic(group=seq)", \
            "--heads", \
            "2", \
            "--head-dim", \
            "4", \
            "--positions", \
            "-2:3", \
            "--operators", \
            "-o", \
            "w.npy", \
            "--threads", \
            "1" \
        } \
    }
#define CASE_IMPORT \
    { \
        .name = "import-rope", .prepare = "cp \"$LOCUS_SOURCE\"/tests/cli/configs/gemma3-4b.json config.json", \
        .words = {"import-rope", "config.json"}, .in_short = true \
    }
#define CASE_DATA \
    { \
        .name = "data make", .words = { \
            "data", \
            "make", \
            "tree-ops", \
            "-n", \
            "20", \
            "--depth", \
            "3", \
            "-o", \
            "ops.jsonl", \
            "--quiet" \
        } \
    }
#define TRAIN(case_name, its_library) \
    { \
        .name = (case_name), .library = (its_library), \
        .words = {"train", "--task",    "copy",   "--encoding", "algebraic(group=seq, decay=0.98)", \
                  SIZES,   SHORT_WORDS, "--name", "one"}, \
        .trains = true, .in_short = true \
    }
#define CASE_TRAIN TRAIN("train", NULL)
#define CASE_CONTINUE \
    { \
        .name = "train --continue", .prepare = ONE_RUN_WITH("--keep-optimizer --schedule constant "), \
        .words = {"train", "--continue",           "one", "--steps",   "8", "--name", \
                  "two",   "--checkpoint-seconds", "0",   "--threads", "1", "--quiet"}, \
        .trains = true \
    }
#define CASE_BEGIN_FROM \
    { \
        .name = "train --init-from", .prepare = ONE_RUN, \
        .words = {"train",     "--task",      "reverse", "--encoding", "rope", SIZES, \
                  SHORT_WORDS, "--init-from", "one",     "--name",     "two"}, \
        .trains = true \
    }
#define SMALL_EXPRESSIONS \
    "--arguments", "2", "--expression-depth", "3", "--shortest", "3", "--longest", "7", "--train-samples", "24"
#define CASE_FINE_TUNE \
    { \
        .name = "train --pretrained", .prepare = ENCODER, \
        .words = \
            {"train",           "--task",    "listops", "--encoding",           "rope", "--pretrained", "encoder", \
             SMALL_EXPRESSIONS, "--threads", "1",       "--checkpoint-seconds", "0",    "--quiet",      DECODER_SIZES, \
             "--name",          "one"}, \
        .trains = true \
    }
#define OWN_SIZES "--batch", "4", "--steps", "24", "--evaluate-every", "8"
#define CASE_CLASSIFY \
    { \
        .name = "labelled sequences", .prepare = LABELLED, \
        .words = {"train", "--task", "classify", "--data", "all.tsv", "--encoding", \
                  "rope",  SIZES,    OWN_SIZES,  "--name", "one"}, \
        .trains = true \
    }
#define CASE_PAIRS \
    { \
        .name = "pairs", \
        .prepare = PAIRS, .words = {"train",    "--task",           "pairs",      "--data", "all.jsonl", \
                                    "--tokens", "characters",       "--encoding", "rope",   SIZES, \
                                    OWN_SIZES,  "--greedy-samples", "2",          "--name", "one"}, \
        .trains = true \
    }
#define CASE_PICTURES \
    { \
        .name = "pictures", .prepare = PICTURES, \
        .words = {"train",        "--task", "images",  "--data", "all",      "--side", "5",      "--encoding", \
                  "rope(axes=2)", SIZES,    "--batch", "4",      "--epochs", "4",      "--name", "one"}, \
        .trains = true \
    }
#define CASE_COMPARE \
    { \
        .name = "compare", .words = {"compare", "--task", "copy", "--encodings", "rope,none", \
                                     "--jobs",  "2",      SIZES,  SHORT_WORDS,   "--no-page"}, \
        .trains = true, .jobs = true, .in_short = true \
    }
#define CASE_TEXT \
    { \
        .name = "data make text", .prepare = TEXT, .words = { \
            "data", \
            "make", \
            "text", \
            "--train-text", \
            "plain.txt", \
            "-o", \
            "made", \
            "--quiet" \
        } \
    }
/* The table's one training takes seconds. It is done before, so that what fails is the table's own: the store, the
 * Markdown file, the page. Only kills meet the training too. */
#define PART_WORDS \
    "reproduce", "roper", "--columns", "text", "--rows", "rope", "--budget", "smoke", "--seeds", "1", "--threads", \
        "1", "--quiet"
#define PREPARE_PART TEXT "$LOCUS data make text --train-text plain.txt -o data/text --quiet\n"
#define CASE_REPRODUCE \
    { \
        .name = "reproduce", \
        .prepare = \
            PREPARE_PART "$LOCUS reproduce roper --columns text --rows rope --budget smoke --seeds 1 --threads 1 " \
                         "--no-page --quiet", \
        .words = {PART_WORDS}, .trains = true, .jobs = true \
    }
#define CASE_EXPORT \
    { \
        .name = "runs export", .prepare = ONE_RUN, .words = {"runs", "export", "-o", "one.json", "--quiet"}, \
        .in_short = true \
    }
#define CASE_TAKE_IN \
    { \
        .name = "runs import", \
        .prepare = ONE_RUN "$LOCUS runs export -o one.json --quiet && $LOCUS runs delete one --quiet", \
        .words = {"runs", "import", "one.json", "--quiet"}, .in_short = true \
    }
/* What fails is the attached store, too, and the copy of the checkpoint. */
#define CASE_MERGE \
    { \
        .name = "runs import store", .prepare = ONE_RUN "cp -R runs part && $LOCUS runs delete one --quiet", \
        .words = {"runs", "import", "part/locus.db", "--checkpoints", "--quiet"}, .in_short = true \
    }
/* Rows alone, into a store without runs: it is filled without its log. */
#define CASE_FILL \
    { \
        .name = "runs import rows", .prepare = ONE_RUN "cp -R runs part && $LOCUS runs delete one --quiet", \
        .words = {"runs", "import", "part/locus.db", "--quiet"}, .in_short = true \
    }
/* A finished run takes the place of an unfinished one, which has a checkpoint to go on from. */
#define CASE_REPLACE(case_name, ...) \
    { \
        .name = (case_name), \
        .prepare = ONE_RUN_WITH("--keep-optimizer ") "cp -R runs part && mv runs/one/state.safetensors " \
                                                     "runs/one/last.safetensors && " UNFINISH, \
        .words = {"runs", "import", "part/locus.db", "--quiet", __VA_ARGS__}, .in_short = true \
    }
#define UNFINISH \
    "\"${LOCUS_PYTHON:-python3}\" -c 'import sqlite3; s = sqlite3.connect(\"runs/locus.db\"); " \
    "s.executescript(\"UPDATE run SET state = 2, steps_done = 8; DELETE FROM final; DELETE FROM evaluation WHERE " \
    "step > 8\")'\n"
#define CASE_REPORT \
    { .name = "report", .prepare = ONE_RUN, .words = {"report", "-o", "page.html", "--quiet"}, .in_short = true }

/* The folder goes with the name, and comes back if the store cannot be written. */
#define CASE_RENAME \
    { .name = "runs rename", .prepare = ONE_RUN, .words = {"runs", "rename", "one", "two"}, .in_short = true }
#define CASE_DELETE \
    { .name = "runs delete", .prepare = ONE_RUN, .words = {"runs", "delete", "one"}, .in_short = true }
#define CASE_AGAIN \
    { \
        .name = "runs import again", .prepare = ONE_RUN "$LOCUS runs export -o one.json --quiet", .words = { \
            "runs", \
            "import", \
            "one.json" \
        } \
    }
#define CASE_CURVES \
    { \
        .name = "plot curves", .prepare = TWO_RUNS, .words = { "plot", "curves", "one", "two", "-o", "curves.svg" } \
    }

const fault_case fault_allocation_cases[] = {
    {.name = "encodings", .words = {"encodings"}},
    {.name = "path", .words = {"path", "seq*tree:2", "(3,1+2)", "(4,1)", "--json"}},
    CASE_ENCODE,
    {.name = "apply",
     .prepare = ARRAYS "npy x.npy '(3, 2, 4)' 24",
     .words = {"apply", "rope", "-i", "x.npy", "--positions", "0:3", "-o", "y.npy", "--threads", "1"}},
    {.name = "attend",
     .prepare = ARRAYS "for i in q k v; do npy $i.npy '(3, 2, 4)' 24; done",
     .words = {"attend", "rope + alibi", "--query", "q.npy", "--key", "k.npy", "--value", "v.npy", "--positions", "0:3",
               "--mask", "causal", "-o", "o.npy", "--threads", "1"}},
    {.name = "attend with a bias",
     .prepare = ARRAYS "for i in q k v; do npy $i.npy '(3, 2, 4)' 24; done; npy b.npy '(2, 3, 3)' 18",
     .words = {"attend",        "rope",        "--query",    "q.npy",  "--key",     "k.npy",     "--value",
               "v.npy",         "--positions", "0:3",        "--bias", "b.npy",     "--weights", "w.npy",
               "--grad-output", "q.npy",       "--grad-dir", "grads",  "--threads", "1"}},
    {.name = "check",
     .words = {"check", "algebraic(group=tree:2)", "--heads", "1", "--head-dim", "4", "--threads", "1"}},
    CASE_IMPORT,
    {.name = "fold",
     .prepare = ARRAYS "for i in q k; do npy $i.npy '(8, 8)' 64; done",
     .words = {"fold", "rope", "--heads", "2", "--head-dim", "4", "--pairs", "half", "--query", "q.npy", "--key",
               "k.npy", "-o", "half/"}},
    CASE_DATA,
    CASE_TEXT,
    {.name = "data make listops",
     .words = {"data", "make", "listops", "--expression-depth", "3", "--shortest", "2", "--longest", "20", "-n", "5",
               "-o", "set.tsv", "--quiet"}},
    {.name = "data inspect", .words = {"data", "inspect", "addition", "-n", "20", "--sequence", "40", "--digits", "2"}},
    {.name = "data inspect trees", .words = {"data", "inspect", "tree-ops", "-n", "20", "--depth", "3", "--json"}},
    {.name = "data make cifar10",
     .prepare = IMAGES,
     .words = {"data", "make", "cifar10", "--data", "data", "--image", "1", "-o", "picture.png", "--quiet"}},
    {.name = "plot group", .words = {"plot", "group", "tree:2", "-o", "group.png"}},
    {.name = "runs list", .prepare = ONE_RUN, .words = {"runs"}},
    {.name = "runs show", .prepare = ONE_RUN, .words = {"runs", "show", "one"}},
    {.name = "runs show json", .prepare = ONE_RUN, .words = {"runs", "show", "one", "--json"}},
    CASE_EXPORT,
    CASE_TAKE_IN,
    CASE_MERGE,
    CASE_FILL,
    /* Found there already, whole, and held against what the file says. */
    CASE_AGAIN,
    {.name = "runs diff", .prepare = TWO_RUNS, .words = {"runs", "diff", "one", "two"}},
    {.name = "runs export csv",
     .prepare = ONE_RUN,
     .words = {"runs", "export", "--format", "csv", "-o", "one.csv", "--quiet"}},
    {.name = "runs export tensorboard",
     .prepare = ONE_RUN,
     .words = {"runs", "export", "--format", "tensorboard", "-o", "events", "--quiet"}},
    CASE_RENAME,
    CASE_DELETE,
    {.name = "runs note", .prepare = ONE_RUN, .words = {"runs", "note", "one", "a word"}},
    {.name = "eval", .prepare = ONE_RUN, .words = {"eval", "one", "--threads", "1"}},
    {.name = "eval pictures",
     .prepare = IMAGES ONE_RUN_OF("cifar10 --data data --train-samples 20 --test-samples 4 --epochs 1"),
     .words = {"eval", "one", "--data", "data", "--threads", "1"}},
    {.name = "eval of a picture",
     .prepare = IMAGES ONE_RUN_OF(
         "cifar10 --data data --train-samples 20 --test-samples 4 --epochs 1") "$LOCUS data make cifar10 --data data "
                                                                               "--image 1 -o picture.png --quiet\n",
     .words = {"eval", "one", "picture.png", "--threads", "1"}},
    {.name = "plot attention",
     .prepare = ONE_RUN,
     .words = {"plot", "attention", "one", "--input", "1 2 3", "-o", "weights.svg"}},
    CASE_CURVES,
    {.name = "generate", .prepare = ONE_RUN, .words = {"generate", "one", "--input", "1 2 3", "--threads", "1"}},
    CASE_TRAIN,
    CASE_CONTINUE,
    CASE_BEGIN_FROM,
    CASE_FINE_TUNE,
    CASE_CLASSIFY,
    CASE_PAIRS,
    CASE_PICTURES,
    TRAIN("train: libdnnl", "libdnnl"),     /* products that are not computed */
    TRAIN("train: libstdc++", "libstdc++"), /* `new` in oneDNN */
    CASE_REPORT,
    CASE_COMPARE,
    CASE_REPRODUCE,
    {.name = NULL},
};

const fault_case fault_call_cases[] = {
    CASE_ENCODE,   CASE_IMPORT,     CASE_DATA,      CASE_TEXT,     CASE_TRAIN,  CASE_EXPORT,   CASE_TAKE_IN,
    CASE_MERGE,    CASE_FILL,       CASE_AGAIN,     CASE_CURVES,   CASE_REPORT, CASE_COMPARE,  CASE_REPRODUCE,
    CASE_CONTINUE, CASE_BEGIN_FROM, CASE_FINE_TUNE, CASE_CLASSIFY, CASE_PAIRS,  CASE_PICTURES, {.name = NULL},
};

const fault_case fault_kill_cases[] = {
    CASE_TRAIN,
    CASE_TEXT,
    {.name = "trees",
     .words = {"train", "--task", "tree-ops", "--encoding", "algebraic(group=tree:2)", SIZES, "--depth", "2",
               "--train-samples", "40", "--greedy-samples", "2", DECODER_SIZES, "--name", "one"},
     .trains = true},
    {.name = "images",
     .prepare = IMAGES,
     .words = {"train", "--task", "cifar10", "--encoding", "rope(axes=2)", SIZES, "--train-samples", "20",
               "--test-samples", "4", "--batch", "4", "--epochs", "4", "--data", "data", "--name", "one"},
     .trains = true},
    {.name = "problems",
     .words = {"train", "--task", "addition", "--encoding", "rope", SIZES, "--sequence", "40", "--digits", "2",
               "--greedy-samples", "2", DECODER_SIZES, "--name", "one"},
     .trains = true},
    {.name = "text",
     .prepare = TEXT "$LOCUS data make text --train-text plain.txt -o data/text --quiet",
     .words = {"train", "--task", "text", "--encoding", "rope", SIZES, "--sequence", "24", DECODER_SIZES, "--name",
               "one"},
     .trains = true},
    {.name = "expressions",
     .words = {"train", "--task", "listops", "--encoding", "rope", SIZES, "--expression-depth", "3", "--shortest", "2",
               "--longest", "20", "--train-samples", "40", DECODER_SIZES, "--name", "one"},
     .trains = true},
    CASE_CLASSIFY,
    CASE_PAIRS,
    CASE_PICTURES,
    CASE_CONTINUE,
    CASE_BEGIN_FROM,
    CASE_FINE_TUNE,
    CASE_EXPORT,
    CASE_TAKE_IN,
    CASE_MERGE,
    CASE_FILL,
    CASE_REPLACE("runs import over", NULL),
    CASE_REPLACE("runs import over all", "--checkpoints"),
    CASE_COMPARE,
    CASE_REPRODUCE,
    {.name = "reproduce whole", .prepare = PREPARE_PART, .words = {PART_WORDS}, .trains = true, .jobs = true},
    {.name = NULL},
};
