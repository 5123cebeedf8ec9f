/* SPDX-License-Identifier: MIT */
/* Downloads (http, https, file) that go on where an earlier one was cut. */
#ifndef LAB_DOWNLOAD_H
#define LAB_DOWNLOAD_H

#include "io/watch.h"
#include <locus/status.h>

/* Brings what is at `url` to the file `path`, behind the bytes that are there already; where the server does not serve
 * parts, from the beginning. Whether the bytes of two downloads fit together is for the caller to check: by a sum.
 * After a failure the file keeps what has come. IO where there is no network, no such host or file, or nothing comes
 * for a minute (the argument is "url"), the disk is full, or another process writes to the file; INTERRUPTED if the
 * watch says so. */
locus_status lab_download(const char *url, const char *path, const lab_watch *watch, locus_error *error);

#endif
