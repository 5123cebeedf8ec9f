/* SPDX-License-Identifier: MIT */
/* What token files look like that were just made: tokens, bytes and bytes per token of each set. */
#ifndef LAB_TEXT_PORTRAIT_H
#define LAB_TEXT_PORTRAIT_H

#include "samples/portrait.h"
#include "text/text_folder.h"

void lab_portray_token_files(lab_portrait *portrait, const char *folder, const lab_text_facts *facts);

#endif
