#define _GNU_SOURCE
#include "faults.h"
#include "signal_safe_text.h"

#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LOOK_MILLISECONDS 50
#define STOPPED_SECONDS 2 /* Such a look was interrupted by a debugger that has left already. */

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
    if (opening[0] == NULL)
        return;
    pid_t child = vfork();
    if (child == 0) {
        execve(opening[0], (char *const *)opening, (char *const *)environment);
        _exit(127);
    }
}

static bool look_is_long(void)
{
    struct timespec before, after;
    clock_gettime(CLOCK_MONOTONIC, &before);
    poll(NULL, 0, LOOK_MILLISECONDS);
    clock_gettime(CLOCK_MONOTONIC, &after);
    return after.tv_sec - before.tv_sec > STOPPED_SECONDS;
}

void pse_faults_wait_for_debugger(void)
{
    static pse_faults_text words;
    words.length = 0;
    pse_faults_text_add(&words, announcement);
    pse_faults_text_write(&words, STDERR_FILENO, false);
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
    open_window();
    while (!is_traced() && !look_is_long())
        ;
}
