/* SPDX-License-Identifier: MIT */
/* The rotary settings of a configuration's file (config.json of a Hugging Face checkpoint), read by rope/. */
#ifndef LAB_ROPE_FILE_H
#define LAB_ROPE_FILE_H

#include "rope/rope_config.h"

/* As lab_rope_read. IO, with one line that names the file and the field, for what it refuses and for what is not JSON.
 * lab_rope_config_free() in either case. */
locus_status lab_rope_file_read(lab_rope_config *config, const char *path, locus_error *error);

#endif
