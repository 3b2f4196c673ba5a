#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "abi_environment.h"
#include "faults.h"
#include "signal_safe_text.h"

bool pse_faults_report(const pse_faults_reporter *reporter, uint32_t failed_rank,
                       const pse_faults_text *words)
{
    pse_faults_text whole = {.length = 0};
    if (!pse_board_claim_report(reporter->board))
        return false;
    if (reporter->framed) {
        pse_faults_text_add(&whole, "failed ");
        pse_faults_text_add_number(&whole, failed_rank);
        pse_faults_text_add(&whole, " ");
        pse_faults_text_add_number(&whole, PSE_EXIT_FAILED);
        pse_faults_text_add(&whole, "\n");
    }
    pse_faults_text_add(&whole, words->text);
    pse_faults_text_write(&whole, reporter->fd, reporter->framed);
    return true;
}

_Noreturn void pse_faults_leave(const pse_faults_reporter *reporter, int code)
{
    pse_faults_text words = {.length = 0};
    if (reporter->pmi >= 0) {
        /* What MPI_Abort says to its process manager (PMI-1), without MPI. */
        pse_faults_text_add(&words, PSE_PMI_ABORT);
        pse_faults_text_add_number(&words, code);
        pse_faults_text_add(&words, "\n");
        pse_faults_text_write(&words, reporter->pmi, false);
        poll(NULL, 0, PSE_ABORT_MILLISECONDS);
    }
    _exit(code);
}

_Noreturn void pse_faults_leave_slowly(const pse_faults_reporter *reporter, int code)
{
    poll(NULL, 0, PSE_DRAIN_MILLISECONDS);
    pse_faults_leave(reporter, code);
}

void pse_faults_add_tph(pse_faults_text *words, const pse_slot *slot)
{
    int64_t iteration = atomic_load(&slot->loop_index);
    pse_faults_text_add(words, ", TPH ");
    pse_faults_text_add_number(words, (int64_t)atomic_load(&slot->tph));
    if (iteration >= 0) {
        pse_faults_text_add(words, " (iteration ");
        pse_faults_text_add_number(words, iteration);
        pse_faults_text_add(words, ")");
    }
}

static const char *signal_name(int number)
{
    switch (number) {
#define NAME(signal)                                                                                         \
    case signal:                                                                                             \
        return #signal
        NAME(SIGKILL);
        NAME(SIGTERM);
        NAME(SIGINT);
        NAME(SIGHUP);
        NAME(SIGSEGV);
        NAME(SIGBUS);
        NAME(SIGFPE);
        NAME(SIGILL);
        NAME(SIGABRT);
        NAME(SIGPIPE);
        NAME(SIGXCPU);
        NAME(SIGALRM);
        NAME(SIGVTALRM);
        NAME(SIGPROF);
        NAME(SIGQUIT);
        NAME(SIGTRAP);
        NAME(SIGSYS);
        NAME(SIGUSR1);
        NAME(SIGUSR2);
#undef NAME
    default:
        return "a signal";
    }
}

static bool asks_to_end(int number)
{
    return number == SIGTERM || number == SIGINT || number == SIGHUP;
}

static void add_ending(pse_faults_text *words, int status)
{
    if (status == PSE_STATUS_UNKNOWN) {
        pse_faults_text_add(words, " was killed");
    } else if (WIFSIGNALED(status) && asks_to_end(WTERMSIG(status))) {
        pse_faults_text_add(words, " was stopped by ");
        pse_faults_text_add(words, signal_name(WTERMSIG(status)));
    } else if (WIFSIGNALED(status)) {
        pse_faults_text_add(words, " was killed by signal ");
        pse_faults_text_add_number(words, WTERMSIG(status));
        pse_faults_text_add(words, " (");
        pse_faults_text_add(words, signal_name(WTERMSIG(status)));
        pse_faults_text_add(words, ")");
    } else {
        pse_faults_text_add(words, " ended with exit code ");
        pse_faults_text_add_number(words, WEXITSTATUS(status));
        pse_faults_text_add(words, " before the program was done");
    }
}

static void add_help(pse_faults_text *words, int status, bool starting)
{
    bool exited = status != PSE_STATUS_UNKNOWN && WIFEXITED(status);
    bool killed = status == PSE_STATUS_UNKNOWN || (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    if (exited && starting)
        pse_faults_text_add(words, "help: MPI could not start, or a library ended the process: what it said "
                                   "stands above\n");
    else if (exited)
        pse_faults_text_add(words, "help: a module must return its error code instead of calling exit() or "
                                   "MPI_Abort()\n");
    if (killed)
        pse_faults_text_add(words, "help: " PSE_KILLED_HELP "\n");
    if (status != PSE_STATUS_UNKNOWN && WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS)
        pse_faults_text_add(words,
                            "help: there was no memory for a page that it shares: is /dev/shm full?\n");
}

void pse_faults_describe_death(pse_faults_text *words, const char *who, int status, const pse_slot *slot,
                               const char *site)
{
    uint32_t state = slot != NULL ? atomic_load(&slot->state) : PSE_RANK_ABSENT;
    bool starting = site == NULL && (state == PSE_RANK_ABSENT || state == PSE_RANK_STARTING);
    pse_faults_text_add(words, "error: ");
    pse_faults_text_add(words, who);
    add_ending(words, status);
    pse_faults_text_add(words, "\n  running: ");
    if (site != NULL) {
        pse_faults_text_add(words, site);
        pse_faults_add_tph(words, slot);
    } else if (starting) {
        pse_faults_text_add(words, "its start-up");
    } else {
        static const char *const names[] = {
#define X(name, code, text) [code] = text,
            PSE_RANK_TEXTS(X)
#undef X
        };
        pse_faults_text_add(words, "no module; it was ");
        pse_faults_text_add(words, state == PSE_RANK_RUNNING ? "between two calls" : names[state]);
    }
    pse_faults_text_add(words, "\n");
    add_help(words, status, starting);
}
