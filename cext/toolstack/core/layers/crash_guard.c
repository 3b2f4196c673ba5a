/* Signal handlers around a step, and trials in child processes. */
#include "layers/crash_guard.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "config/report.h"

#define TRIAL_SECONDS 10
#define DONE 77 /* the code of a child in which all went well; a tool that calls exit gives another one */

static const int signals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGSYS};
#define SIGNALS (sizeof signals / sizeof *signals)
_Static_assert(SIGNALS == PSE_CRASH_SIGNALS, "room for each");

static struct tool_layer *guarded;
static const char *guarded_step;
static pthread_t guarded_thread;

static void crashed(int number)
{
    if (!guarded || !pthread_equal(guarded_thread, pthread_self())) {
        signal(number, SIG_DFL);
        raise(number);
        return;
    }
    const struct tool_spec *spec = guarded->spec;
    pse_toolstack_die(false, "%s: tool `%s` crashed in %s: %s (%s)", spec->place, spec->name, guarded_step,
                      strsignal(number), spec->path);
}

/* The tool called exit. */
__attribute__((destructor)) static void left(void)
{
    if (!guarded)
        return;
    const struct tool_spec *spec = guarded->spec;
    pse_toolstack_die(false, "%s: tool `%s` ended the process in %s (%s)", spec->place, spec->name,
                      guarded_step, spec->path);
}

void pse_toolstack_watch_signals(struct signal_state *before, const struct sigaction *action)
{
    static char alternative[65536];
    const stack_t stack = {.ss_sp = alternative, .ss_size = sizeof alternative};
    sigaltstack(&stack, &before->stack);
    for (size_t i = 0; i < SIGNALS; i++)
        sigaction(signals[i], action, &before->action[i]);
}

void pse_toolstack_restore_signals(const struct signal_state *before)
{
    for (size_t i = 0; i < SIGNALS; i++)
        sigaction(signals[i], &before->action[i], NULL);
    sigaltstack(&before->stack, NULL);
}

const char *pse_toolstack_run_guarded(struct tool_layer *layer, const char *step,
                                      const char *(*run)(struct tool_layer *))
{
    const struct sigaction action = {.sa_handler = crashed, .sa_flags = SA_ONSTACK};
    struct signal_state before;
    struct tool_layer *const outer = guarded;
    const char *const outer_step = guarded_step;
    pse_toolstack_watch_signals(&before, &action);
    guarded = layer;
    guarded_step = step;
    guarded_thread = pthread_self();
    const char *why = run(layer);
    guarded = outer;
    guarded_step = outer_step;
    pse_toolstack_restore_signals(&before);
    return why;
}

/* In the child: a crash is told by the way it dies, a reason through the pipe. */
_Noreturn static void be_trial(struct tool_layer *layer, const char *(*run)(struct tool_layer *), int out)
{
    const int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
    dup2(nowhere, STDOUT_FILENO);
    dup2(nowhere, STDERR_FILENO);
    for (size_t i = 0; i < SIGNALS; i++)
        signal(signals[i], SIG_DFL);
    alarm(TRIAL_SECONDS);
    guarded = NULL;
    const char *why = run(layer);
    const bool told = why && write(out, why, strlen(why)) > 0;
    _exit(told ? 1 : DONE);
}

static const char *judge(int status, const char *reason, const char *step)
{
    static char words[256];
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
        snprintf(words, sizeof words, "it did not finish %s within %d s", step, TRIAL_SECONDS);
    else if (WIFSIGNALED(status))
        snprintf(words, sizeof words, "it crashed in %s: %s", step, strsignal(WTERMSIG(status)));
    else if (*reason)
        return reason;
    else if (WEXITSTATUS(status) == DONE)
        return NULL;
    else
        snprintf(words, sizeof words, "it ended the process in %s", step);
    return words;
}

static const char *try(struct tool_layer *layer, const char *step, const char *(*run)(struct tool_layer *))
{
    static char reason[1024];
    int ends[2], status = 0;
    size_t length = 0;
    if (pipe2(ends, O_CLOEXEC) != 0)
        return NULL;
    fflush(NULL); /* Or the child would print it again. */
    const pid_t child = fork();
    if (child == 0)
        be_trial(layer, run, ends[1]);
    close(ends[1]);
    for (ssize_t got; child > 0 && length < sizeof reason - 1; length += (size_t)got)
        if ((got = read(ends[0], reason + length, sizeof reason - 1 - length)) <= 0)
            break;
    reason[length] = '\0';
    close(ends[0]);
    return child > 0 && waitpid(child, &status, 0) == child ? judge(status, reason, step) : NULL;
}

const char *pse_toolstack_guarded(struct tool_layer *layer, const char *step,
                                  const char *(*run)(struct tool_layer *))
{
    const char *why = layer->spec->optional ? try(layer, step, run) : NULL;
    return why ? why : pse_toolstack_run_guarded(layer, step, run);
}
