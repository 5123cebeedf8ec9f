/* SPDX-License-Identifier: MIT */
/* See fuzz_trial.h. */
#include "fuzz_trial.h"

#include "fuzz.h"
#include "fuzz_allocator.h"

#include <string.h>

static void check_refusal(const drawn_world *world, bool starved) {
    fuzz_check_line(world->refusal);
    if (!starved)
        FUZZ_REQUIRE_SAYING(world->status != LOCUS_OK, world->refusal);
}

void fuzz_trial(const uint8_t *data, size_t size,
                void (*run)(drawn_world *world, chooser *choices, const trial_hostility *hostility, trial *result)) {
    static const drawn_limits limits = {.longest = 40, .threads = true};
    fuzz_allocator_use();
    const trial_hostility hostility = {.allocations = fuzz_allocator_count()};
    chooser choices = chooser_of_bytes(data, size);
    drawn_world world;
    trial result;
    const bool starved = choose_chance(&choices, 20);
    if (starved)
        fuzz_allocator_arm(choose(&choices, 200));
    const bool made = drawn_world_make(&world, &choices, &limits);
    const bool failed = starved && fuzz_allocator_disarm();
    if (made) {
        run(&world, &choices, &hostility, &result);
        char text[1400];
        drawn_world_text(&world, text, sizeof text);
        if (result.state == TRIAL_FAILED)
            fprintf(stderr, "%s: %s\n", text, result.message);
        FUZZ_REQUIRE_SAYING(result.state != TRIAL_FAILED, result.message);
    } else {
        check_refusal(&world, failed);
    }
    drawn_world_free(&world);
}
