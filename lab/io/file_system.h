/* SPDX-License-Identifier: MIT */
/* What kind of file system a path lies on. */
#ifndef LAB_FILE_SYSTEM_H
#define LAB_FILE_SYSTEM_H

/* The name of the file system that several hosts share ("NFS", "Lustre", "GPFS", "SMB") and that `path` lies on, or the
 * nearest of its folders that is there. NULL: it is none of these, or the system does not say. */
const char *lab_file_system_shared(const char *path);

#endif
