/* SPDX-License-Identifier: MIT */
#ifndef CLI_PICTURE_PROGRESS_H
#define CLI_PICTURE_PROGRESS_H

/* Shows how many pictures of one's own are decoded, on a terminal, and stops where the user asks for it. */
void cli_picture_progress(void);

#endif
