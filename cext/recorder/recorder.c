/* The recorder's file: header page, then windows of records that are mapped one at a time.
 *
 * A window is reserved (fallocate) before it is mapped, and its pages are made present a step at a time
 * before they are written to: zeros are written to the file, then its pages are mapped (MADV_POPULATE_WRITE).
 * So no store ever meets a missing page: neither a page fault per 85 records, nor a SIGBUS on a full disk.
 * Steps are small, for the pause of one is what a traced rank feels.
 *
 * Zeros come first because a write lets the file system take large folios; a fault takes a page, and each
 * writable one costs the file system a transaction.  ext4 under Linux 6.18: 0.8 us a page instead of 3.4.
 *
 * Rejected: one huge sparse mapping (a full disk is a SIGBUS); write(2) of a private buffer (a killed rank
 * loses it); a thread that prepares the next window (ranks share cores).
 *
 */
#define _GNU_SOURCE
#include "recorder.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "abi_environment.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14; older kernels say EINVAL. */
#endif

/* Multiples of 4096 records of 48 bytes are multiples of 64 KiB, so windows and steps end with a page of any
 * size. */
enum {
    HEADER_BYTES = 65536,
    STEP_RECORDS = 4096,     /* 192 KiB: made present at a time. */
    WINDOW_RECORDS = 131072, /* 6 MiB: reserved and mapped at a time. */
    DISCARD_RECORDS = 16,
};

static const size_t WINDOW_BYTES = WINDOW_RECORDS * sizeof(pse_event);
static char zeros[STEP_RECORDS * sizeof(pse_event)]; /* Never written to: the system has one page for all. */

static_assert(sizeof(pse_event) == 48, "a record has 48 bytes, in every version and on every machine");
static_assert(offsetof(pse_trace_header, host) == 72, "the header has no gaps");

typedef struct recorder_file {
    pse_recorder *head; /* The caller's, or `own`. */
    pse_recorder own;
    pse_trace_header *header;
    pse_event *window; /* NULL once recording has stopped. */
    uint64_t before;   /* Records in the windows before this one. */
    int fd;
    int error;
    char path[PATH_MAX];
    pse_event discard[DISCARD_RECORDS]; /* Where records go once recording has stopped. */
} recorder_file;

static uint64_t file_offset(uint64_t records)
{
    return HEADER_BYTES + records * sizeof(pse_event);
}

static void publish_count(recorder_file *file, uint64_t records)
{
    __atomic_store_n(&file->header->records, records, __ATOMIC_RELEASE);
}

/* A file-size limit would end the process by SIGXFSZ; here it is an error like a full disk. */
static int check_size_limit(uint64_t end)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && end > limit.rlim_cur)
        return EFBIG;
    return 0;
}

static int reserve(int fd, uint64_t begin, uint64_t bytes)
{
    int error = check_size_limit(begin + bytes);
    if (error)
        return error;
    do
        error = posix_fallocate(fd, (off_t)begin, (off_t)bytes);
    while (error == EINTR);
    return error;
}

/* Populating reports what would have been a SIGBUS as EFAULT.  A kernel that can't populate faults page by
 * page. */
static int make_present(void *begin, size_t bytes)
{
    int status;
    do
        status = madvise(begin, bytes, MADV_POPULATE_WRITE);
    while (status != 0 && (errno == EINTR || errno == EAGAIN));
    if (status == 0 || errno == EINVAL)
        return 0;
    return errno == EFAULT ? ENOSPC : errno;
}

static int map_shared(int fd, uint64_t begin, size_t bytes, void **out)
{
    int error = reserve(fd, begin, bytes);
    if (error)
        return error;
    void *mapped = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)begin);
    if (mapped == MAP_FAILED)
        return errno;
    *out = mapped;
    return 0;
}

static int write_zeros(int fd, uint64_t begin)
{
    for (size_t done = 0; done < sizeof zeros;) {
        ssize_t written = pwrite(fd, zeros + done, sizeof zeros - done, (off_t)(begin + done));
        if (written < 0 && errno != EINTR)
            return errno;
        done += written > 0 ? (size_t)written : 0;
    }
    return 0;
}

/* Give out the next step of the mapped window. */
static int take_step(recorder_file *file, pse_event *begin)
{
    int error = write_zeros(file->fd, file_offset(file->before + (uint64_t)(begin - file->window)));
    if (!error)
        error = make_present(begin, sizeof zeros);
    if (error)
        return error;
    file->head->next = begin;
    file->head->limit = begin + STEP_RECORDS;
    return 0;
}

static void unmap_window(recorder_file *file)
{
    if (file->window)
        munmap(file->window, WINDOW_BYTES);
    file->window = NULL;
}

static int take_window(recorder_file *file)
{
    void *mapped;
    int error = map_shared(file->fd, file_offset(file->before), WINDOW_BYTES, &mapped);
    if (error)
        return error;
    file->window = mapped;
    return take_step(file, file->window);
}

static void point_to_discard(recorder_file *file)
{
    file->head->next = file->discard;
    file->head->limit = file->discard + DISCARD_RECORDS;
}

static const char *remedy(int error)
{
    if (error == EFBIG)
        return "raise the limit of files' sizes (ulimit -f)";
    if (error == ENOMEM)
        return "raise the limit of memory (ulimit -v), or run fewer ranks on a node";
    return "free space there, or record into a directory of another disk";
}

/* Recording ends here; what was written stays readable. */
static void stop(recorder_file *file, uint64_t records, int error)
{
    unmap_window(file);
    file->before = records;
    file->error = error;
    file->header->error = error;
    file->header->state |= PSE_STATE_TRUNCATED;
    publish_count(file, records);
    point_to_discard(file);
    const char *kept =
        ftruncate(file->fd, (off_t)file_offset(records)) == 0 ? "kept" : "kept, with unused space";
    fprintf(stderr, "pse: recording stops, the run goes on: %s: %s (%llu events %s); %s\n", file->path,
            strerror(error), (unsigned long long)records, kept, remedy(error));
}

void pse_recorder_grow(pse_recorder *recorder)
{
    recorder_file *file = recorder->internal;
    if (file->error) {
        point_to_discard(file);
        return;
    }
    uint64_t records = pse_recorder_count(recorder);
    publish_count(file, records);
    int error;
    if (recorder->next < file->window + WINDOW_RECORDS) {
        error = take_step(file, recorder->next);
    } else {
        unmap_window(file);
        file->before = records;
        error = take_window(file);
    }
    if (error)
        stop(file, records, error);
}

/* The host's name, after that of the machine that it belongs to where the environment tells: MACHINE/HOST. */
static void fill_host(char *host, size_t room)
{
    const char *metahost = getenv(PSE_METAHOST_VARIABLE);
    if (metahost && *metahost)
        snprintf(host, room / 2, "%s", metahost);
    size_t length = strlen(host);
    if (length)
        host[length++] = '/';
    gethostname(host + length, room - length - 1);
}

static void fill_header(pse_trace_header *header, uint32_t rank)
{
    struct timespec real;
    header->version = PSE_TRACE_VERSION;
    header->byte_order = PSE_BYTE_ORDER;
    header->header_size = HEADER_BYTES;
    header->record_size = sizeof(pse_event);
    header->rank = rank;
    header->pid = (uint32_t)getpid();
    header->clock_id = CLOCK_MONOTONIC;
    clock_gettime(CLOCK_REALTIME, &real);
    header->start_clock = pse_clock();
    header->start_real = (int64_t)real.tv_sec * 1000000000 + real.tv_nsec;
    fill_host(header->host, sizeof header->host);
    memcpy(header->magic, PSE_TRACE_MAGIC, sizeof header->magic);
}

static int create_file(recorder_file *file, const char *directory, uint32_t rank, const char *part)
{
    int length = snprintf(file->path, sizeof file->path, "%s/" PSE_EVENTS_FILE, directory, rank, part);
    if (length < 0 || (size_t)length >= sizeof file->path)
        return ENAMETOOLONG;
    unlink(file->path); /* who has mapped an older file of this name, another run or a reader, keeps that */
    file->fd = open(file->path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (file->fd < 0)
        return errno;
    void *mapped;
    int error = map_shared(file->fd, 0, HEADER_BYTES, &mapped);
    if (error)
        return error;
    file->header = mapped;
    error = make_present(mapped, HEADER_BYTES);
    if (error)
        return error;
    fill_header(file->header, rank);
    return take_window(file);
}

static void release(recorder_file *file)
{
    unmap_window(file);
    if (file->header)
        munmap(file->header, HEADER_BYTES);
    if (file->fd >= 0)
        close(file->fd);
    free(file);
}

/* `recorder`: NULL: the file has its own. */
static int open_file(recorder_file **out, pse_recorder *recorder, const char *directory, uint32_t rank,
                     const char *part)
{
    recorder_file *file = calloc(1, sizeof *file);
    if (!file)
        return -ENOMEM;
    file->fd = -1;
    file->head = recorder ? recorder : &file->own;
    file->head->internal = file;
    int error = create_file(file, directory, rank, part);
    if (error) {
        if (file->fd >= 0)
            unlink(file->path);
        release(file);
        return -error;
    }
    *out = file;
    return 0;
}

int pse_recorder_open(pse_recorder **out, const char *directory, uint32_t rank)
{
    recorder_file *file = NULL;
    int error = open_file(&file, NULL, directory, rank, "");
    *out = file ? file->head : NULL;
    return error;
}

int pse_recorder_open_part(pse_recorder *recorder, const char *directory, uint32_t rank, const char *part)
{
    recorder_file *file;
    return open_file(&file, recorder, directory, rank, part);
}

int pse_recorder_close(pse_recorder *recorder)
{
    if (!recorder)
        return 0;
    recorder_file *file = recorder->internal;
    uint64_t records = pse_recorder_count(recorder);
    int error = file->error;
    publish_count(file, records);
    file->header->state |= PSE_STATE_CLOSED;
    unmap_window(file);
    if (ftruncate(file->fd, (off_t)file_offset(records)) != 0 && !error)
        error = errno;
    release(file);
    return -error;
}

uint64_t pse_recorder_count(const pse_recorder *recorder)
{
    const recorder_file *file = recorder->internal;
    return file->window ? file->before + (uint64_t)(recorder->next - file->window) : file->before;
}

int pse_recorder_error(const pse_recorder *recorder)
{
    return ((const recorder_file *)recorder->internal)->error;
}

void pse_recorder_text(pse_recorder *recorder, uint16_t kind, uint32_t number, const char *text)
{
    pse_recorder_text_at(recorder, pse_clock(), kind, number, text);
}

void pse_recorder_text_at(pse_recorder *recorder, uint64_t time, uint16_t kind, uint32_t number,
                          const char *text)
{
    size_t length = strlen(text);
    for (size_t begin = 0; begin < length; begin += 16) {
        uint64_t words[2] = {0, 0};
        memcpy(words, text + begin, length - begin < 16 ? length - begin : 16);
        pse_recorder_add_at(recorder, time, PSE_EVENT_TEXT, kind, PSE_NONE, 0,
                            pse_pair(number, (uint32_t)(begin / 16)), words[0], words[1]);
    }
}
