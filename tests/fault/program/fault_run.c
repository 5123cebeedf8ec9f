/* SPDX-License-Identifier: MIT */
/* One run of locus in a child: in the folder `work` of the scratch folder, which is the current one, with standard
 * output and error kept in files beside it and temporary files in `tmp`. */
#include "faults.h"

#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PATIENCE_SECONDS 60.0

double fault_seconds_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* ---- the child ---- */

static void redirect(const char *path, int flags, int to) {
    const int file = open(path, flags, 0666);
    if (file < 0 || dup2(file, to) < 0)
        _exit(99);
    close(file);
}

union control {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(sizeof(int))];
};

static void send_descriptor(int socket, int descriptor) {
    union control control = {0};
    char byte = descriptor >= 0;
    struct iovec content = {&byte, 1};
    struct msghdr message = {.msg_iov = &content, .msg_iovlen = 1};
    if (descriptor >= 0) {
        message.msg_control = &control;
        message.msg_controllen = sizeof control;
        control.header = (struct cmsghdr){
            .cmsg_len = CMSG_LEN(sizeof descriptor), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
        memcpy(CMSG_DATA(&control.header), &descriptor, sizeof descriptor);
    }
    if (sendmsg(socket, &message, 0) != 1)
        _exit(98);
}

static int receive_descriptor(int socket) {
    union control control = {0};
    char byte = 0;
    int descriptor = -1;
    struct iovec content = {&byte, 1};
    struct msghdr message = {
        .msg_iov = &content, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    if (recvmsg(socket, &message, 0) == 1 && byte == 1)
        memcpy(&descriptor, CMSG_DATA(&control.header), sizeof descriptor);
    return descriptor;
}

/* Says where it happened, and dies of it. */
static void note_crash(int signal_number) {
    fault_shared->crash_depth = backtrace(fault_shared->crash, TRACE_DEPTH);
    raise(signal_number);
}

static void watch_crashes(void) {
    static const int signals[] = {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL};
    static char room[65536];
    const stack_t apart = {.ss_sp = room, .ss_size = sizeof room};
    void *once[1];
    backtrace(once, 1); /* its first call loads a library */
    sigaltstack(&apart, NULL);
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        const struct sigaction action = {.sa_handler = note_crash, .sa_flags = (int)(SA_ONSTACK | SA_RESETHAND)};
        sigaction(signals[i], &action, NULL);
    }
}

static bool stops_calls(const fault *wanted) {
    return wanted->kind == FAULT_CALL || wanted->kind == FAULT_KILL_CALL;
}

static void become(const fault_case *which, const fault *wanted, int socket) {
    static char program[] = "locus";
    static char *words[CASE_WORDS + 1] = {program};
    int count = 1;
    for (; which->words[count - 1] != NULL; count++)
        words[count] = strdup(which->words[count - 1]);
    setpgid(0, 0);
    watch_crashes();
    if (chdir("work") != 0)
        _exit(99);
    redirect("/dev/null", O_RDONLY, STDIN_FILENO);
    redirect("../out", O_WRONLY | O_CREAT | O_TRUNC, STDOUT_FILENO);
    redirect("../err", O_WRONLY | O_CREAT | O_TRUNC, STDERR_FILENO);
    if (wanted->kind == FAULT_ALLOCATION) {
        fault_allocator_arm(wanted);
    } else if (stops_calls(wanted)) {
        /* The descriptors stay open: closing them would be the first calls to be counted. */
        send_descriptor(socket, fault_calls_filter());
    }
    exit(locus_main(count, words));
}

/* ---- the parent ---- */

static bool wait_until(pid_t child, double end) {
    const int handle = (int)syscall(SYS_pidfd_open, child, 0);
    struct pollfd waiting = {.fd = handle, .events = POLLIN};
    bool ended = false;
    while (!ended && end > fault_seconds_now())
        ended = poll(&waiting, 1, (int)(1000 * (end - fault_seconds_now())) + 1) > 0;
    close(handle);
    return ended;
}

static void sleep_until(double end) {
    const double left = end - fault_seconds_now();
    if (left > 0) {
        const struct timespec pause = {(time_t)left, (long)(1e9 * (left - (double)(time_t)left))};
        nanosleep(&pause, NULL);
    }
}

static bool watch(pid_t child, const fault *wanted, int socket) {
    const double start = fault_seconds_now();
    if (stops_calls(wanted)) {
        const int listener = receive_descriptor(socket);
        const bool good = listener >= 0 && fault_calls_answer(listener, child, wanted, PATIENCE_SECONDS);
        close(listener);
        return good;
    }
    if (wanted->kind == FAULT_KILL_TIME) {
        sleep_until(start + wanted->seconds);
        fault_shared->fired = kill(wanted->orphans ? child : -child, SIGKILL) == 0;
        snprintf(fault_shared->what, sizeof fault_shared->what, "killed after %.3f s", wanted->seconds);
    }
    return wait_until(child, start + PATIENCE_SECONDS);
}

/* Waits for the child and for what it left running, which comes to this process. */
static bool reap(pid_t child, int *state) {
    const double end = fault_seconds_now() + PATIENCE_SECONDS;
    for (bool left = true; left;) {
        int one;
        const pid_t ended = waitpid(-1, &one, WNOHANG);
        if (ended == child)
            *state = one;
        left = ended >= 0 || errno == EINTR;
        if (left && fault_seconds_now() > end) {
            kill(-child, SIGKILL);
            return false;
        }
        if (ended == 0)
            sleep_until(fault_seconds_now() + 0.0005);
    }
    return true;
}

void fault_run_case(const fault_case *which, const fault *wanted, fault_run *run) {
    int ends[2];
    size_t bytes;
    *run = (fault_run){0};
    *fault_shared = (fault_page){0};
    fflush(stdout);
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
        perror("socketpair");
        exit(1);
    }
    const pid_t child = fork();
    if (child == 0)
        become(which, wanted, ends[1]);
    setpgid(child, child);
    close(ends[1]);
    run->hung = !watch(child, wanted, ends[0]);
    close(ends[0]);
    if (run->hung)
        kill(-child, SIGKILL);
    run->hung = !reap(child, &run->state) || run->hung;
    run->fired = fault_shared->fired > 0;
    run->counted = fault_shared->counted;
    run->out = fault_file_read("out", &bytes);
    run->err = fault_file_read("err", &bytes);
}

void fault_run_free(fault_run *run) {
    free(run->out);
    free(run->err);
    *run = (fault_run){0};
}

bool fault_calls_possible(void) {
    int state = 0;
    const pid_t child = fork();
    if (child == 0)
        _exit(fault_calls_filter() >= 0 ? 0 : 1);
    return waitpid(child, &state, 0) == child && state == 0;
}
