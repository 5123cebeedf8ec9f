/* SPDX-License-Identifier: MIT */
/* All architectures. They stand above, in lab/architectures: this table alone names upward. */
#include "model/architecture.h"

#define LISTED(name) &lab_##name,
static const lab_architecture *const architectures[] = {LAB_ARCHITECTURES(LISTED)};

const lab_architecture *lab_architecture_at(size_t index) {
    return index < sizeof architectures / sizeof *architectures ? architectures[index] : NULL;
}

const lab_architecture *lab_architecture_for(const struct lab_dataset *set) {
    size_t i = 0;
    while (lab_architecture_at(i) != NULL && !lab_architecture_at(i)->holds(set))
        i++;
    return lab_architecture_at(i);
}
