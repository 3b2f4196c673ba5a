#define _GNU_SOURCE
#include "clock.h"
#include "faults.h"
#include "signal_safe_text.h"

#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#define HANDLER_STACK (64 * 1024)
#define NEXT_TO_STACK UINT64_C(65536)
#define MOST_CALLERS 64
#define STOP_MILLISECONDS 700
#define SAME_STOP_MILLISECONDS 200 /* a batch system and MPI's launcher may both pass one signal on */
#define REASON_TEXT 640
#define WATCH_MILLISECONDS 2000 /* a death is named, and all ranks are killed, within some ten of them */

const char *volatile pse_faults_calls[2];

static pse_faults_reporter reporter;
static pid_t rank_pid; /* A process that a module forks inherits the handlers, but is not a rank. */
static bool core_wanted;
static atomic_flag handling = ATOMIC_FLAG_INIT;
static volatile sig_atomic_t stopped_by;
static const char *volatile stopped_call; /* What ran as the signal came. */
static volatile int64_t stopped_at;
static pse_faults_deferral deferral = {.fd = -1, .milliseconds = STOP_MILLISECONDS};
static void (*interrupt_owner)(int number);
static volatile sig_atomic_t crashed_thread, reading_stack;
static pse_faults_text words; /* Not on the handler's small stack. */

typedef struct crash {
    int number;
    const char *name;
    const char *help;
} crash;

static const crash crashes[] = {
    {SIGSEGV, "segmentation fault", "it read or wrote outside of its arrays"},
    {SIGBUS, "bus error", "it read or wrote outside of its arrays, or the machine has no memory left"},
    {SIGFPE, "arithmetic fault", "it divided an integer by zero"},
    {SIGILL, "illegal instruction", "it was built for another processor, or jumped to a wrong address"},
    {SIGABRT, "abort", "it called abort(), or a library found its own data damaged"},
};
#define CRASHES (sizeof crashes / sizeof crashes[0])

static const crash stack_overflow = {SIGSEGV, "stack overflow",
                                     "its calls nest too deeply, or its local arrays are too large: `ulimit "
                                     "-s` allows more, malloc needs none"};

static const crash sanitizers_report = {SIGABRT, "report of a sanitizer",
                                        "the sanitizer says above what it found, and where"};
static bool sanitized, debugged;
static const char *(*asan_description)(void); /* NULL without the address sanitizer. */

static const crash input_written = {SIGSEGV, "write to an input",
                                    "its directive says `in` of this array: declare it inout, or copy it"};
static pse_faults_finder input_at; /* NULL: none is protected. */
static const char *written;        /* The name of the input. */

static const crash *crashed_by = &crashes[0];

/* The page that the stack pointer is in is none, or the address was next to it: the stack's own are mapped.
 */
static bool is_beyond_stack(uintptr_t address, uintptr_t stack_pointer)
{
    uintptr_t page = stack_pointer & ~(uintptr_t)(sysconf(_SC_PAGESIZE) - 1);
    unsigned char resident;
    return address - stack_pointer + NEXT_TO_STACK < 2 * NEXT_TO_STACK ||
           (mincore((void *)page, 1, &resident) != 0 && errno == ENOMEM);
}

static bool is_sent(const siginfo_t *info)
{
    return info->si_code <= 0 && info->si_pid != getpid();
}

static const crash *fault_of(int number, const siginfo_t *info, const void *context)
{
    if (number == SIGSEGV && is_beyond_stack((uintptr_t)info->si_addr, pse_faults_stack_pointer(context)))
        return &stack_overflow;
    if (number == SIGSEGV && input_at != NULL && (written = input_at(info->si_addr)) != NULL)
        return &input_written;
    if (sanitized && number == SIGABRT)
        return &sanitizers_report;
    return NULL;
}

static const crash *crash_of(int number, const siginfo_t *info, const void *context)
{
    const crash *found = is_sent(info) ? NULL : fault_of(number, info, context);
    if (found != NULL)
        return found;
    for (size_t i = 0; i < CRASHES; i++)
        if (crashes[i].number == number)
            return &crashes[i];
    return &crashes[0];
}

static void act_by_default(int number)
{
    signal(number, SIG_DFL);
    raise(number);
}

/* Leave a core file where the user asked for one; else an exit code that mpiexec passes on. */
static void leave(int number)
{
    if (!core_wanted)
        pse_faults_leave_slowly(&reporter, PSE_EXIT_FAILED);
    act_by_default(number);
}

bool pse_faults_is_forked(void)
{
    return rank_pid != 0 && getpid() != rank_pid;
}

static void describe(const crash *what, const void *context)
{
    const char *call = pse_faults_calls[0];
    pse_faults_text_add(&words, "error: ");
    const char *found = what == &sanitizers_report && asan_description != NULL ? asan_description() : "";
    pse_faults_text_add(&words, found[0] != '\0' ? found : what->name);
    pse_faults_text_add(&words, found[0] != '\0' ? ", found by the address sanitizer," : "");
    if (written != NULL) {
        pse_faults_text_add(&words, ", ");
        pse_faults_text_add(&words, written);
        pse_faults_text_add(&words, ",");
    }
    pse_faults_text_add(&words, " in ");
    pse_faults_text_add(&words, call != NULL ? call : "the engine, between two calls");
    pse_faults_text_add(&words, "\n  where: ");
    pse_faults_text_add(&words, reporter.who);
    if (call != NULL)
        pse_faults_add_tph(&words, pse_board_slot(reporter.board, reporter.rank));
    pse_faults_text_add(&words, "\n");
    reading_stack = true;
    pse_faults_add_stack_frames(&words, context);
    reading_stack = false;
}

/* Another process has sent the signal: no module is to blame. */
static void describe_sent(int number, const siginfo_t *info)
{
    pse_faults_describe_death(&words, reporter.who, number, pse_board_slot(reporter.board, reporter.rank),
                              pse_faults_calls[0]);
    pse_faults_text_add(&words, "help: process ");
    pse_faults_text_add_number(&words, info->si_pid);
    pse_faults_text_add(&words, " has sent it this signal\n");
}

static void add_help(const crash *what)
{
    if (pse_faults_calls[0] != NULL) {
        pse_faults_text_add(&words, "help: ");
        pse_faults_text_add(&words, what->help);
    } else if (pse_faults_calls[1] != NULL) {
        pse_faults_text_add(&words, "help: the last call was ");
        pse_faults_text_add(&words, pse_faults_calls[1]);
        pse_faults_text_add(&words, ": if a module wrote outside of its arrays, --debug stops where it does");
    } else
        return;
    pse_faults_text_add(&words, "\n");
}

/* Whether another rank of the node ended before it was done. */
static bool somebody_died(void)
{
    for (uint32_t rank = 0; rank < pse_board_get_size(reporter.board).ranks; rank++) {
        const pse_slot *slot = pse_board_slot(reporter.board, rank);
        uint32_t state = atomic_load(&slot->state);
        bool alive = state > PSE_RANK_ABSENT && state < PSE_RANK_DONE;
        if (alive && rank != reporter.rank && pse_faults_is_ending(atomic_load(&slot->pid)))
            return true;
    }
    return false;
}

/* The report goes out before the slot is marked: whoever sees the mark may rely on the report. */
static void finish(void)
{
    pse_faults_report(&reporter, reporter.rank, &words);
    atomic_store(&pse_board_slot(reporter.board, reporter.rank)->state, PSE_RANK_FAILED);
    leave(crashed_by->number);
}

/* Another thread crashes as well, and the first one ends the process; or the handler itself does: over a
 * damaged stack, without which the report goes then. */
static void crash_again(int number)
{
    while (gettid() != crashed_thread)
        poll(NULL, 0, WATCH_MILLISECONDS);
    if (reading_stack) {
        reading_stack = false;
        add_help(crashed_by);
        finish();
    }
    act_by_default(number);
}

/* A rank that fails between two calls may do so over what a killed one left behind: whoever watches gets the
 * time to name that one. */
static void on_crash(int number, siginfo_t *info, void *context)
{
    if (pse_faults_is_forked()) {
        act_by_default(number);
        return;
    }
    if (atomic_flag_test_and_set(&handling)) {
        crash_again(number);
        return;
    }
    crashed_thread = gettid();
    crashed_by = crash_of(number, info, context);
    if (pse_faults_calls[0] == NULL && somebody_died())
        poll(NULL, 0, WATCH_MILLISECONDS);
    if (debugged)
        pse_faults_wait_for_debugger();
    if (is_sent(info)) {
        describe_sent(number, info);
    } else {
        describe(crashed_by, context);
        add_help(crashed_by);
    }
    finish();
}

/* The module that runs did something that ends the run for others. */
static void describe_call(const char *did)
{
    const char *call = pse_faults_calls[0];
    pse_faults_text_add(&words, "error: ");
    pse_faults_text_add(&words, call != NULL ? call : "a module, between two calls,");
    pse_faults_text_add(&words, did);
    pse_faults_text_add(&words, "\n  where: ");
    pse_faults_text_add(&words, reporter.who);
    pse_faults_add_tph(&words, pse_board_slot(reporter.board, reporter.rank));
    pse_faults_text_add(&words, "\n");
}

static void end_call(const char *help)
{
    pse_faults_text_add(&words, "help: ");
    pse_faults_text_add(&words, help);
    pse_faults_text_add(&words, "\n");
    pse_faults_report(&reporter, reporter.rank, &words);
    atomic_store(&pse_board_slot(reporter.board, reporter.rank)->state, PSE_RANK_FAILED);
    pse_faults_leave_slowly(&reporter, PSE_EXIT_FAILED);
}

static void fail_call(const char *did, const char *help)
{
    describe_call(did);
    pse_faults_add_stack_frames(&words, NULL);
    end_call(help);
}

static bool is_called_by(const char *function)
{
    void *frames[MOST_CALLERS];
    Dl_info found;
    for (int i = backtrace(frames, MOST_CALLERS) - 1; i >= 0; i--)
        if (dladdr((char *)frames[i] - 1, &found) != 0 && found.dli_sname != NULL &&
            strcmp(found.dli_sname, function) == 0)
            return true;
    return false;
}

static bool is_in_program(void)
{
    uint32_t state = atomic_load(&pse_board_slot(reporter.board, reporter.rank)->state);
    return state >= PSE_RANK_RUNNING && state < PSE_RANK_DONE;
}

void pse_faults_find_aborts(void)
{
    Dl_info here;
    if (dladdr(&rank_pid, &here) != 0)
        dlopen(here.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_GLOBAL);
}

/* Modules find this one before MPI's, which may return (MPICH's, until its launcher ends the rank) or leave
 * nobody who knows what called it.  MPI's own is that of the library that calls. */
__attribute__((visibility("default"))) int MPI_Abort(intptr_t comm, int code)
{
    if (reporter.board != NULL && !pse_faults_is_forked() && is_in_program())
        fail_call(" called MPI_Abort()", PSE_ABORT_HELP);
    Dl_info caller;
    int (*mpi_abort)(intptr_t comm, int code) = NULL;
    if (dladdr(__builtin_return_address(0), &caller) != 0)
        *(void **)&mpi_abort = dlsym(dlopen(caller.dli_fname, RTLD_NOW | RTLD_NOLOAD), "PMPI_Abort");
    if (mpi_abort == NULL)
        _exit(code);
    return mpi_abort(comm, code);
}

/* A library that calls exit() would take the rank along and leave all others waiting.  After a run this comes
 * last: Python, and with it MPI, has been left in order. */
static void on_exit_called(void)
{
    if (pse_faults_is_forked())
        return;
    uint32_t state = atomic_load(&pse_board_slot(reporter.board, reporter.rank)->state);
    if (state == PSE_RANK_DONE)
        atomic_store(&pse_board_slot(reporter.board, reporter.rank)->state, PSE_RANK_LEFT);
    if (is_in_program() && pse_faults_calls[0] != NULL)
        fail_call(is_called_by("MPI_Abort") || is_called_by("PMPI_Abort") ? " called MPI_Abort()"
                                                                          : " called exit()",
                  PSE_ABORT_HELP);
}

/* The destructor of what the rank's own thread keeps: exit() and the end of main() don't run it.  The
 * module's stack frames are gone. */
static void on_thread_exit(void *kept)
{
    (void)kept;
    if (pse_faults_is_forked() || !is_in_program())
        return;
    describe_call(" called pthread_exit()");
    end_call("a module must return: it runs in the thread of its rank");
}

static int watch_thread_exit(void)
{
    static pthread_key_t key;
    static bool watching;
    if (!watching)
        watching = pthread_key_create(&key, on_thread_exit) == 0;
    return watching ? -pthread_setspecific(key, &rank_pid) : -ENOMEM;
}

void pse_faults_finalize_called(void)
{
    uint32_t state = atomic_load(&pse_board_slot(reporter.board, reporter.rank)->state);
    if (state < PSE_RANK_DONE && !pse_faults_is_forked())
        fail_call(" called MPI_Finalize()",
                  "a module must leave MPI running: the engine and other modules use it");
}

void pse_faults_mpi_failed(const char *reason)
{
    char did[REASON_TEXT];
    snprintf(did, sizeof did, " made a call of MPI that failed: %s", reason);
    fail_call(did, "look at what this call gets; code that looks at what MPI returns asks for that by "
                   "MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN)");
}

/* The rank's owner had its time, or a second signal came. */
static void leave_stopped(int number)
{
    if (pse_faults_is_forked() || stopped_by == 0) { /* A module's own alarm stops nothing. */
        act_by_default(number);
        return;
    }
    if (reporter.framed) /* Without a launcher of ours, the whole job is stopped. */
        pse_faults_text_add(&words, "error: ");
    pse_faults_text_add(&words, reporter.who);
    pse_faults_text_add(&words, " was stopped by ");
    pse_faults_text_add(&words, stopped_by == SIGINT ? "SIGINT\n" : "SIGTERM\n");
    if (reporter.framed && stopped_call != NULL) {
        pse_faults_text_add(&words, "  running: ");
        pse_faults_text_add(&words, stopped_call);
        pse_faults_text_add(&words, "\n");
    }
    if (number == SIGALRM)
        pse_faults_text_add(&words, deferral.late);
    pse_faults_report(&reporter, reporter.rank, &words);
    atomic_store(&pse_board_slot(reporter.board, reporter.rank)->state, PSE_RANK_FAILED);
    pse_faults_leave(&reporter, 128 + stopped_by);
}

static int64_t milliseconds(void)
{
    return (int64_t)(pse_clock() / 1000000);
}

static bool works(uint32_t rank)
{
    uint32_t state = atomic_load(&pse_board_slot(reporter.board, rank)->state);
    return state > PSE_RANK_ABSENT && state < PSE_RANK_DONE;
}

/* Whether the signal is one that this process has had, or that another rank of the node passes on. */
static bool is_known(pid_t sender)
{
    if (milliseconds() - stopped_at < SAME_STOP_MILLISECONDS)
        return true;
    for (uint32_t rank = 0; rank < pse_board_get_size(reporter.board).ranks; rank++)
        if (works(rank) && (pid_t)atomic_load(&pse_board_slot(reporter.board, rank)->pid) == sender)
            return sender != 0;
    return false;
}

/* What is to be done before the end takes all ranks, and the signal may have been for this one alone. */
static void pass_on(int number)
{
    for (uint32_t rank = 0; rank < pse_board_get_size(reporter.board).ranks; rank++)
        if (rank != reporter.rank && works(rank))
            kill((pid_t)atomic_load(&pse_board_slot(reporter.board, rank)->pid), number);
}

static void on_stop(int number, siginfo_t *info, void *context)
{
    (void)context;
    if (pse_faults_is_forked() || (stopped_by != 0 && !is_known(info->si_pid))) {
        leave_stopped(number);
        return;
    }
    if (stopped_by != 0)
        return;
    struct itimerval patience = {
        .it_value = {.tv_sec = deferral.milliseconds / 1000, .tv_usec = deferral.milliseconds % 1000 * 1000}};
    stopped_by = number;
    stopped_call = pse_faults_calls[0];
    stopped_at = milliseconds();
    setitimer(ITIMER_REAL, &patience, NULL);
    interrupt_owner(number);
    if (deferral.fd >= 0) {
        unsigned char told = (unsigned char)number;
        if (write(deferral.fd, &told, 1) == 1)
            pass_on(number);
    }
}

const char *pse_faults_stopped_call(void)
{
    return stopped_call;
}

void pse_faults_defer_stops(const pse_faults_deferral *to)
{
    static const pse_faults_deferral none = {.fd = -1, .milliseconds = STOP_MILLISECONDS};
    static const struct itimerval off = {0};
    deferral = to != NULL ? *to : none;
    if (to != NULL || stopped_by == 0)
        return;
    setitimer(ITIMER_REAL, &off, NULL);
    stopped_by = 0;
}

int pse_faults_install_stops(void (*interrupt)(int number))
{
    struct sigaction stop = {.sa_sigaction = on_stop, .sa_flags = SA_SIGINFO},
                     late = {.sa_handler = leave_stopped};
    static const int numbers[] = {SIGINT, SIGTERM};
    interrupt_owner = interrupt;
    if (sigaction(SIGALRM, &late, NULL) != 0)
        return -errno;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        struct sigaction before;
        if (sigaction(numbers[i], NULL, &before) != 0 ||
            (before.sa_handler != SIG_IGN && sigaction(numbers[i], &stop, NULL) != 0))
            return -errno;
    }
    return 0;
}

void pse_faults_expect_sanitizers(void)
{
    sanitized = true;
    *(void **)&asan_description = dlsym(RTLD_DEFAULT, "__asan_get_report_description");
}

void pse_faults_expect_protected_inputs(pse_faults_finder at)
{
    input_at = at;
}

void pse_faults_debug_crashes(void)
{
    debugged = true;
}

static int set_stack(void)
{
    static char *memory;
    if (memory == NULL)
        memory = malloc(HANDLER_STACK);
    if (memory == NULL)
        return -ENOMEM;
    stack_t stack = {.ss_sp = memory, .ss_size = HANDLER_STACK};
    return sigaltstack(&stack, NULL) == 0 ? 0 : -errno;
}

int pse_faults_install(const pse_faults_reporter *who_reports)
{
    struct rlimit core;
    struct sigaction action = {.sa_sigaction = on_crash, .sa_flags = SA_ONSTACK | SA_NODEFER | SA_SIGINFO};
    reporter = *who_reports;
    rank_pid = getpid();
    core_wanted = getrlimit(RLIMIT_CORE, &core) == 0 && core.rlim_cur > 0;
    int code = atexit(on_exit_called) == 0 ? set_stack() : -ENOMEM;
    if (code == 0)
        code = watch_thread_exit();
    for (size_t i = 0; i < CRASHES && code == 0; i++)
        if (sigaction(crashes[i].number, &action, NULL) != 0)
            code = -errno;
    return code;
}
