#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "faults.h"
#include "signal_safe_text.h"

/* The kernel's struct pidfd_info in its first form (Linux 6.15 tells the exit code); older headers don't have
 * it. */
typedef struct pidfd_info_v0 {
    uint64_t mask;
    uint64_t cgroup;
    uint32_t ids[11];
    int32_t exit_code;
} pidfd_info_v0;
#define FLAGS_AFTER_STATE 6  /* fields of /proc/PID/stat */
#define KERNEL_EXITING 0x4ul /* PF_EXITING: it ends, and other processes may already have felt it */
#define INFO_EXIT (UINT64_C(1) << 3)
#define INFO_REQUEST _IOWR(0xFF, 11, pidfd_info_v0)

static int status_after_reaping(int pidfd)
{
    pidfd_info_v0 info = {.mask = INFO_EXIT};
    if (ioctl(pidfd, INFO_REQUEST, &info) != 0 || !(info.mask & INFO_EXIT))
        return PSE_STATUS_UNKNOWN;
    return info.exit_code;
}

/* The state in a process's /proc/PID/stat and what follows it, which every kernel has; NULL if it is gone.
 * Async-signal-safe. */
static const char *read_state(pid_t pid, char *text, size_t size)
{
    pse_faults_text path = {.length = 0};
    pse_faults_text_add(&path, "/proc/");
    pse_faults_text_add_number(&path, pid);
    pse_faults_text_add(&path, "/stat");
    int fd = open(path.text, O_RDONLY | O_CLOEXEC);
    ssize_t length = fd < 0 ? -1 : read(fd, text, size - 1);
    if (fd >= 0)
        close(fd);
    if (length <= 0)
        return NULL;
    text[length] = '\0';
    const char *name_end = strrchr(text, ')');
    return name_end != NULL && name_end[1] == ' ' ? name_end + 2 : NULL;
}

/* The last field of a zombie's line. */
static int status_of_zombie(pid_t pid)
{
    char text[1024];
    const char *state = read_state(pid, text, sizeof text), *last = state ? strrchr(state, ' ') : NULL;
    return last != NULL && *state == 'Z' ? atoi(last) : PSE_STATUS_UNKNOWN;
}

bool pse_faults_is_ending(pid_t pid)
{
    char text[1024];
    if (kill(pid, 0) != 0 && errno == ESRCH)
        return true;
    const char *field = read_state(pid, text, sizeof text);
    if (field != NULL && (*field == 'Z' || *field == 'X'))
        return true;
    for (int i = 0; i < FLAGS_AFTER_STATE && field != NULL; i++)
        field = strchr(field + 1, ' ');
    return field != NULL && (strtoul(field, NULL, 10) & KERNEL_EXITING) != 0;
}

/* The parent may reap the process between two looks, so the first is taken once more. */
int pse_faults_exit_status(int pidfd, pid_t pid)
{
    int status = status_after_reaping(pidfd);
    if (status == PSE_STATUS_UNKNOWN)
        status = status_of_zombie(pid);
    return status == PSE_STATUS_UNKNOWN ? status_after_reaping(pidfd) : status;
}
