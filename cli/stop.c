/* SPDX-License-Identifier: MIT */
/* Signals wait, blocked on one thread, until it asks for them; other threads' handlers only note the number. */
#include "stop.h"

#include <pthread.h>
#include <signal.h>

static const int stop_signals[] = {SIGINT, SIGTERM, SIGUSR1};
enum { STOP_SIGNALS = sizeof stop_signals / sizeof *stop_signals };

static volatile sig_atomic_t asked = 0; /* the signal's number */
static bool catching;                   /* on this thread: */
static pthread_t catcher;

/* Runs only in threads that are not ours, if there are any. */
static void note(int signal_number) {
    asked = signal_number;
}

static void handle(int signal_number, void (*handler)(int)) {
    struct sigaction action = {.sa_handler = handler, .sa_flags = (int)SA_RESETHAND};
    sigemptyset(&action.sa_mask);
    sigaction(signal_number, &action, NULL);
}

static void mask(int how, int signal_number) {
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, signal_number);
    pthread_sigmask(how, &one, NULL);
}

/* A shell starts background commands with SIGINT ignored; an ignored signal would not wait. */
void cli_stop_catch(void) {
    catcher = pthread_self();
    catching = true;
    for (int i = 0; i < STOP_SIGNALS; i++) {
        mask(SIG_BLOCK, stop_signals[i]);
        handle(stop_signals[i], note);
    }
}

bool cli_stop_asked(void) {
    sigset_t pending;
    if (asked || sigpending(&pending) != 0)
        return asked != 0;
    for (int i = 0; i < STOP_SIGNALS; i++) {
        sigset_t one;
        int taken;
        sigemptyset(&one);
        sigaddset(&one, stop_signals[i]);
        if (sigismember(&pending, stop_signals[i]) == 1 && sigwait(&one, &taken) == 0) {
            asked = stop_signals[i];
            handle(stop_signals[i], SIG_DFL); /* another one of this kind ends the program */
            mask(SIG_UNBLOCK, stop_signals[i]);
        }
    }
    return asked != 0;
}

bool cli_stop_queues_again(void) {
    return asked != 0 && asked != SIGINT;
}

int cli_stop_status(void) {
    return cli_stop_queues_again() ? CLI_QUEUE_AGAIN : 1;
}

int32_t cli_stop_cancels(void *unused) {
    (void)unused;
    return catching && pthread_equal(catcher, pthread_self()) && cli_stop_asked();
}

void cli_stop_release(void) {
    catching = false;
    for (int i = 0; i < STOP_SIGNALS; i++) {
        handle(stop_signals[i], SIG_DFL);
        mask(SIG_UNBLOCK, stop_signals[i]);
    }
}
