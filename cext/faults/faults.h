/* Faults: what a rank says when a module crashes it, and what is to be said of a rank that is gone.
 *
 * `crash_handler.c` handles the signals of a crash (segmentation fault and its kind): it names the module and
 * the program line that `pse_faults_calls` points to, marks the rank's slot as failed, and ends the
 * rank. `stack_frames.c` adds which lines of the user's source the rank was in. `process_status.c` and
 * `report.c` are for those who watch ranks: how did a process end that is not theirs, and the words for it.
 *
 * A report goes to standard error, or to the launcher's record file where there is a launcher; there it has a
 * head line "failed RANK EXIT_CODE" and ends with a zero byte.  Only the first report of a node is written
 * (pse_board_claim_report).
 *
 */
#ifndef PSE_FAULTS_H
#define PSE_FAULTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "abi_waiting.h"
#include "board.h"
#include "signal_safe_text.h"

#ifdef __cplusplus
extern "C" {
#endif

#define PSE_STATUS_UNKNOWN (-1)

/* What this process runs now, as "module fft.rows, fft2d.coven:15:7" (NULL between calls), and what ran last.
 * The sequencer sets them. */
extern const char *volatile pse_faults_calls[2];

/* Where reports go, and who reports. */
typedef struct pse_faults_reporter {
    pse_board *board;
    uint32_t rank;
    int fd;
    bool framed;     /* `fd` is the launcher's record file. */
    int pmi;         /* Descriptor of hydra's proxy, or -1. */
    const char *who; /* "rank 3 (thread_B of processor 1, host a, pid 4711)"; kept for good. */
} pse_faults_reporter;

/* Handle the crash signals of this process from now on; the calling thread gets a stack for the handler, so
 * that a stack overflow is named too.  0 or -errno. */
int pse_faults_install(const pse_faults_reporter *reporter);

/* Handle SIGINT and SIGTERM: `interrupt` (async-signal-safe) asks whoever is in charge to end the rank in
 * good order; a module that doesn't return in time, or a second signal, ends it at once.  0 or -errno. */
int pse_faults_install_stops(void (*interrupt)(int number));

/* The call that ran as the signal came that stops this process; NULL: none did. */
const char *pse_faults_stopped_call(void);

/* Where a stop is deferred: a pipe that is told the signal's number, how long the rank may take to end then,
 * and what is said if it takes longer.  The other ranks of the node get the signal too. */
typedef struct pse_faults_deferral {
    int fd; /* -1: not deferred */
    int milliseconds;
    const char *late; /* Kept for good. */
} pse_faults_deferral;

/* Defer stops from now on, or with NULL no longer: then the next signal counts as the first again. */
void pse_faults_defer_stops(const pse_faults_deferral *to);

/* MPI begins to end in this process: the run fails, by the name of the module that did it, unless it is done.
 */
void pse_faults_finalize_called(void);

/* Have MPI_Abort, called by what is loaded from now on, fail the run by the name of the module that did it.
 */
void pse_faults_find_aborts(void);

/* A call of MPI failed whose errors nobody handles: the run fails, by the name of the module that made it. */
void pse_faults_mpi_failed(const char *reason);

/* From now on an abort follows the report of a sanitizer with which modules were built. */
void pse_faults_expect_sanitizers(void);

/* From now on writes to the arrays that `at` (async-signal-safe) knows by name are writes to an input. */
typedef const char *(*pse_faults_finder)(const void *address);
void pse_faults_expect_protected_inputs(pse_faults_finder at);

/* What opens a window with a debugger for this process (its first word is NULL: nothing does), and what is
 * said then; all of it is kept for good. */
void pse_faults_prepare_debugger(const char *const *command, const char *const *environment,
                                 const char *text);

/* Start a command that writes its standard output to a descriptor; both lists end with NULL.  Returns its
 * process, or -1.  Async-signal-safe, on any stack; by one thread at a time. */
pid_t pse_faults_start(const char *const *command, const char *const *environment, int output);

/* Open it, and wait until a debugger has this process; safe in a signal handler. */
void pse_faults_wait_for_debugger(void);

/* From now on a crash waits for a debugger before it is reported. */
void pse_faults_debug_crashes(void);

/* How a process ended that is not our child: a wait status, or PSE_STATUS_UNKNOWN where the kernel doesn't
 * tell. */
int pse_faults_exit_status(int pidfd, pid_t pid);

/* Whether a module has forked this process of the rank that prepared for crashes.  Async-signal-safe. */
bool pse_faults_is_forked(void);

/* Whether a process has ended, or its end has begun.  Async-signal-safe. */
bool pse_faults_is_ending(pid_t pid);

/* Say who died, how, and what it ran: an error block of a few lines.  `slot` may be NULL where there is no
 * board yet, `site` where no module ran. */
void pse_faults_describe_death(pse_faults_text *words, const char *who, int status, const pse_slot *slot,
                               const char *site);

/* End this process and, where MPICH's hydra started it and no launcher of ours watches, the whole job: hydra
 * then returns `code` too, where a mere exit would race with its own clean-up.  Async-signal-safe. */
_Noreturn void pse_faults_leave(const pse_faults_reporter *reporter, int code);

/* The same a moment later: hydra drops what it has not yet read of the output that came before. */
_Noreturn void pse_faults_leave_slowly(const pse_faults_reporter *reporter, int code);

/* Add which TPH a rank worked on: ", TPH 65538 (iteration 1)". */
void pse_faults_add_tph(pse_faults_text *words, const pse_slot *slot);

/* Have crashes tell the user's stack frames: `helper` (a command, then the text of Python's frames, then
 * addresses of code) prints them as lines of a report. Both end with NULL and are kept for good. */
void pse_faults_prepare_stack_frames(const char *const *helper, const char *const *environment);

/* Have them tell Python's frames too: the handler of this signal writes those of its thread to the start of
 * the file, as Python's faulthandler does. */
void pse_faults_prepare_python_frames(int number, int fd);

/* Where the stack ends of what a signal interrupted (a ucontext_t). */
uintptr_t pse_faults_stack_pointer(const void *context);

/* Add the stack frames of this thread, from where a signal interrupted it (a ucontext_t; NULL: from here). An
 * unsound stack may crash it. */
void pse_faults_add_stack_frames(pse_faults_text *words, const void *context);

/* Hand over a report, once for the node; returns whether this one was first. */
bool pse_faults_report(const pse_faults_reporter *reporter, uint32_t failed_rank,
                       const pse_faults_text *words);

#ifdef __cplusplus
}
#endif
#endif
