/* SPDX-License-Identifier: MIT */
/* Downloads through libcurl, which is loaded when there is one. The part that is missing is asked for with a Range
 * header of our own, not with libcurl's resume: that fails where a server answers with the whole file, and here it
 * then simply begins again.
 *
 * Signals are never used (the program asks for them between steps), so resolving takes libcurl's threads. */
#include "io/published/download.h"

#include "io/fail.h"
#include "io/published/late_library.h"
#define CURL_DISABLE_TYPECHECK /* its macros would check names, not pointers */
#include <curl/curl.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <locus/version.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MOST_BYTES ((curl_off_t)1 << 34)
#define SECONDS_TO_CONNECT 30L
#define SECONDS_OF_SILENCE 60L

#define FUNCTIONS(each) \
    each(curl_global_init) each(curl_global_cleanup) each(curl_easy_init) each(curl_easy_cleanup) \
        each(curl_easy_perform) each(curl_easy_strerror) each(curl_easy_setopt) each(curl_easy_getinfo)

static LAB_LATE_FUNCTIONS(FUNCTIONS) curl;

typedef struct transfer {
    CURL *handle;
    const char *url, *path;
    const lab_watch *watch;
    int descriptor;
    uint64_t had; /* bytes of the file that this transfer goes on from */
    int code;     /* errno of a write that failed */
    char reason[CURL_ERROR_SIZE];
} transfer;

/* ---- the file ---- */

/* Two processes must not write to one file: the second is told so. */
static locus_status lock(transfer *now, locus_error *error) {
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    if (fcntl(now->descriptor, F_SETLK, &whole) == 0 || (errno != EACCES && errno != EAGAIN))
        return LOCUS_OK; /* file systems without locks must do */
    return lab_fail_file(error, now->path, "is being downloaded by another process");
}

static locus_status open_file(transfer *now, locus_error *error) {
    struct stat facts;
    now->descriptor = open(now->path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    if (now->descriptor < 0 || fstat(now->descriptor, &facts) != 0 || lseek(now->descriptor, 0, SEEK_END) < 0)
        return lab_fail_system(error, "write", now->path, errno);
    now->had = (uint64_t)facts.st_size;
    return lock(now, error);
}

/* A whole file comes although a part was asked for: what is there gives way. */
static bool begin_again(transfer *now) {
    now->had = 0;
    return ftruncate(now->descriptor, 0) == 0 && lseek(now->descriptor, 0, SEEK_SET) == 0;
}

static bool write_all(transfer *now, const char *bytes, size_t count) {
    while (count > 0) {
        ssize_t written = write(now->descriptor, bytes, count);
        if (written < 0 && errno != EINTR)
            return false;
        bytes += written > 0 ? written : 0;
        count -= written > 0 ? (size_t)written : 0;
    }
    return true;
}

/* ---- what libcurl calls ---- */

static size_t take(char *bytes, size_t size, size_t count, void *context) {
    transfer *now = context;
    long answer = 0;
    curl.curl_easy_getinfo(now->handle, CURLINFO_RESPONSE_CODE, &answer);
    if ((answer == 200 && now->had > 0 && !begin_again(now)) || !write_all(now, bytes, size * count)) {
        now->code = errno;
        return 0;
    }
    return size * count;
}

static int look(void *context, curl_off_t total, curl_off_t done, curl_off_t up_total, curl_off_t up) {
    const transfer *now = context;
    (void)up_total;
    (void)up;
    uint64_t all = total > 0 ? now->had + (uint64_t)total : 0;
    return !lab_watch_tell(now->watch, "downloading", now->had + (uint64_t)done, all);
}

/* ---- the transfer ---- */

static CURLcode restrict_protocols(CURL *handle) {
#if LIBCURL_VERSION_NUM >= 0x075500
    CURLcode code = curl.curl_easy_setopt(handle, CURLOPT_PROTOCOLS_STR, "http,https,file");
    return code != CURLE_OK ? code : curl.curl_easy_setopt(handle, CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
#else
    CURLcode code =
        curl.curl_easy_setopt(handle, CURLOPT_PROTOCOLS, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS | CURLPROTO_FILE));
    return code != CURLE_OK
               ? code
               : curl.curl_easy_setopt(handle, CURLOPT_REDIR_PROTOCOLS, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
#endif
}

static CURLcode prepare(transfer *now) {
    char range[32];
    CURL *handle = now->handle;
    CURLcode code = restrict_protocols(handle);
    snprintf(range, sizeof range, "%" PRIu64 "-", now->had);
    curl.curl_easy_setopt(handle, CURLOPT_ERRORBUFFER, now->reason);
    curl.curl_easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);
    curl.curl_easy_setopt(handle, CURLOPT_FAILONERROR, 1L);
    curl.curl_easy_setopt(handle, CURLOPT_FOLLOWLOCATION, 1L);
    curl.curl_easy_setopt(handle, CURLOPT_MAXREDIRS, 10L);
    curl.curl_easy_setopt(handle, CURLOPT_CONNECTTIMEOUT, SECONDS_TO_CONNECT);
    curl.curl_easy_setopt(handle, CURLOPT_LOW_SPEED_LIMIT, 1L);
    curl.curl_easy_setopt(handle, CURLOPT_LOW_SPEED_TIME, SECONDS_OF_SILENCE);
    curl.curl_easy_setopt(handle, CURLOPT_MAXFILESIZE_LARGE, MOST_BYTES);
    curl.curl_easy_setopt(handle, CURLOPT_NOPROGRESS, 0L);
    curl.curl_easy_setopt(handle, CURLOPT_XFERINFOFUNCTION, look);
    curl.curl_easy_setopt(handle, CURLOPT_XFERINFODATA, now);
    curl.curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, take);
    curl.curl_easy_setopt(handle, CURLOPT_WRITEDATA, now);
    /* Those that copy a text can run out of memory. */
    code = code ? code : curl.curl_easy_setopt(handle, CURLOPT_USERAGENT, "locus/" LOCUS_VERSION_TEXT);
    code = code ? code : curl.curl_easy_setopt(handle, CURLOPT_URL, now->url);
    return code != CURLE_OK || now->had == 0 ? code : curl.curl_easy_setopt(handle, CURLOPT_RANGE, range);
}

/* Nothing lies behind what is there: it is whole, or longer than what the server has now. */
static bool nothing_left(const transfer *now, CURLcode code, long answer) {
    return now->had > 0 && ((code == CURLE_HTTP_RETURNED_ERROR && answer == 416) || code == CURLE_BAD_DOWNLOAD_RESUME ||
                            code == CURLE_RANGE_ERROR);
}

static locus_status fail_transfer(transfer *now, CURLcode code, long answer, locus_error *error) {
    if (code == CURLE_ABORTED_BY_CALLBACK)
        return lab_fail(error, LOCUS_ERROR_INTERRUPTED, NULL, "stopped; '%s' keeps what has come", now->path);
    if (code == CURLE_OUT_OF_MEMORY)
        return lab_fail_memory(error, "a download");
    if (code == CURLE_WRITE_ERROR && now->code != 0)
        return lab_fail_system(error, "write", now->path, now->code);
    if (code == CURLE_HTTP_RETURNED_ERROR)
        return lab_fail(error, LOCUS_ERROR_IO, "url", "cannot download %s: the server answers %ld", now->url, answer);
    return lab_fail(error, LOCUS_ERROR_IO, "url", "cannot download %s: %s", now->url,
                    now->reason[0] ? now->reason : curl.curl_easy_strerror(code));
}

static locus_status perform(transfer *now, locus_error *error) {
    long answer = 0;
    CURLcode code = prepare(now);
    if (code == CURLE_OK) {
        code = curl.curl_easy_perform(now->handle);
        curl.curl_easy_getinfo(now->handle, CURLINFO_RESPONSE_CODE, &answer);
    }
    if (code != CURLE_OK && !nothing_left(now, code, answer))
        return fail_transfer(now, code, answer, error);
    return fsync(now->descriptor) == 0 || errno == EINVAL ? LOCUS_OK
                                                          : lab_fail_system(error, "write", now->path, errno);
}

locus_status lab_download(const char *url, const char *path, const lab_watch *watch, locus_error *error) {
    transfer now = {.url = url, .path = path, .watch = watch, .descriptor = -1};
    locus_status status = LAB_LATE_LOAD(LAB_CURL_FILE, FUNCTIONS, &curl, error);
    if (status != LOCUS_OK)
        return status;
    if (curl.curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
        return lab_fail_memory(error, "a download");
    now.handle = curl.curl_easy_init();
    status = now.handle != NULL ? open_file(&now, error) : lab_fail_memory(error, "a download");
    if (status == LOCUS_OK)
        status = perform(&now, error);
    if (now.descriptor >= 0)
        close(now.descriptor);
    curl.curl_easy_cleanup(now.handle);
    curl.curl_global_cleanup();
    return status;
}
