# cython: language_level=3
"""Python face of cext/faults/faults.h: crash handler, how a process ended, words for a death."""

from libc.stdint cimport uint32_t, uintptr_t
from libc.stdlib cimport malloc
from libc.string cimport strdup

import os

from pse._abi.channel cimport pse_slot
from pse.runtime._channel cimport Board, pse_board, pse_board_slot

cdef extern from "signal_safe_text.h" nogil:
    ctypedef struct pse_faults_text:
        size_t length
        char *text

cdef extern from "faults.h" nogil:
    const char *pse_faults_calls[2]
    enum:
        PSE_STATUS_UNKNOWN
    ctypedef struct pse_faults_reporter:
        pse_board *board
        uint32_t rank
        int fd
        bint framed
        int pmi
        const char *who
    int pse_faults_install(const pse_faults_reporter *reporter)
    void pse_faults_prepare_stack_frames(const char *const *helper, const char *const *environment)
    void pse_faults_prepare_python_frames(int number, int fd)
    int pse_faults_install_stops(void (*interrupt)(int number) noexcept nogil)
    ctypedef struct pse_faults_deferral:
        int fd
        int milliseconds
        const char *late
    void pse_faults_defer_stops(const pse_faults_deferral *to)
    void pse_faults_find_aborts()
    const char *pse_faults_stopped_call()
    bint pse_faults_is_forked()
    void pse_faults_finalize_called()
    void pse_faults_mpi_failed(const char *reason)
    void pse_faults_expect_sanitizers()
    ctypedef const char *(*pse_faults_finder)(const void *address)
    void pse_faults_expect_protected_inputs(pse_faults_finder at)
    void pse_faults_prepare_debugger(const char *const *command, const char *const *environment,
                                     const char *text)
    void pse_faults_wait_for_debugger()
    void pse_faults_debug_crashes()
    void pse_faults_leave_slowly(const pse_faults_reporter *reporter, int code)
    int pse_faults_exit_status(int pidfd, int pid)
    void pse_faults_describe_death(pse_faults_text *words, const char *who, int status, const pse_slot *slot,
                                   const char *site)


cdef extern from "Python.h" nogil:
    int PyErr_SetInterruptEx(int number)

cdef Board reporting_board = None  # Keeps the board mapped for the handler.
cdef pse_faults_reporter reporter


def culprit_address():
    """Give the address where the sequencer keeps the texts of the call that runs now, and of the last."""
    return <uintptr_t>&pse_faults_calls


def stopped_call():
    """Give the text of the call that ran as the signal came that stops this rank; an empty one if none did."""
    cdef const char *call = pse_faults_stopped_call()
    return call.decode(errors="replace") if call is not NULL else ""


def install(Board board, uint32_t rank, str who, int fd, bint framed, int pmi):
    """Handle crash signals from now on, and report to `fd` (`framed`: the launcher's record file).

    `pmi` is the descriptor of hydra's proxy, by which a failure ends the whole job, or -1.
    """
    global reporting_board
    reporting_board = board
    reporter.board, reporter.rank, reporter.fd, reporter.framed = board.open_board(), rank, fd, framed
    reporter.pmi = pmi
    # For good: the handler reads it until the process ends.
    reporter.who = strdup(who.encode(errors="backslashreplace"))
    if reporter.who is NULL:
        raise MemoryError("no memory left for the name of a rank")
    cdef int code = pse_faults_install(&reporter)
    if code != 0:
        raise OSError(-code, os.strerror(-code))


cdef const char **kept_texts(list texts) except NULL:
    """Copy texts for good, with a final NULL: the crash handler reads them until the process ends."""
    cdef const char **kept = <const char **>malloc((len(texts) + 1) * sizeof(char *))
    if kept is NULL:
        raise MemoryError("no memory left for a list of texts")
    for i, text in enumerate(texts):
        kept[i] = strdup(os.fsencode(text))
    kept[len(texts)] = NULL
    return kept


def prepare_stack_frames(list command, list environment):
    """Have crashes tell the user's stack frames: `command` prints those whose addresses follow."""
    pse_faults_prepare_stack_frames(kept_texts(command), kept_texts(environment))


def prepare_python_frames(int number, int fd):
    """Have crashes tell Python's frames too, which the handler of a signal writes to a file."""
    pse_faults_prepare_python_frames(number, fd)


cdef void interrupt(int number) noexcept nogil:
    PyErr_SetInterruptEx(number)


def catch_stops():
    """Handle SIGINT and SIGTERM: Python's handlers run, and no module that never returns holds them up."""
    cdef int code = pse_faults_install_stops(interrupt)
    if code != 0:
        raise OSError(-code, os.strerror(-code))


def defer_stops(int fd, double seconds, str late):
    """Have the pipe `fd` told of SIGINT and SIGTERM; `late` is said where the rank has not ended in time."""
    cdef pse_faults_deferral to
    to.fd, to.milliseconds = fd, <int>(1000 * seconds)
    to.late = strdup(late.encode(errors="backslashreplace"))  # For good, as above.
    if to.late is NULL:
        raise MemoryError("no memory left for a text")
    pse_faults_defer_stops(&to)


def end_deferral():
    """End the process soon after a signal again; one that has come counts no longer."""
    pse_faults_defer_stops(NULL)


def expect_protected_inputs(uintptr_t finder):
    """From now on crashes at what a function finds (`Sequencer.input_finder`) are writes to an input."""
    pse_faults_expect_protected_inputs(<pse_faults_finder>finder)


def expect_sanitizers():
    """From now on an abort follows a sanitizer's report."""
    pse_faults_expect_sanitizers()


def prepare_debugger(list command, list environment, str text):
    """Set what opens a window with a debugger (an empty list: nothing does), and what is said then."""
    pse_faults_prepare_debugger(kept_texts(command), kept_texts(environment), kept_texts([text])[0])


def wait_for_debugger():
    """Wait until a debugger has this process; `prepare_debugger` comes first."""
    with nogil:
        pse_faults_wait_for_debugger()


def debug_crashes():
    """From now on a crash waits for a debugger; `prepare_debugger` comes first."""
    pse_faults_debug_crashes()


def leave(int code):
    """End this process, and the job where nobody else does; `install` comes first."""
    pse_faults_leave_slowly(&reporter, code)


def find_aborts():
    """Have calls of MPI_Abort fail the run, by the name of the module; to be called before MPI is loaded."""
    pse_faults_find_aborts()


def is_forked():
    """Say whether a module has forked this process of the rank that was installed."""
    return pse_faults_is_forked()


def finalize_called():
    """Fail the run, by the name of the module that called MPI_Finalize, unless it is done."""
    pse_faults_finalize_called()


def mpi_failed(str reason):
    """Fail the run, by the name of the module that made a call of MPI which failed."""
    pse_faults_mpi_failed(reason.encode(errors="backslashreplace"))


def exit_status(int pidfd, int pid):
    """Give the wait status of a process that has ended; None where the kernel doesn't tell."""
    cdef int status = pse_faults_exit_status(pidfd, pid)
    return None if status == PSE_STATUS_UNKNOWN else status


def describe_death(Board board, uint32_t rank, str who, status, str site):
    """Say who died, how (a wait status or None), and what it ran; `board` and `site` may be None."""
    cdef pse_faults_text words
    cdef bytes name = who.encode(errors="backslashreplace")
    cdef bytes place = b"" if site is None else site.encode(errors="backslashreplace")
    cdef const char *where = NULL
    if site is not None:
        where = place
    words.length = 0
    cdef const pse_slot *slot = NULL
    if board is not None:
        slot = pse_board_slot(board.open_board(), rank)
    cdef int code = PSE_STATUS_UNKNOWN if status is None else <int>status
    pse_faults_describe_death(&words, name, code, slot, where)
    return (<bytes>words.text[:words.length]).decode(errors="replace")
