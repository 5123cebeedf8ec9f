/* SPDX-License-Identifier: MIT */
/* The tasks of RoPER: addition, substring-index, substring-search (problem.h says how they are written).
 *
 * What the paper leaves open is drawn like this:
 *   addition          of each number the count of its digits, uniform in 1 … digits, then the number itself, uniform
 *                     among those of so many digits that don't begin with 0; of `same_digits` all have the most
 *   substring-index   a string of ⌊N(length, deviation)⌋ letters, at least 1: 13 as in both printed examples; the
 *                     index uniform in 0 … its length − 1
 *   substring-search  random strings and substrings of `length` letters, 16 as in the authors' public experiment; a
 *                     substring begins anywhere in what stands before it, without '>', that leaves room for it
 *
 * A sequence is problems laid end to end with nothing between, from the first character on, and cut at its length.
 * There is a stream of random numbers for each (seed, set, i), used one after another: problem i of a set is the one
 * that its sequence i begins with, a longer sequence begins with the shorter one, and nothing depends on how many are
 * drawn, or on threads. Problem i of substring-search is its whole sequence i, without prompt. */
#include "task/problem.h"

#include "io/fail.h"

#include <locus/random.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_TOKENS ((size_t)1 << 31)
#define MOST_SEQUENCE 1000000
#define MOST_NORMAL 8.6 /* no standard normal of locus_random is farther from 0 */

/* The numbers of one sample, one after another. */
typedef struct stream {
    locus_random random;
    uint64_t next;
} stream;

static uint64_t below(stream *numbers, uint64_t bound) {
    return locus_random_below(&numbers->random, numbers->next++, bound);
}

/* Sets have fewer than 2³² samples; endless ones go on where the counter has room. */
static stream open_stream(uint64_t seed, lab_set which, uint64_t index) {
    return (stream){{seed, LAB_PURPOSE_DATA + (uint32_t)which, (uint32_t)index}, index >> 32 << 32};
}

/* ---- single problems ---- */

typedef void draw_problem(lab_problem *problem, stream *numbers, const lab_problem_options *options);

static uint64_t draw_number(stream *numbers, const lab_problem_options *options) {
    uint64_t least = 1;
    for (uint64_t more = options->same_digits ? options->digits - 1 : below(numbers, options->digits); more > 0; more--)
        least *= 10;
    return least + below(numbers, 9 * least);
}

static void draw_addition(lab_problem *problem, stream *numbers, const lab_problem_options *options) {
    uint64_t first = draw_number(numbers, options);
    lab_problem_addition(problem, first, draw_number(numbers, options));
}

static void draw_index(lab_problem *problem, stream *numbers, const lab_problem_options *options) {
    char string[LAB_PROBLEM_MOST_STRING + 1];
    double drawn = floor(options->length_mean +
                         options->length_deviation * locus_random_normal(&numbers->random, numbers->next++));
    size_t length = drawn < 1.0 ? 1 : drawn > LAB_PROBLEM_MOST_STRING ? LAB_PROBLEM_MOST_STRING : (size_t)drawn;
    for (size_t i = 0; i < length; i++)
        string[i] = (char)('a' + (int)below(numbers, options->symbols));
    string[length] = '\0';
    lab_problem_index(problem, string, (size_t)below(numbers, length));
}

/* ---- sequences ---- */

/* What a sequence is made from; read-only once it is there. */
typedef struct source {
    lab_problem_options options;
    uint64_t seed;
    lab_set which;
    draw_problem *draw;     /* NULL: substring-search */
    int32_t tokens[1 << 7]; /* of ASCII's characters */
} source;

static void tokenise(const source *from, const char *text, size_t count, int32_t *tokens) {
    for (size_t i = 0; i < count; i++)
        tokens[i] = from->tokens[(unsigned char)text[i] & 0x7F];
}

static size_t read_problems(const lab_sequences *sequences, uint64_t index, int32_t *tokens) {
    const source *from = sequences->source;
    stream numbers = open_stream(from->seed, from->which, index);
    lab_problem problem;
    for (size_t filled = 0, count; filled < sequences->length; filled += count) {
        from->draw(&problem, &numbers, &from->options);
        count = sequences->length - filled;
        count = problem.length < count ? problem.length : count;
        tokenise(from, problem.text, count, tokens + filled);
    }
    return sequences->length;
}

/* Rounds of a random string, '>', a substring. Letter p of all letters stands at p + the number of '>' before it:
 *
 *   place  0 … L−1   L   L+1 … 2L   2L+1 … 3L   3L+1 …
 *   letter 0 … L−1   >   L … 2L−1   2L … 3L−1   >    …
 *
 * Token 0 is '>', a letter's is 1 + its number in the alphabet. */
static size_t letter_place(size_t letter, size_t piece) {
    return letter + (letter + piece) / (2 * piece);
}

static size_t read_search(const lab_sequences *sequences, uint64_t index, int32_t *tokens) {
    const source *from = sequences->source;
    const size_t piece = (size_t)from->options.length_mean, round = 2 * piece + 1;
    stream numbers = open_stream(from->seed, from->which, index);
    size_t begins = 0; /* the substring: number of its first letter */
    for (size_t place = 0; place < sequences->length; place++) {
        size_t within = place % round, rounds = place / round;
        if (within < piece) {
            tokens[place] = 1 + (int32_t)below(&numbers, from->options.symbols);
        } else if (within == piece) {
            tokens[place] = 0;
            begins = (size_t)below(&numbers, 2 * piece * rounds + 1);
        } else {
            tokens[place] = tokens[letter_place(begins + within - piece - 1, piece)];
        }
    }
    return sequences->length;
}

/* ---- options ---- */

typedef locus_status check_options(const lab_draw *draw, locus_error *error);

static locus_status check_sequence(const lab_problem_options *of, locus_error *error) {
    if (of->sequence >= 2 && of->sequence <= MOST_SEQUENCE)
        return LOCUS_OK;
    return lab_fail(error, LOCUS_ERROR_ARGUMENT, "sequence", "sequences of %zu characters: give 2 to %d", of->sequence,
                    MOST_SEQUENCE);
}

static locus_status check_letters(const lab_draw *draw, locus_error *error) {
    const lab_problem_options *of = LAB_PROBLEMS(draw->options);
    if (of->symbols >= 1 && of->symbols <= LAB_PROBLEM_LETTERS)
        return check_sequence(of, error);
    return lab_fail(error, LOCUS_ERROR_ARGUMENT, "symbols", "%zu letters: %s takes 1 to %d", of->symbols,
                    draw->task->name, LAB_PROBLEM_LETTERS);
}

static locus_status check_addition(const lab_draw *draw, locus_error *error) {
    const lab_problem_options *of = LAB_PROBLEMS(draw->options);
    if (of->digits >= 1 && of->digits <= LAB_PROBLEM_MOST_DIGITS)
        return check_sequence(of, error);
    return lab_fail(error, LOCUS_ERROR_ARGUMENT, "digits", "numbers of %zu digits: give 1 to %d", of->digits,
                    LAB_PROBLEM_MOST_DIGITS);
}

static locus_status check_index(const lab_draw *draw, locus_error *error) {
    const lab_problem_options *of = LAB_PROBLEMS(draw->options);
    const double mean = of->length_mean, deviation = of->length_deviation;
    if (!(mean >= 1.0 && mean <= LAB_PROBLEM_MOST_STRING)) {
        return lab_fail(error, LOCUS_ERROR_ARGUMENT, "length", "strings of %g letters: give a mean of 1 to %d", mean,
                        LAB_PROBLEM_MOST_STRING);
    }
    if (!(deviation >= 0.0 && deviation <= mean && mean + MOST_NORMAL * deviation <= LAB_PROBLEM_MOST_STRING)) {
        return lab_fail(
            error, LOCUS_ERROR_ARGUMENT, "length-deviation",
            "the deviation of lengths %g is not between 0 and the mean %g, or leads to strings of more than "
            "%d letters",
            deviation, mean, LAB_PROBLEM_MOST_STRING);
    }
    return check_letters(draw, error);
}

static locus_status check_search(const lab_draw *draw, locus_error *error) {
    const lab_problem_options *of = LAB_PROBLEMS(draw->options);
    const double length = of->length_mean, deviation = of->length_deviation;
    if (!(length >= 1.0 && length <= MOST_SEQUENCE && floor(length) == length)) {
        return lab_fail(error, LOCUS_ERROR_ARGUMENT, "length",
                        "random strings and substrings of %g letters: give a whole number from 1 to %d", length,
                        MOST_SEQUENCE);
    }
    if (deviation != 0.0) {
        return lab_fail(error, LOCUS_ERROR_ARGUMENT, "length-deviation",
                        "a deviation of lengths %g: those of %s are all the same", deviation, draw->task->name);
    }
    return check_letters(draw, error);
}

/* ---- sets ---- */

static void fill_source(source *from, const lab_draw *draw, draw_problem *draws) {
    *from = (source){.options = *LAB_PROBLEMS(draw->options), .seed = draw->seed, .which = draw->which, .draw = draws};
    for (size_t t = 0; draw->task->characters[t] != '\0'; t++)
        from->tokens[(unsigned char)draw->task->characters[t] & 0x7F] = (int32_t)t;
}

static void release_source(lab_sequences *sequences) {
    free(sequences->source);
}

static locus_status open_source(lab_dataset *set, const lab_draw *draw, check_options *check, draw_problem *draws,
                                locus_error *error) {
    const locus_status status = check(draw, error);
    source *from = status == LOCUS_OK ? malloc(sizeof *from) : NULL;
    if (from == NULL)
        return status != LOCUS_OK ? status : lab_fail_memory(error, "sequences");
    fill_source(from, draw, draws);
    set->samples = draw->samples;
    set->sequences = (lab_sequences){.count = draw->samples > 0 ? draw->samples : UINT64_MAX,
                                     .length = LAB_PROBLEMS(draw->options)->sequence,
                                     .read = draws != NULL ? read_problems : read_search,
                                     .release = release_source,
                                     .source = from};
    return LOCUS_OK;
}

static locus_status allocate_offsets(lab_dataset *set, const lab_draw *draw, locus_error *error) {
    set->samples = draw->samples;
    set->input_offsets = calloc(set->samples + 1, sizeof *set->input_offsets);
    set->target_offsets = calloc(set->samples + 1, sizeof *set->target_offsets);
    return set->input_offsets == NULL || set->target_offsets == NULL
               ? lab_fail_memory(error, "the offsets of a data set")
               : LOCUS_OK;
}

static locus_status allocate_tokens(lab_dataset *set, locus_error *error) {
    size_t inputs = set->input_offsets[set->samples], targets = set->target_offsets[set->samples];
    if (inputs > MOST_TOKENS || targets > MOST_TOKENS) {
        return lab_fail(error, LOCUS_ERROR_ARGUMENT, "n", "the set has more than %zu characters: give fewer samples",
                        MOST_TOKENS);
    }
    set->input = malloc((inputs + 1) * sizeof *set->input);
    set->target = malloc((targets + 1) * sizeof *set->target);
    return set->input == NULL || set->target == NULL ? lab_fail_memory(error, "the tokens of a data set") : LOCUS_OK;
}

static void draw_sample(lab_problem *problem, const source *from, size_t sample) {
    stream numbers = open_stream(from->seed, from->which, sample);
    from->draw(problem, &numbers, &from->options);
}

/* Every problem is drawn twice: lengths first, so that the buffers are allocated at their size. */
static locus_status generate_problems(lab_dataset *set, const lab_draw *draw, check_options *check, draw_problem *draws,
                                      locus_error *error) {
    source from;
    lab_problem problem;
    fill_source(&from, draw, draws);
    locus_status status = check(draw, error);
    if (status == LOCUS_OK)
        status = allocate_offsets(set, draw, error);
    if (status != LOCUS_OK)
        return status;
    for (size_t i = 0; i < set->samples; i++) {
        draw_sample(&problem, &from, i);
        set->input_offsets[i + 1] = set->input_offsets[i] + problem.prompt;
        set->target_offsets[i + 1] = set->target_offsets[i] + problem.length - problem.prompt;
    }
    status = allocate_tokens(set, error);
    for (size_t i = 0; status == LOCUS_OK && i < set->samples; i++) {
        draw_sample(&problem, &from, i);
        tokenise(&from, problem.text, problem.prompt, set->input + set->input_offsets[i]);
        tokenise(&from, problem.text + problem.prompt, problem.length - problem.prompt,
                 set->target + set->target_offsets[i]);
    }
    return status;
}

locus_status lab_problem_generate_addition(lab_dataset *set, const lab_draw *draw, locus_error *error) {
    return generate_problems(set, draw, check_addition, draw_addition, error);
}

locus_status lab_problem_generate_index(lab_dataset *set, const lab_draw *draw, locus_error *error) {
    return generate_problems(set, draw, check_index, draw_index, error);
}

locus_status lab_problem_generate_search(lab_dataset *set, const lab_draw *draw, locus_error *error) {
    source from;
    fill_source(&from, draw, NULL);
    const lab_sequences sequences = {.length = LAB_PROBLEMS(draw->options)->sequence, .source = &from};
    locus_status status = check_search(draw, error);
    status = status == LOCUS_OK ? allocate_offsets(set, draw, error) : status;
    if (status != LOCUS_OK)
        return status;
    for (size_t i = 0; i < set->samples; i++)
        set->target_offsets[i + 1] = (i + 1) * sequences.length;
    status = allocate_tokens(set, error);
    for (size_t i = 0; status == LOCUS_OK && i < set->samples; i++)
        read_search(&sequences, i, set->target + set->target_offsets[i]);
    return status;
}

locus_status lab_problem_open_addition(lab_dataset *set, const lab_draw *draw, locus_error *error) {
    return open_source(set, draw, check_addition, draw_addition, error);
}

locus_status lab_problem_open_index(lab_dataset *set, const lab_draw *draw, locus_error *error) {
    return open_source(set, draw, check_index, draw_index, error);
}

locus_status lab_problem_open_search(lab_dataset *set, const lab_draw *draw, locus_error *error) {
    return open_source(set, draw, check_search, NULL, error);
}
