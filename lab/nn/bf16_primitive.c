/* SPDX-License-Identifier: MIT */
/* A product of one shape is an object of oneDNN, a primitive, with code generated for the shape. Primitives are kept in
 * sets of eight, by a hash of the shape; in a full set the one that was not used for longest makes room. A primitive
 * may run in several threads at once, each with a scratchpad of its own; while it runs it is not removed.
 *
 * Descriptors of memory are values in oneDNN 2 and objects in oneDNN 3: only the functions below `oneDNN 2 and 3` know
 * it. */
#include "nn/bf16_primitive.h"
#include "nn/bf16.h"
#include "nn/gemm.h"
#include "nn/thread_scratch.h"
#include <dnnl.h>
#include <pthread.h>

enum { SETS = 64, WAYS = 8 };

/* ---- oneDNN 2 and 3 ---- */

#if DNNL_VERSION_MAJOR >= 3
typedef dnnl_memory_desc_t description;
typedef const_dnnl_memory_desc_t described;

static dnnl_status_t describe(description *made, const dnnl_dims_t sizes, dnnl_data_type_t type,
                              dnnl_format_tag_t layout) {
    return dnnl_memory_desc_create_with_tag(made, 2, sizes, type, layout);
}

static void description_destroy(description *made) {
    if (*made)
        (void)dnnl_memory_desc_destroy(*made);
}

static described of(const description *made) {
    return *made;
}

static dnnl_status_t describe_product(dnnl_primitive_desc_t *made, dnnl_engine_t engine, const description *each,
                                      dnnl_primitive_attr_t how) {
    return dnnl_matmul_primitive_desc_create(made, engine, each[0], each[1], NULL, each[2], how);
}
#else
typedef dnnl_memory_desc_t description;
typedef const dnnl_memory_desc_t *described;

static dnnl_status_t describe(description *made, const dnnl_dims_t sizes, dnnl_data_type_t type,
                              dnnl_format_tag_t layout) {
    return dnnl_memory_desc_init_by_tag(made, 2, sizes, type, layout);
}

static void description_destroy(description *made) {
    (void)made;
}

static described of(const description *made) {
    return made;
}

static dnnl_status_t describe_product(dnnl_primitive_desc_t *made, dnnl_engine_t engine, const description *each,
                                      dnnl_primitive_attr_t how) {
    dnnl_matmul_desc_t product;
    const dnnl_status_t status = dnnl_matmul_desc_init(&product, &each[0], &each[1], NULL, &each[2]);
    return status == dnnl_success ? dnnl_primitive_desc_create(made, &product, how, engine, NULL) : status;
}
#endif

static bool describe_matrix(description *made, size_t rows, size_t columns, dnnl_data_type_t type,
                            dnnl_format_tag_t layout) {
    const dnnl_dims_t sizes = {(dnnl_dim_t)rows, (dnnl_dim_t)columns};
    return describe(made, sizes, type, layout) == dnnl_success;
}

/* ---- a primitive ---- */

enum { LEFT, RIGHT, RESULT, TENSORS };

typedef struct primitive {
    lab_bf16_shape shape;
    dnnl_primitive_t made; /* NULL: the place is free */
    description each[TENSORS];
    size_t scratch;         /* bytes */
    size_t running;         /* threads that execute it now */
    unsigned long long use; /* when it was last asked for */
} primitive;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static primitive kept[SETS][WAYS];
static unsigned long long uses;
static dnnl_engine_t engine;

static void primitive_destroy(primitive *own) {
    if (own->made)
        (void)dnnl_primitive_destroy(own->made);
    for (size_t i = 0; i < TENSORS; ++i)
        description_destroy(&own->each[i]);
    *own = (primitive){0};
}

static dnnl_status_t attributes(dnnl_primitive_attr_t *how) {
    const dnnl_status_t status = dnnl_primitive_attr_create(how);
    return status == dnnl_success ? dnnl_primitive_attr_set_scratchpad_mode(*how, dnnl_scratchpad_mode_user) : status;
}

static dnnl_status_t primitive_build(primitive *own, dnnl_primitive_attr_t how) {
    dnnl_primitive_desc_t plan = NULL;
    dnnl_status_t status = describe_product(&plan, engine, own->each, how);
    if (status == dnnl_success)
        status = dnnl_primitive_create(&own->made, plan);
    if (status == dnnl_success)
        own->scratch = dnnl_memory_desc_get_size(dnnl_primitive_desc_query_md(plan, dnnl_query_scratchpad_md, 0));
    if (plan)
        (void)dnnl_primitive_desc_destroy(plan);
    return status;
}

static bool primitive_make(primitive *own, const lab_bf16_shape *s) {
    dnnl_primitive_attr_t how = NULL;
    *own = (primitive){.shape = *s};
    const bool good = describe_matrix(&own->each[LEFT], s->rows, s->depth, dnnl_bf16, dnnl_ab) &&
                      describe_matrix(&own->each[RIGHT], s->depth, s->columns, dnnl_bf16, dnnl_BA16a64b2a) &&
                      describe_matrix(&own->each[RESULT], s->rows, s->columns, dnnl_f32, dnnl_ab) &&
                      attributes(&how) == dnnl_success && primitive_build(own, how) == dnnl_success;
    if (how)
        (void)dnnl_primitive_attr_destroy(how);
    if (!good)
        primitive_destroy(own);
    return good;
}

/* ---- those that are kept ---- */

static bool alike(const lab_bf16_shape *a, const lab_bf16_shape *b) {
    return a->rows == b->rows && a->columns == b->columns && a->depth == b->depth;
}

static size_t set_of(const lab_bf16_shape *s) {
    const size_t numbers[] = {s->rows, s->columns, s->depth};
    uint64_t hash = 0;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; ++i)
        hash = (hash ^ numbers[i]) * 0x9E3779B97F4A7C15u;
    return (size_t)(hash >> 32) % SETS;
}

/* The shape's own place, or the one that it gets: the longest unused. NULL: all of them are running. */
static primitive *place_of(const lab_bf16_shape *shape) {
    primitive *set = kept[set_of(shape)], *oldest = NULL;
    for (size_t i = 0; i < WAYS; ++i) {
        if (set[i].made && alike(&set[i].shape, shape))
            return &set[i];
        if (set[i].running == 0 && (oldest == NULL || set[i].use < oldest->use))
            oldest = &set[i];
    }
    return oldest;
}

/* Made while the others wait, so that no two threads make the same. `spare`: where it goes if there is no place. */
static primitive *primitive_take(const lab_bf16_shape *shape, primitive *spare) {
    (void)pthread_mutex_lock(&lock);
    bool good = engine || dnnl_engine_create(&engine, dnnl_cpu, 0) == dnnl_success;
    primitive *own = place_of(shape);
    own = own ? own : spare;
    if (good && !(own->made && alike(&own->shape, shape))) {
        primitive_destroy(own);
        good = primitive_make(own, shape);
    }
    if (good) {
        own->use = ++uses;
        own->running++;
    }
    (void)pthread_mutex_unlock(&lock);
    return good ? own : NULL;
}

static void primitive_give_back(primitive *own, primitive *spare) {
    (void)pthread_mutex_lock(&lock);
    own->running--;
    if (own == spare)
        primitive_destroy(own);
    (void)pthread_mutex_unlock(&lock);
}

/* ---- execution ---- */

static bool scratchpad_make(dnnl_memory_t *memory, const primitive *own, void *scratch) {
    description bytes;
    if (!describe_matrix(&bytes, 1, own->scratch, dnnl_u8, dnnl_ab))
        return false;
    const bool good = dnnl_memory_create(memory, of(&bytes), engine, scratch) == dnnl_success;
    description_destroy(&bytes);
    return good;
}

/* oneDNN takes operands as memory that it may write: it doesn't. */
static bool execute(const primitive *own, const uint16_t *left, const uint16_t *right, float *result) {
    dnnl_stream_t stream = NULL;
    void *const scratch = lab_thread_scratch(LAB_SCRATCH_PRIMITIVE, own->scratch);
    void *const data[] = {[LEFT] = (void *)(uintptr_t)left, [RIGHT] = (void *)(uintptr_t)right, [RESULT] = result};
    dnnl_exec_arg_t arguments[] = {
        {DNNL_ARG_SRC, NULL}, {DNNL_ARG_WEIGHTS, NULL}, {DNNL_ARG_DST, NULL}, {DNNL_ARG_SCRATCHPAD, NULL}};
    const int count = own->scratch > 0 ? TENSORS + 1 : TENSORS;
    bool good = own->scratch == 0 || (scratch && scratchpad_make(&arguments[TENSORS].memory, own, scratch));
    for (size_t i = 0; i < TENSORS && good; ++i)
        good = dnnl_memory_create(&arguments[i].memory, of(&own->each[i]), engine, data[i]) == dnnl_success;
    good = good && dnnl_stream_create(&stream, engine, dnnl_stream_default_flags) == dnnl_success;
    good = good && dnnl_primitive_execute(own->made, stream, count, arguments) == dnnl_success;
    good = good && dnnl_stream_wait(stream) == dnnl_success;
    if (stream)
        (void)dnnl_stream_destroy(stream);
    for (size_t i = 0; i <= TENSORS; ++i)
        if (arguments[i].memory)
            (void)dnnl_memory_destroy(arguments[i].memory);
    return good;
}

bool lab_bf16_primitive_run(const lab_bf16_shape *shape, const uint16_t *left, const uint16_t *right, float *result) {
    primitive spare = {0};
    lab_products_alone();
    primitive *own = primitive_take(shape, &spare);
    if (own == NULL)
        return false;
    const bool good = execute(own, left, right, result);
    primitive_give_back(own, &spare);
    return good;
}

bool lab_bf16_has_units(void) {
    return (dnnl_get_effective_cpu_isa() & dnnl_cpu_isa_avx512_core_bf16) == dnnl_cpu_isa_avx512_core_bf16;
}
