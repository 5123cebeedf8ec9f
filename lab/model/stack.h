/* SPDX-License-Identifier: MIT */
/* A stack of sublayers over packed tokens: what encoder and decoder are made of. Internal to lab/model.
 *
 *   join 0: embedding dropout (and a norm, if norms stand before)
 *   sublayer s reads y_s of join s; its branch enters join s + 1
 *
 *            ┌─ y_0 → sublayer 0 ─┐      ┌─ y_1 → sublayer 1 ─┐
 *   embed → join 0 ────────────→ join 1 ────────────────────→ join 2 …  y_S: what the stack gives
 *
 * Between two attentions everything works on tokens alone: output projection, join, feed-forward block, join, next
 * projection. Such a segment is one parallel loop over chunks of tokens, each chunk running through the whole chain
 * while it is in the cache; forward and backward alike. Weight gradients follow each backward segment as one parallel
 * loop over tiles.
 *
 * Stochastic depth (stack_depth.c): a sublayer that leaves samples out works on rows of its own, those of the samples
 * that it has, one after the other; what is left out is never computed. The join is where both meet: it adds the packed
 * branch to the stream where there is one, and writes y to the rows of the sublayer that reads it.
 *
 *   stream       | s0 | s1 | s2 | s3 | s4 |        sum, carry (norms after the blocks: y as well, and y_s is a copy)
 *   sublayer s   | s0 | s2 | s3 |                  y_s, projected, context, branch, and their gradients */
#ifndef LAB_STACK_H
#define LAB_STACK_H

#include "model/lending.h"
#include "nn/activation.h"
#include "nn/join.h"
#include "nn/linear.h"
#include <locus/locus.h>

typedef enum lab_sublayer_kind { LAB_SELF_ATTENTION, LAB_CROSS_ATTENTION, LAB_FEED_FORWARD } lab_sublayer_kind;

/* T tokens of the stack, N of the memory (the encoder's), D dim, F feed-forward, H heads, K the numbers of a token's
 * key-value heads (D, if they are not shared). */
typedef struct lab_sublayer {
    lab_sublayer_kind kind;
    size_t encoding;                       /* attention: index of the layer's encoding */
    const locus_attention_kind *attention; /* attention; NULL: softmax */
    lab_linear project;  /* self: query, key, value [D + 2K, D]; cross: query [D, D]; feed-forward: up [F, D] */
    lab_linear memory;   /* cross: key, value [2K, D] */
    lab_linear output;   /* attention: [D, D]; feed-forward: down [D, F]; its bias is added by the join */
    lab_dropout dropout; /* feed-forward: of the hidden activation */
    locus_random attention_key;
    const size_t *before;  /* [samples + 1]: how many of its samples come before each; NULL: it has all */
    float branch_scale;    /* of what it gives; 0: as it is */
    locus_plan *plan;      /* self-attention: of its own samples; NULL: that of its encoding's place */
    bool half;             /* `projected` to `context`, and their gradients, are bfloat16 */
    lab_numbers projected; /* [T, D + 2K], [T, D] or [T, F] */
    lab_numbers hidden;    /* feed-forward: [T, F], what the activation gives; `projected`, if it works in place */
    lab_numbers memory_projected; /* cross: [N, 2K] */
    lab_numbers memory_gradient;  /* cross: [N, 2K] */
    lab_numbers context;          /* attention: [T, D] */
    float *log_sum_exp;           /* attention: [T, H] */
} lab_sublayer;

typedef struct lab_stream_join {
    lab_norm norm;
    lab_dropout dropout;
    float *sum, *y, *mean, *inverse; /* [T, D], [T, D], [T], [T]; y is sum where there is no norm */
    float *packed; /* [T, D]: y of the samples that the next sublayer has, where y is the stream; else NULL */
} lab_stream_join;

/* Called at the end of the last segment, forward, or the start of the first, backward, for each chunk: a loss,
 * projections of the memory; NULL: nothing is done there. `partial` is the chunk's own row of sums. */
typedef void lab_stack_end(void *context, lab_rows rows, size_t chunk, float *partial);

typedef struct lab_stack {
    size_t dim, feed_forward, heads, kv_heads, kv_dim, sublayer_count;
    size_t layer_sublayers; /* of a layer: 2, or 3 with a cross-attention */
    bool gelu;              /* the feed-forward block's activation; else ReLU */
    bool stream_is_y;       /* norms stand after the blocks */
    bool leaves_out;        /* training has stochastic depth */
    locus_mask mask;        /* of the self-attention */
    lab_sublayer *sublayers;
    lab_stream_join *joins; /* [sublayer_count + 1] */
    size_t tokens, memory_tokens;
    size_t sample_tokens; /* of every sample, where chunks end with samples; 0: they don't look at samples */
    size_t *before;       /* [sublayer_count][samples + 1]: room for what sublayers leave out; NULL: nothing */

    /* backward: two branch gradients, since a segment can hold a feed-forward block and an attention's output */
    float *gy, *carry, *branch[2]; /* [T, D] */
    void *hidden;                  /* [T, F]; these are of the type of the sublayer's own */
    void *projected, *context;     /* [T, D + 2K], [T, D] */
    float *partials;               /* [chunks, partial_width] */
    size_t partial_width;          /* end_width + what a segment needs */
    size_t end_width;              /* of the end's own sums */
} lab_stack;

/* Columns of partial sums that a segment needs beside the end's. */
size_t lab_stack_partial_width(const lab_stack *stack);

/* A plan and the positions that it was made for (keys NULL: the queries'). */
typedef struct lab_place {
    locus_plan *plan;
    locus_positions *queries, *keys;
} lab_place;

/* What the layers of one encoding have, from one batch to the next. */
typedef struct lab_stack_position {
    lab_place self, cross;
    const locus_tensor *parameter_gradients; /* of the encoding */
    size_t parameter_count;
} lab_stack_position;

/* An attention that has just been computed, forward. */
typedef struct lab_attention_call {
    const lab_stack *stack;
    const lab_sublayer *sublayer;
    const locus_plan *plan;
    const locus_attention_options *options;
    const locus_attention_tensors *tensors;
} lab_attention_call;

/* Who looks at each of them. */
typedef struct lab_attention_watch {
    locus_status (*see)(void *context, const lab_attention_call *call, locus_error *error);
    void *context;
} lab_attention_watch;

/* One execution: plans for both attentions, workspace for either pass. */
typedef struct lab_stack_run {
    lab_stack *stack;
    const lab_stack_position *places; /* by lab_sublayer.encoding; NULL if `kept` is given */
    bool training;                    /* a backward follows, which reads what attentions summed */
    double attention_dropout;
    locus_dropout attention_dropout_on;
    const lab_attention_watch *watch; /* NULL: nobody looks */
    lab_lending *lending;             /* takes the activations that the backward is done with; NULL: they stay */
    lab_room later;                   /* gradients before the stack's own that are written after its backward */
    locus_workspace workspace;
    lab_stack_end *end;
    void *end_context;
    /* decoding: keys and values of each self-attention stand in caches [cache_tokens, 2K]; new tokens go to rows
     * `cache_rows` */
    const lab_numbers *caches; /* by sublayer, of its type; NULL: no cache */
    size_t cache_tokens;
    const size_t *cache_rows; /* [tokens] */
    /* or in the library's, by sublayer; and the memory's of the cross-attentions, as they are for all steps */
    locus_cache *const *kept;
    const locus_positions *kept_positions; /* of the new tokens */
} lab_stack_run;

/* The plan that adds vectors to tokens: only the first encoding may. */
static inline const locus_plan *lab_run_token_plan(const lab_stack_run *run) {
    return run->places[0].self.plan;
}

/* stack_rows.c: chunks of the stream; the samples of a chunk (where the stack looks at samples). */
size_t lab_stack_chunks(const lab_stack *stack);
lab_rows lab_stack_chunk(const lab_stack *stack, size_t chunk);
lab_rows lab_stack_samples(const lab_stack *stack, size_t chunk);
/* Rows that a sublayer works on; those of a chunk among them. */
size_t lab_sublayer_tokens(const lab_stack *stack, const lab_sublayer *sublayer);
lab_rows lab_sublayer_chunk(const lab_stack *stack, const lab_sublayer *sublayer, size_t chunk);

/* The rows of one sample at join j: in the stream, of the branch that arrives there and of y. */
typedef struct lab_sample_rows {
    size_t stream, branch, y;
    bool has_branch, has_y;
} lab_sample_rows;
lab_sample_rows lab_join_sample(const lab_stack *stack, size_t j, size_t sample);
/* What a sublayer reads. */
lab_numbers lab_sublayer_input(const lab_stack *stack, const lab_sublayer *sublayer);
/* Whether a sublayer on either side of join j leaves samples out. */
bool lab_join_thinned(const lab_stack *stack, size_t j);

/* stack_depth.c: layer l leaves out each of its two branches, for each sample by itself, with probability
 * min(rate · l, 1), sublayer s drawn at purpose 4 s after the key's; rate 0: nothing is left out. Branches that stay
 * are divided by their probability, if `rescaled`. */
typedef struct lab_depth {
    double rate;
    bool rescaled;
    locus_random key;
} lab_depth;
void lab_depth_draw(lab_stack *stack, const lab_depth *depth);

/* The embedded tokens stand in joins[0].sum. */
locus_status lab_stack_forward(const lab_stack_run *run, locus_error *error);

/* The end writes dL/dy of the last join to stack->gy. The gradient with respect to the embedded tokens is left in
 * branch[0]. */
locus_status lab_stack_backward(const lab_stack_run *run, locus_error *error);

/* Gradients that a backward writes when it is done with what stands behind that sublayer's input. */
lab_room lab_stack_gradients_before(const lab_stack *stack, size_t sublayer);

/* Bytes of workspace for the stack's attentions. */
size_t lab_stack_workspace(const lab_stack_run *run, bool backward);

/* Index of the first attention at or after sublayer `from`; sublayer_count if there is none. */
size_t lab_stack_next_attention(const lab_stack *stack, size_t from);

/* Linear and soft attention have no weights that could be dropped. */
static inline double lab_attention_dropout(const locus_attention_kind *kind, double probability) {
    return locus_attention_kind_entry(kind)->abilities & LOCUS_ATTENTION_DROPS_WEIGHTS ? probability : 0.0;
}

/* Clustered attention drops weights of centroids, whatever is asked for. */
static inline locus_dropout lab_attention_dropout_on(const locus_attention_kind *kind, locus_dropout asked) {
    return locus_attention_kind_entry(kind)->abilities & LOCUS_ATTENTION_DROPS_LOGITS ? asked : LOCUS_DROPOUT_WEIGHTS;
}

/* Attention of one sublayer over all tokens (attend.c). The backward reads dL/d(context) in stack->context and writes
 * dL/d(projected) to stack->projected, dL/d(memory_projected) to the sublayer's memory_gradient. */
locus_status lab_attend_forward(const lab_stack_run *run, const lab_sublayer *sublayer, locus_error *error);
locus_status lab_attend_backward(const lab_stack_run *run, const lab_sublayer *sublayer, locus_error *error);

#endif
