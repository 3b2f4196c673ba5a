#define _GNU_SOURCE
#include "faults.h"
#include "signal_safe_text.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#define LOOK_NANOSECONDS 50000000

static const char *const *opening, *const *environment;
static const char *announcement;

void pse_faults_prepare_debugger(const char *const *command, const char *const *its_environment,
                                 const char *text)
{
    opening = command;
    environment = its_environment;
    announcement = text;
}

static bool is_traced(void)
{
    static const char name[] = "TracerPid:\t";
    char status[2048];
    int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
    ssize_t length = fd >= 0 ? read(fd, status, sizeof status - 1) : 0;
    if (fd >= 0)
        close(fd);
    status[length > 0 ? length : 0] = '\0';
    const char *found = strstr(status, name);
    return found != NULL && found[sizeof name - 1] != '0';
}

static void open_window(void)
{
    if (opening[0] != NULL)
        pse_faults_start(opening, environment, STDOUT_FILENO);
}

/* A debugger that attached stopped the process: of all calls that wait, this one tells it afterwards, also
 * where the debugger has left again. */
static bool was_stopped(void)
{
    struct timespec look = {.tv_nsec = LOOK_NANOSECONDS};
    sigset_t none;
    sigemptyset(&none);
    return sigtimedwait(&none, NULL, &look) < 0 && errno == EINTR;
}

void pse_faults_wait_for_debugger(void)
{
    static pse_faults_text words;
    words.length = 0;
    pse_faults_text_add(&words, announcement);
    pse_faults_text_write(&words, STDERR_FILENO, false);
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
    open_window();
    while (!is_traced() && !was_stopped())
        ;
}
