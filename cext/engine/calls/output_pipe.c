#define _GNU_SOURCE
#include "calls/output_pipe.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <unistd.h>

#define STREAMS 2
#define PREFIX_ROOM 512
#define LINE_ROOM (64u << 10)
#define PATIENCE_MS 50

/* One of the descriptors 1 and 2. */
typedef struct stream {
    int original, end; /* what it was; where the thread reads */
    bool terminal;     /* somebody may wait for the part of a line, as for a prompt */
    bool begun;        /* the line in `line` begins with its prefix, or goes on after what was written */
    size_t length;
    char line[PREFIX_ROOM + LINE_ROOM];
} stream;

struct pse_engine_output_pipe {
    stream streams[STREAMS];
    char prefix[PREFIX_ROOM];
    pthread_mutex_t lock;
    pthread_t thread;
    pid_t owner; /* A process that a module forks has the pipes, but not the thread. */
    int over;    /* an eventfd */
};

static void write_all(int fd, const char *data, size_t length)
{
    while (length > 0) {
        ssize_t done = write(fd, data, length);
        if (done < 0 && errno == EAGAIN)
            poll(&(struct pollfd){.fd = fd, .events = POLLOUT}, 1, -1);
        else if (done < 0 && errno != EINTR)
            return; /* Nobody reads it any more. */
        else if (done > 0)
            data += done, length -= (size_t)done;
    }
}

/* Lines of ranks that share a pipe don't mix: longer ones are not written at once. */
static void flush_line(stream *at, bool ends)
{
    flock(at->original, LOCK_EX);
    write_all(at->original, at->line, at->length);
    flock(at->original, LOCK_UN);
    at->length = 0;
    at->begun = !ends;
}

static void add(pse_engine_output_pipe *pipes, stream *at, const char *data, size_t length)
{
    while (length > 0) {
        if (!at->begun) {
            at->length = strlen(pipes->prefix);
            memcpy(at->line, pipes->prefix, at->length);
            at->begun = true;
        }
        const char *newline = memchr(data, '\n', length);
        size_t part = newline != NULL ? (size_t)(newline - data) + 1 : length;
        size_t room = sizeof at->line - at->length;
        bool whole = newline != NULL && part <= room;
        if (part > room)
            part = room;
        memcpy(at->line + at->length, data, part);
        at->length += part, data += part, length -= part;
        if (whole || at->length == sizeof at->line)
            flush_line(at, whole);
    }
}

/* Take what was written so far; the lock is held. */
static void take(pse_engine_output_pipe *pipes, stream *at)
{
    char data[4096];
    ssize_t length;
    while ((length = read(at->end, data, sizeof data)) > 0)
        add(pipes, at, data, (size_t)length);
}

/* Write what no newline has followed for a while; -1: there is nothing of that kind. */
static int show_parts(pse_engine_output_pipe *pipes, bool now)
{
    int patience = -1;
    for (int i = 0; i < STREAMS; i++) {
        stream *at = &pipes->streams[i];
        if (at->terminal && at->length > 0 && now)
            flush_line(at, false);
        else if (at->terminal && at->length > 0)
            patience = PATIENCE_MS;
    }
    return patience;
}

static void *follow(void *argument)
{
    pse_engine_output_pipe *pipes = argument;
    int patience = -1;
    struct pollfd ready[STREAMS + 1];
    for (int i = 0; i < STREAMS; i++)
        ready[i] = (struct pollfd){.fd = pipes->streams[i].end, .events = POLLIN};
    ready[STREAMS] = (struct pollfd){.fd = pipes->over, .events = POLLIN};
    while (ready[STREAMS].revents == 0) {
        int count = poll(ready, STREAMS + 1, patience);
        if (count < 0)
            continue;
        pthread_mutex_lock(&pipes->lock);
        for (int i = 0; i < STREAMS; i++)
            take(pipes, &pipes->streams[i]);
        patience = show_parts(pipes, count == 0);
        pthread_mutex_unlock(&pipes->lock);
    }
    return NULL;
}

/* Signals are for the rank's own thread. */
static int start_thread(pse_engine_output_pipe *pipes)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int code = pthread_create(&pipes->thread, NULL, follow, pipes);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return -code;
}

static int redirect(stream *at, int fd)
{
    int ends[2];
    at->original = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    if (at->original < 0 || pipe2(ends, O_CLOEXEC) != 0)
        return -errno;
    at->terminal = isatty(at->original);
    at->end = ends[0];
    int code = fcntl(at->end, F_SETFL, O_NONBLOCK) == 0 && dup2(ends[1], fd) >= 0 ? 0 : -errno;
    close(ends[1]);
    return code;
}

static void put_back(stream *at, int fd)
{
    if (at->end >= 0) {
        dup2(at->original, fd);
        close(at->end);
    }
    if (at->original >= 0)
        close(at->original);
}

int pse_engine_output_pipe_open(pse_engine_output_pipe **out)
{
    pse_engine_output_pipe *pipes = *out = calloc(1, sizeof *pipes);
    if (pipes == NULL)
        return -ENOMEM;
    fflush(NULL);
    pthread_mutex_init(&pipes->lock, NULL);
    pipes->owner = getpid();
    pipes->over = eventfd(0, EFD_CLOEXEC);
    int code = pipes->over < 0 ? -errno : 0;
    for (int i = 0; i < STREAMS; i++)
        pipes->streams[i].original = pipes->streams[i].end = -1;
    for (int i = 0; i < STREAMS && code == 0; i++)
        code = redirect(&pipes->streams[i], i + 1);
    if (code == 0)
        code = start_thread(pipes);
    if (code != 0) {
        for (int i = 0; i < STREAMS; i++)
            put_back(&pipes->streams[i], i + 1);
        close(pipes->over);
        free(pipes);
        *out = NULL;
    }
    return code;
}

void pse_engine_output_pipe_set_prefix(pse_engine_output_pipe *pipes, const char *prefix)
{
    if (getpid() != pipes->owner)
        return;
    fflush(stdout);
    pthread_mutex_lock(&pipes->lock);
    for (int i = 0; i < STREAMS; i++) {
        stream *at = &pipes->streams[i];
        take(pipes, at);
        if (at->begun)
            add(pipes, at, "\n", 1);
    }
    snprintf(pipes->prefix, sizeof pipes->prefix, "%s", prefix);
    pthread_mutex_unlock(&pipes->lock);
}

void pse_engine_output_pipe_close(pse_engine_output_pipe *pipes)
{
    if (getpid() != pipes->owner)
        return;
    pse_engine_output_pipe_set_prefix(pipes, "");
    eventfd_write(pipes->over, 1);
    pthread_join(pipes->thread, NULL);
    for (int i = 0; i < STREAMS; i++)
        put_back(&pipes->streams[i], i + 1);
    close(pipes->over);
    free(pipes);
}
