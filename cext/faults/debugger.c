#define _GNU_SOURCE
#include "faults.h"
#include "signal_safe_text.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

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

/* A debugger that attaches stops the process: of all calls that wait, this one tells it afterwards, also
 * where the debugger has left again. */
static void wait_to_be_stopped(void)
{
    sigset_t none;
    sigemptyset(&none);
    sigwaitinfo(&none, NULL);
}

void pse_faults_wait_for_debugger(void)
{
    static pse_faults_text words;
    words.length = 0;
    pse_faults_text_add(&words, announcement);
    pse_faults_text_write(&words, STDERR_FILENO, false);
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
    open_window();
    if (!is_traced())
        wait_to_be_stopped();
}
