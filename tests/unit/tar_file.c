/* SPDX-License-Identifier: MIT */
/* See tar_file.h. */
#include "io/file.h"
#include <archive.h>
#include <archive_entry.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "unit/tar_file.h"

static void write_member(struct archive *writer, const tar_member *member) {
    struct archive_entry *entry = archive_entry_new();
    size_t length = strlen(member->name);
    bool folder = length > 0 && member->name[length - 1] == '/';
    assert_non_null(entry);
    archive_entry_set_pathname(entry, member->name);
    archive_entry_set_filetype(entry, folder ? AE_IFDIR : member->link ? AE_IFLNK : AE_IFREG);
    archive_entry_set_perm(entry, 0644);
    if (member->link)
        archive_entry_set_symlink(entry, member->link);
    else
        archive_entry_set_size(entry, (la_int64_t)member->bytes);
    assert_int_equal(archive_write_header(writer, entry), ARCHIVE_OK);
    if (!folder && !member->link)
        assert_int_equal(archive_write_data(writer, member->data, member->bytes), member->bytes);
    archive_entry_free(entry);
}

void tar_write(const char *path, tar_filter filter, const tar_member *members, size_t count) {
    lab_output output;
    struct archive *writer = archive_write_new();
    assert_non_null(writer);
    assert_int_equal(lab_output_open(&output, path, NULL), LOCUS_OK);
    if (filter == TAR_GZIP)
        assert_int_equal(archive_write_add_filter_gzip(writer), ARCHIVE_OK);
    if (filter == TAR_XZ)
        assert_int_equal(archive_write_add_filter_xz(writer), ARCHIVE_OK);
    assert_int_equal(archive_write_set_format_pax_restricted(writer), ARCHIVE_OK);
    assert_int_equal(archive_write_open_FILE(writer, output.stream), ARCHIVE_OK);
    for (size_t i = 0; i < count; i++)
        write_member(writer, &members[i]);
    assert_int_equal(archive_write_close(writer), ARCHIVE_OK);
    archive_write_free(writer);
    assert_int_equal(lab_output_commit(&output, NULL), LOCUS_OK);
}
