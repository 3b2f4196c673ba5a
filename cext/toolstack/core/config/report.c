/* Errors and warnings on standard error, and the end of a process. */
#include "config/report.h"

#include "abi_environment.h"
#include "abi_waiting.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#define PATIENCE 1000 /* ms */
#define ENDING 1250   /* ms: Open MPI 4.1 lets a second pass between the first end and the others' */
#define TURN 250      /* ms */
#define LAST_TURN 8

/* What the first of some environment variables has that is set; NULL if none is. */
static const char *first_of(const char *const *names)
{
    for (; *names; names++) {
        const char *value = getenv(*names);
        if (value && *value)
            return value;
    }
    return NULL;
}

static int number(const char *const *names)
{
    const char *value = first_of(names);
    return value ? atoi(value) : -1;
}

int pse_toolstack_rank(void)
{
    static const char *const names[] = {PSE_RANK_VARIABLES, NULL};
    return number(names);
}

static int local_rank(void)
{
    static const char *const names[] = {PSE_LOCAL_RANK_VARIABLES, NULL};
    return number(names);
}

static bool speaks(bool everywhere)
{
    return !everywhere || local_rank() <= 0;
}

void pse_toolstack_await_turn(void)
{
    const int rank = local_rank(), turn = rank < LAST_TURN ? rank : LAST_TURN;
    const int wait = ENDING + turn * TURN;
    struct timespec pause = {.tv_sec = wait / 1000, .tv_nsec = wait % 1000 * 1000000};
    if (turn > 0)
        nanosleep(&pause, NULL);
}

/* In one write: ranks share the terminal. */
static void line(const char *kind, const char *format, va_list rest)
{
    char text[2048];
    int length = snprintf(text, sizeof text, "%s: ", kind);
    length += vsnprintf(text + length, sizeof text - 1 - (size_t)length, format, rest);
    if (length > (int)sizeof text - 2)
        length = sizeof text - 2;
    text[length++] = '\n';
    if (write(STDERR_FILENO, text, (size_t)length) < 0)
        return;
}

/* The launcher forgets what it has not read yet when it ends a job. */
static void let_read(void)
{
    const struct timespec pause = {.tv_nsec = 1000000};
    int left = 0;
    for (int i = 0; i < PATIENCE && ioctl(STDERR_FILENO, FIONREAD, &left) == 0 && left > 0; i++)
        nanosleep(&pause, NULL);
}

/* A rank that leaves before MPI_Init is waited for by the others for ever, unless MPICH's launcher is told.
 */
static void end_job(void)
{
    static const char command[] = PSE_PMI_ABORT "2\n";
    static const char *const hydra[] = {PSE_HYDRA_VARIABLES, NULL};
    const char *proxy = getenv("PMI_FD");
    if (!proxy || !first_of(hydra))
        return;
    let_read();
    if (write(atoi(proxy), command, sizeof command - 1) < 0)
        return;
}

void pse_toolstack_die(bool everywhere, const char *format, ...)
{
    va_list rest;
    va_start(rest, format);
    fflush(stdout);
    if (speaks(everywhere)) {
        line("error", format, rest);
        end_job();
    }
    va_end(rest);
    _exit(PSE_EXIT_USAGE);
}

void pse_toolstack_warn(bool everywhere, const char *format, ...)
{
    va_list rest;
    va_start(rest, format);
    if (speaks(everywhere))
        line("warning", format, rest);
    va_end(rest);
}
