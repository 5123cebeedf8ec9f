/* SPDX-License-Identifier: MIT */
/* Names of options as in PyTorch's examples, transformers, nanoGPT and fairseq; of two of ours for one of theirs the
 * first that a command has is named. */
#include "foreign_options.h"

const cli_foreign_option cli_foreign_options[] = {
    {"rate", "lr learning-rate max-lr peak-lr"},
    {"batch", "batch-size bs train-batch-size per-device-train-batch-size"},
    {"steps", "max-steps num-steps max-iters iterations n-steps"},
    {"epochs", "num-epochs num-train-epochs max-epochs n-epochs"},
    {"warmup", "warmup-steps warmup-ratio"},
    {"weight-decay", "wd decay l2"},
    {"clip", "grad-clip max-grad-norm gradient-clip-val clip-norm"},
    {"dim", "d-model hidden-size n-embd embed-dim embedding-dim model-dim hidden-dim"},
    {"heads", "n-head n-heads num-heads num-attention-heads"},
    {"kv-heads", "num-key-value-heads n-kv-heads num-kv-heads"},
    {"head-dim", "d-head head-size"},
    {"layers", "n-layer n-layers num-layers num-hidden-layers"},
    {"feed-forward", "ffn-dim d-ff intermediate-size mlp-dim dim-feedforward"},
    {"sequence", "block-size seq-len seq-length context-length max-seq-len max-length"},
    {"length", "seq-len context-length max-seq-len max-length"},
    {"seed", "random-seed manual-seed"},
    {"evaluate-every", "eval-interval eval-steps eval-every"},
    {"patience", "early-stopping early-stopping-patience"},
    {"encoding", "pos-encoding position-embedding-type positional-encoding pe"},
    {"data", "data-dir dataset data-path"},
    {"output", "out out-dir output-dir output-file save"},
    {"name", "run-name"},
    {"restart", "overwrite"},
    {"threads", "num-workers num-threads"},
    {"jobs", "n-jobs workers"},
    {"tokens", "max-new-tokens max-tokens"},
    {"n", "num-samples"},
    {"temperature", "temp"},
    {"vocabulary", "vocab-size"},
    {"store", "db database"},
    {"dropout", "attn-dropout dropout-rate p-dropout"},
};
const size_t cli_foreign_option_count = sizeof cli_foreign_options / sizeof *cli_foreign_options;
