#define _GNU_SOURCE
#include "clock.h"
#include "faults.h"
#include "signal_safe_text.h"

#include <execinfo.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#define MOST_FRAMES 128
#define PYTHON_TEXT 4096
#define ADDRESS_TEXT 20
#define HELPER_WORDS 8
#define PATIENCE_MILLISECONDS 6000

static const char *command[HELPER_WORDS + 1 + MOST_FRAMES + 1];
static const char *const *environment;
static int words_of_helper;
static int python_signal, python_fd = -1;
static char addresses[MOST_FRAMES][ADDRESS_TEXT]; /* Not on the handler's small stack. */

void pse_faults_prepare_stack_frames(const char *const *helper, const char *const *its_environment)
{
    void *loads_the_unwinder[1];
    backtrace(loads_the_unwinder, 1); /* Its first call allocates memory, which a crash handler must not. */
    for (words_of_helper = 0; helper[words_of_helper] != NULL && words_of_helper < HELPER_WORDS;)
        command[words_of_helper] = helper[words_of_helper], words_of_helper++;
    environment = its_environment;
}

void pse_faults_prepare_python_frames(int number, int fd)
{
    python_signal = number;
    python_fd = fd;
}

/* What the handler of that signal writes of this thread's Python frames. */
static const char *python_frames(void)
{
    static char text[PYTHON_TEXT];
    ssize_t length = 0;
    if (python_fd >= 0 && lseek(python_fd, 0, SEEK_SET) == 0 && raise(python_signal) == 0)
        length = pread(python_fd, text, sizeof text - 1, 0);
    text[length > 0 ? length : 0] = '\0';
    return text;
}

uintptr_t pse_faults_stack_pointer(const void *context)
{
    const ucontext_t *interrupted = context;
#if defined(__x86_64__)
    return (uintptr_t)interrupted->uc_mcontext.gregs[REG_RSP];
#elif defined(__aarch64__)
    return (uintptr_t)interrupted->uc_mcontext.sp;
#endif
}

static uintptr_t interrupted_at(const ucontext_t *context)
{
#if defined(__x86_64__)
    return (uintptr_t)context->uc_mcontext.gregs[REG_RIP];
#elif defined(__aarch64__)
    return (uintptr_t)context->uc_mcontext.pc;
#endif
}

/* After a jump to a wrong address this is all that is known of the stack. */
static uintptr_t return_address(const ucontext_t *context)
{
#if defined(__x86_64__)
    return *(const uintptr_t *)pse_faults_stack_pointer(context);
#elif defined(__aarch64__)
    return (uintptr_t)context->uc_mcontext.regs[30];
#endif
}

static void add_address(int *count, uintptr_t address)
{
    static const char digits[] = "0123456789abcdef";
    char *text = addresses[*count], *end = text + ADDRESS_TEXT - 1;
    for (*end = '\0'; address != 0 && end > text; address /= 16)
        *--end = digits[address % 16];
    command[words_of_helper + 1 + (*count)++] = end;
}

/* The frames of a signal: those of its handler are left out.  Returns how many frames were consumed. */
static int add_interrupted(const ucontext_t *context, void *const *frames, int found, int *count)
{
    uintptr_t at = interrupted_at(context);
    int first = 0;
    while (first < found && (uintptr_t)frames[first] != at)
        first++;
    add_address(count, at);
    if (first + 1 >= found)
        add_address(count, return_address(context) - 1);
    return first + 1;
}

/* A return address lies behind its call, whose line is wanted. */
static int unwind(const ucontext_t *context)
{
    static void *frames[MOST_FRAMES];
    int found = backtrace(frames, MOST_FRAMES), count = 0;
    int first = context != NULL ? add_interrupted(context, frames, found, &count) : 0;
    for (int i = first; i < found && count < MOST_FRAMES; i++)
        add_address(&count, (uintptr_t)frames[i] - 1);
    command[words_of_helper] = python_frames();
    command[words_of_helper + 1 + count] = NULL;
    return count;
}

static int64_t milliseconds(void)
{
    return (int64_t)(pse_clock() / 1000000);
}

static void add_output(pse_faults_text *words, int input)
{
    int64_t end = milliseconds() + PATIENCE_MILLISECONDS, left;
    while ((left = end - milliseconds()) > 0) {
        char part[512];
        struct pollfd ready = {.fd = input, .events = POLLIN};
        ssize_t length = poll(&ready, 1, (int)left) > 0 ? read(input, part, sizeof part - 1) : 0;
        if (length <= 0)
            return;
        part[length] = '\0';
        pse_faults_text_add(words, part);
    }
}

void pse_faults_add_stack_frames(pse_faults_text *words, const void *context)
{
    int ends[2];
    if (words_of_helper == 0 || unwind(context) == 0 || pipe2(ends, O_CLOEXEC) != 0)
        return;
    pid_t child = pse_faults_start(command, environment, ends[1]);
    close(ends[1]);
    if (child > 0) {
        add_output(words, ends[0]);
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
    }
    close(ends[0]);
}
