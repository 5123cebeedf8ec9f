/* SPDX-License-Identifier: MIT */
/* System calls that fail when they are asked to. A filter of seccomp stops the child at every call of the table
 * below, whoever makes it (stdio and SQLite inside their libraries too), and this process says what becomes of it: it
 * goes on, it returns an error without having been done, it is done by half, or it is the last thing the child did.
 * Calls that write to standard error are left alone: what is told there is what is judged. Of programs that locus
 * starts (rsvg-convert, spm_train) those that write, and those that read the picture that locus wrote, may fail and the
 * others are left alone: what they cannot read of fonts and settings they tell nobody, and draw something else. */
#include "faults.h"

#include <errno.h>
#include <limits.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#if defined(__x86_64__)
#define FAULT_ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define FAULT_ARCHITECTURE AUDIT_ARCH_AARCH64
#else
#define FAULT_ARCHITECTURE 0
#endif

enum { SHORT = -1, CODES = 6 }; /* SHORT: half of the bytes go through */

typedef struct call {
    const char *name;
    int number;
    int codes[CODES]; /* ends with 0 */
    bool removes;
} call;

static const call calls[] = {
    {"openat", SYS_openat, {EMFILE, EIO, ENOSPC, EINTR, EACCES}, false},
    {"read", SYS_read, {EIO, EINTR, SHORT}, false},
    {"pread64", SYS_pread64, {EIO, EINTR, SHORT}, false},
    {"write", SYS_write, {ENOSPC, EIO, EINTR, SHORT}, false},
    {"writev", SYS_writev, {ENOSPC, EIO, EINTR}, false},
    {"pwrite64", SYS_pwrite64, {ENOSPC, EIO, EINTR, SHORT}, false},
    {"lseek", SYS_lseek, {EIO}, false},
    {"fsync", SYS_fsync, {EIO, ENOSPC, EINTR}, false},
    {"fdatasync", SYS_fdatasync, {EIO, ENOSPC, EINTR}, false},
    {"ftruncate", SYS_ftruncate, {EIO, ENOSPC, EINTR}, false},
    {"fallocate", SYS_fallocate, {ENOSPC, EIO}, false},
    {"close", SYS_close, {EIO, EINTR}, false},
    {"mmap", SYS_mmap, {ENOMEM}, false},
    {"fcntl", SYS_fcntl, {EIO, EINTR, ENOLCK}, false},
    {"flock", SYS_flock, {EIO, EINTR, ENOLCK}, false},
    {"newfstatat", SYS_newfstatat, {EIO, EACCES}, false},
    {"fstat", SYS_fstat, {EIO}, false},
    {"getdents64", SYS_getdents64, {EIO}, false},
    {"mkdirat", SYS_mkdirat, {ENOSPC, EIO, EACCES}, false},
    {"unlinkat", SYS_unlinkat, {EIO, EACCES}, true},
    {"renameat2", SYS_renameat2, {EIO, ENOSPC}, false},
    {"pipe2", SYS_pipe2, {EMFILE}, false},
    {"clone", SYS_clone, {EAGAIN}, false},
#ifdef SYS_clone3
    {"clone3", SYS_clone3, {EAGAIN}, false},
#endif
#ifdef SYS_renameat
    {"renameat", SYS_renameat, {EIO, ENOSPC}, false},
#endif
#ifdef SYS_open
    {"open", SYS_open, {EMFILE, EIO, ENOSPC, EINTR, EACCES}, false},
    {"stat", SYS_stat, {EIO, EACCES}, false},
    {"access", SYS_access, {EIO, EACCES}, false},
    {"mkdir", SYS_mkdir, {ENOSPC, EIO, EACCES}, false},
    {"rename", SYS_rename, {EIO, ENOSPC}, false},
    {"unlink", SYS_unlink, {EIO, EACCES}, true},
    {"rmdir", SYS_rmdir, {EIO, EACCES}, true},
    {"pipe", SYS_pipe, {EMFILE}, false},
#endif
};

enum { CALLS = sizeof calls / sizeof *calls, STACK_WORDS = 512 };

int fault_calls_filter(void) {
    struct sock_filter lines[CALLS + 6];
    unsigned short at = 0;
    lines[at++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch));
    lines[at++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, FAULT_ARCHITECTURE, 0, CALLS + 1);
    lines[at++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (unsigned char i = 0; i < CALLS; i++) {
        const unsigned char to_notify = (unsigned char)(CALLS - i);
        lines[at++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)calls[i].number, to_notify, 0);
    }
    lines[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    lines[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF);
    const struct sock_fprog program = {.len = at, .filter = lines};
    if (FAULT_ARCHITECTURE == 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return -1;
    return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
}

/* ---- what becomes of a call ---- */

typedef struct verdict {
    const fault *wanted;
    pid_t child;
    int lasting_call, lasting_code; /* a fault that lasts, once it has begun; 0: not yet */
} verdict;

static const call *find(int number) {
    for (size_t i = 0; i < CALLS; i++)
        if (calls[i].number == number)
            return &calls[i];
    return NULL;
}

static bool moves_bytes(int number) {
    return number == SYS_read || number == SYS_write || number == SYS_pread64 || number == SYS_pwrite64;
}

/* Threads have descriptors and memory of their process. */
static pid_t process_of(pid_t thread) {
    char path[64], line[128];
    snprintf(path, sizeof path, "/proc/%d/status", (int)thread);
    FILE *stream = fopen(path, "r");
    int process = (int)thread;
    while (stream != NULL && fgets(line, sizeof line, stream) != NULL)
        if (sscanf(line, "Tgid: %d", &process) == 1)
            break;
    if (stream != NULL)
        fclose(stream);
    return process;
}

/* A pipe has no disk that could be full or broken: it only takes fewer bytes at once, and is closed whatever close()
 * says, which its other end waits for. */
static bool concerns_pipe(const struct seccomp_notif *asked) {
    char path[64], target[16] = "";
    if (asked->data.nr != SYS_write && asked->data.nr != SYS_writev && asked->data.nr != SYS_close)
        return false;
    snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)asked->pid, (int)asked->data.args[0]);
    return readlink(path, target, sizeof target - 1) > 0 && strncmp(target, "pipe:", 5) == 0;
}

static bool writes_files(int number) {
    static const int writing[] = {SYS_write,     SYS_writev,    SYS_pwrite64, SYS_fsync,
                                  SYS_fdatasync, SYS_ftruncate, SYS_fallocate};
    for (size_t i = 0; i < sizeof writing / sizeof *writing; i++)
        if (number == writing[i])
            return true;
    return false;
}

/* rsvg-convert's picture is its standard input. */
static bool reads_picture(const struct seccomp_data *asked) {
    return asked->nr == SYS_read && asked->args[0] == STDIN_FILENO;
}

/* Whether a process runs another program than this one. */
static bool is_foreign(pid_t process) {
    char path[64], own[PATH_MAX] = "", its[PATH_MAX] = "";
    snprintf(path, sizeof path, "/proc/%d/exe", (int)process);
    return readlink("/proc/self/exe", own, sizeof own - 1) > 0 && readlink(path, its, sizeof its - 1) > 0 &&
           strcmp(own, its) != 0;
}

/* Does half of a read or write in the child's place. False: it can't be done, and the call goes on as it is. */
static bool do_half(const struct seccomp_notif *asked, struct seccomp_notif_resp *answer) {
    const int number = asked->data.nr;
    const bool writes = number == SYS_write || number == SYS_pwrite64;
    const size_t all = (size_t)asked->data.args[2], half = all / 2 < PIPE_BUF ? all / 2 : PIPE_BUF; /* no pipe waits */
    const pid_t process = process_of((pid_t)asked->pid);
    const int handle = (int)syscall(SYS_pidfd_open, process, 0);
    const int file = handle < 0 ? -1 : (int)syscall(SYS_pidfd_getfd, handle, (int)asked->data.args[0], 0);
    char *bytes = half == 0 ? NULL : malloc(half);
    const struct iovec here = {bytes, half}, there = {(void *)(uintptr_t)asked->data.args[1], half};
    ssize_t moved = -1;
    struct pollfd ready = {.fd = file, .events = writes ? POLLOUT : POLLIN}; /* a pipe may have nothing yet */
    if (file >= 0 && poll(&ready, 1, 0) == 1 && bytes != NULL &&
        (!writes || process_vm_readv(process, &here, 1, &there, 1, 0) == (ssize_t)half)) {
        const off_t at = (off_t)asked->data.args[3];
        moved = number == SYS_read    ? read(file, bytes, half)
                : number == SYS_write ? write(file, bytes, half)
                : writes              ? pwrite(file, bytes, half, at)
                                      : pread(file, bytes, half, at);
        if (!writes && moved > 0) {
            const struct iovec got = {bytes, (size_t)moved}, place = {there.iov_base, (size_t)moved};
            moved = process_vm_writev(process, &got, 1, &place, 1, 0);
        }
    }
    free(bytes);
    close(file);
    close(handle);
    answer->val = moved >= 0 ? moved : 0;
    return moved >= 0;
}

static int code_for(const call *called, size_t variant) {
    size_t count = 0;
    while (count < CODES && called->codes[count] != 0)
        count++;
    return called->codes[variant % count];
}

/* Which code makes a call: what lies on its thread's stack and could be a return into the program, and the call. */
static uint64_t place_of(const struct seccomp_notif *asked, int callers) {
    char path[64], line[256] = "";
    void *words[STACK_WORDS] = {NULL};
    unsigned long long stack = 0;
    snprintf(path, sizeof path, "/proc/%d/syscall", (int)asked->pid);
    FILE *stream = fopen(path, "r");
    if (stream != NULL && fgets(line, sizeof line, stream) != NULL)
        sscanf(line, "%*d %*s %*s %*s %*s %*s %*s %llx", &stack);
    if (stream != NULL)
        fclose(stream);
    const struct iovec here = {words, sizeof words}, there = {(void *)(uintptr_t)stack, sizeof words};
    const ssize_t got = process_vm_readv(process_of((pid_t)asked->pid), &here, 1, &there, 1, 0);
    return fault_place_of(words, got > 0 ? (size_t)got / sizeof *words : 0, callers) ^ (uint64_t)asked->data.nr;
}

/* The error that this call shall give, SHORT, or 0. */
static int decide(verdict *over, const call *called, bool pipe, const struct seccomp_notif *asked) {
    if (over->lasting_code != 0 && over->lasting_call == called->number && pipe)
        return 0;
    if (over->lasting_code != 0 && over->lasting_call == called->number)
        return over->lasting_code;
    if (over->wanted->kind != FAULT_CALL)
        return 0;
    const long now = ++fault_shared->counted;
    if (over->wanted->callers > 0 && now <= PLACE_COUNT)
        fault_places[now - 1] = place_of(asked, over->wanted->callers);
    if (now != over->wanted->number)
        return 0;
    const int code = pipe ? SHORT : code_for(called, over->wanted->variant);
    /* A signal comes and goes; for a lock SQLite waits half a minute each time it is asked. */
    const bool waits = code == EINTR || called->number == SYS_fcntl || called->number == SYS_flock;
    const bool lasts = over->wanted->lasting && code != SHORT && !waits;
    const char *how = code == SHORT ? "by half" : strerrorname_np(code);
    snprintf(fault_shared->what, sizeof fault_shared->what, "%s %s%s", called->name, how, lasts ? ", lasting" : "");
    fault_shared->fired++;
    fault_shared->may_leave = called->removes;
    if (lasts) {
        over->lasting_call = called->number;
        over->lasting_code = code;
    }
    return code;
}

static void answer_one(int listener, verdict *over) {
    struct seccomp_notif asked = {0};
    if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &asked) != 0)
        return; /* its process was killed meanwhile */
    struct seccomp_notif_resp answer = {.id = asked.id, .flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE};
    const call *called = find(asked.data.nr);
    const bool spared = called == NULL || (asked.data.nr == SYS_write && asked.data.args[0] == STDERR_FILENO) ||
                        (over->wanted->kind == FAULT_CALL && !writes_files(asked.data.nr) &&
                         !reads_picture(&asked.data) && is_foreign((pid_t)asked.pid));
    int code = 0;
    if (!spared && over->wanted->kind == FAULT_KILL_CALL) {
        if (++fault_shared->counted == over->wanted->number) {
            fault_shared->fired++;
            snprintf(fault_shared->what, sizeof fault_shared->what, "killed at %s", called->name);
            kill(over->wanted->orphans ? over->child : -over->child, SIGKILL);
        }
    } else if (!spared) {
        code = decide(over, called, concerns_pipe(&asked), &asked);
    }
    if (code == EINTR && reads_picture(&asked.data) && is_foreign((pid_t)asked.pid))
        code = 0; /* no signal interrupts the reading of a file */
    if (code == SHORT) {
        if (moves_bytes(asked.data.nr) && do_half(&asked, &answer))
            answer.flags = 0;
    } else if (code != 0) {
        answer.flags = 0;
        answer.error = -code;
    }
    ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &answer);
}

bool fault_calls_answer(int listener, pid_t child, const fault *wanted, double seconds) {
    verdict over = {.wanted = wanted, .child = child};
    const double end = fault_seconds_now() + seconds;
    for (;;) {
        struct pollfd waiting = {.fd = listener, .events = POLLIN};
        const double left = end - fault_seconds_now();
        if (left <= 0)
            return false;
        if (poll(&waiting, 1, (int)(1000 * left) + 1) <= 0)
            continue;
        if ((waiting.revents & POLLIN) != 0)
            answer_one(listener, &over);
        else if ((waiting.revents & (POLLHUP | POLLERR)) != 0)
            return true;
    }
}
