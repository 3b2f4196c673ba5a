/* Stands for a rank under mpiexec:
 *
 *   _forked_rank COMMAND ARGUMENT…
 *
 * A rank is Python with all that it has to load.  A fork server (pse/runtime/launch/_fork_server.py) has
 * loaded that once, and forks this rank; it gets the standard streams and the socket of PMI that mpiexec gave
 * this process, and looks up the rest in /proc.  Signals are passed on, and this process ends as the rank
 * does.  Where the server can't be reached, or ends before it has forked, this process executes the command
 * itself. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "abi_environment.h"

#define PASSED_STREAMS 4 /* 0, 1, 2, and the socket of PMI */
#define NOT_EXECUTABLE 127
#define AFTER_SIGNAL 128

extern char **environ;

static const int passed_on[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM, SIGCONT};

static int pmi_socket(void)
{
    const char *text = getenv("PMI_FD");
    char *end = NULL;
    long number = text != NULL ? strtol(text, &end, 10) : -1;
    return end != NULL && end != text && *end == '\0' ? (int)number : -1;
}

/* The server's socket has a name without a place in the file system. */
static int connect_to_server(const char *name)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t length = strlen(name);
    if (length + 1 > sizeof address.sun_path)
        return -1;
    memcpy(address.sun_path + 1, name, length);
    int server = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + length);
    if (server < 0 || connect(server, (struct sockaddr *)&address, size) == 0)
        return server;
    close(server);
    return -1;
}

static bool pass_streams(int server, int pmi)
{
    const int streams[PASSED_STREAMS] = {0, 1, 2, pmi};
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(sizeof streams)];
    } control = {.bytes = {0}};
    struct iovec word = {.iov_base = (char[]){'r'}, .iov_len = 1};
    struct msghdr message = {.msg_iov = &word,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof control.bytes};
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof streams);
    memcpy(CMSG_DATA(head), streams, sizeof streams);
    return sendmsg(server, &message, MSG_NOSIGNAL) == 1;
}

static bool receive_number(int server, int *number)
{
    ssize_t got;
    do
        got = recv(server, number, sizeof *number, 0);
    while (got < 0 && errno == EINTR);
    return got == sizeof *number;
}

/* Nobody who looks for ranks in /proc is to take this process for one, or waits for the end of its streams.
 */
static void hide(int pmi)
{
    for (char **entry = environ; *entry != NULL; entry++)
        memset(*entry, 0, strlen(*entry));
    for (int stream = 0; stream <= 2; stream++)
        close(stream);
    close(pmi);
}

static void end_like(int status)
{
    if (WIFEXITED(status))
        _exit(WEXITSTATUS(status));
    const struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    sigset_t all;
    sigfillset(&all);
    signal(WTERMSIG(status), SIG_DFL);
    raise(WTERMSIG(status));
    sigprocmask(SIG_UNBLOCK, &all, NULL);
    _exit(AFTER_SIGNAL + WTERMSIG(status));
}

/* The server leaves the rank unreaped, so that its number stays its own until the last word has come. */
static void stand_for(pid_t rank, int server, int signals)
{
    struct pollfd ready[] = {{.fd = server, .events = POLLIN}, {.fd = signals, .events = POLLIN}};
    for (;;) {
        if (poll(ready, 2, -1) < 0)
            continue;
        struct signalfd_siginfo came;
        if (ready[1].revents != 0 && read(signals, &came, sizeof came) == sizeof came)
            kill(rank, (int)came.ssi_signo);
        int status = SIGKILL;
        if (ready[0].revents != 0) {
            receive_number(server, &status);
            end_like(status);
        }
    }
}

int main(int count, char **words)
{
    const char *name = getenv(PSE_FORK_SERVER_VARIABLE);
    int pmi = pmi_socket(), rank = 0;
    int server = name != NULL && pmi >= 0 ? connect_to_server(name) : -1;
    sigset_t passed, before;
    sigemptyset(&passed);
    for (size_t i = 0; i < sizeof passed_on / sizeof *passed_on; i++)
        sigaddset(&passed, passed_on[i]);
    sigprocmask(SIG_BLOCK, &passed, &before);
    if (server >= 0 && pass_streams(server, pmi) && receive_number(server, &rank)) {
        hide(pmi);
        stand_for(rank, server, signalfd(-1, &passed, SFD_CLOEXEC));
    }
    sigprocmask(SIG_SETMASK, &before, NULL);
    if (count > 1)
        execvp(words[1], words + 1);
    return NOT_EXECUTABLE;
}
