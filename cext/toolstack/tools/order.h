/* The order of what a rank can't know beforehand in MPI: which message a wildcard receive got, which request
 * was complete.  `record` writes it, `replay` follows it.
 *
 * One file per rank, DIRECTORY/rank-RRRRR.order: the header, then entries in the order of the calls.  Numbers
 * are little-endian.  While the program runs it is mapped and called rank-RRRRR.order.part, so it survives
 * the rank's death; at the end it gets a checksum and its name.
 *
 * May touch: the file that it is told to.
 */
#ifndef PSE_ORDER_H
#define PSE_ORDER_H

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* The calls that may go either way.  A number is never used twice. */
#define ORDER_CALLS(X)                                                                                       \
    X(RECV, 1, "MPI_Recv")                                                                                   \
    X(IRECV, 2, "MPI_Irecv")                                                                                 \
    X(START, 3, "MPI_Start")                                                                                 \
    X(SENDRECV, 4, "MPI_Sendrecv")                                                                           \
    X(SENDRECV_REPLACE, 5, "MPI_Sendrecv_replace")                                                           \
    X(ISENDRECV, 6, "MPI_Isendrecv")                                                                         \
    X(PROBE, 7, "MPI_Probe")                                                                                 \
    X(IPROBE, 8, "MPI_Iprobe")                                                                               \
    X(MPROBE, 9, "MPI_Mprobe")                                                                               \
    X(IMPROBE, 10, "MPI_Improbe")                                                                            \
    X(TEST, 11, "MPI_Test")                                                                                  \
    X(TESTALL, 12, "MPI_Testall")                                                                            \
    X(TESTANY, 13, "MPI_Testany")                                                                            \
    X(TESTSOME, 14, "MPI_Testsome")                                                                          \
    X(WAITANY, 15, "MPI_Waitany")                                                                            \
    X(WAITSOME, 16, "MPI_Waitsome")                                                                          \
    X(GET_STATUS, 17, "MPI_Request_get_status")                                                              \
    X(COMPLETED, 18, "an index of MPI_Waitsome or MPI_Testsome")

enum {
#define X(name, number, routine) ORDER_##name = number,
    ORDER_CALLS(X)
#undef X
};

enum { ORDER_NONE = -1 }; /* source: the receive never got a message; index: no request was complete */

/* One call, or `repeat` equal ones in a row. */
struct order_entry {
    uint16_t call;
    uint16_t flag;       /* what a test or probe said */
    uint32_t repeat;     /* calls with this outcome, one after the other */
    int32_t source, tag; /* the message that was matched */
    int32_t index;       /* the request that was complete */
    int32_t count;       /* MPI_Waitsome, MPI_Testsome: entries COMPLETED that follow */
    int32_t asked_tag;   /* what the program asked for: it must be the same in a replay */
    uint32_t requests;   /* so many requests were given */
};

struct order_header {
    char magic[8]; /* PSEORDER */
    uint32_t version, header_size, entry_size;
    uint32_t rank, ranks;
    uint32_t aborted; /* the program ended by MPI_Abort: the order is what came before */
    uint64_t run;     /* the same on all ranks, another for each run */
    uint64_t entries;
    uint64_t checksum; /* of header (this field 0) and entries */
};

enum { ORDER_VERSION = 1 };

static inline const char *order_name(unsigned call)
{
    switch (call) {
#define X(name, number, routine)                                                                             \
    case number:                                                                                             \
        return routine;
        ORDER_CALLS(X)
#undef X
    }
    return "an unknown call";
}

/* FNV-1a. */
static inline uint64_t order_hash(uint64_t hash, const void *data, size_t bytes)
{
    const unsigned char *at = data;
    for (size_t i = 0; i < bytes; i++)
        hash = (hash ^ at[i]) * 0x100000001b3u;
    return hash;
}

static inline uint64_t order_checksum(struct order_header header, const struct order_entry *entries)
{
    header.checksum = 0;
    uint64_t hash = order_hash(0xcbf29ce484222325u, &header, sizeof header);
    return order_hash(hash, entries, header.entries * sizeof *entries);
}

static inline void order_path(char *path, size_t room, const char *directory, int rank)
{
    snprintf(path, room, "%s/rank-%05d.order", directory, rank);
}

/* A file that is being written. */
struct order_file {
    struct order_header *header; /* NULL: none; entries follow */
    size_t bytes;                /* of the mapping, and of the file */
    int fd;
    char path[4200]; /* with .part */
};

static inline struct order_entry *order_entries(const struct order_file *file)
{
    return (struct order_entry *)(file->header + 1);
}

/* Whether there is room for one more. */
static inline bool order_has_room(const struct order_file *file)
{
    return sizeof *file->header + (file->header->entries + 1) * sizeof(struct order_entry) <= file->bytes;
}

/* Make the file larger; 0 or an errno.  Its blocks are there before they are written to: a full disk is told
 * here, and not by a signal. */
static inline int order_grow(struct order_file *file, size_t bytes)
{
    int error = posix_fallocate(file->fd, 0, (off_t)bytes);
    if (error)
        return error;
    void *map = file->header ? mremap(file->header, file->bytes, bytes, MREMAP_MAYMOVE)
                             : mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file->fd, 0);
    if (map == MAP_FAILED)
        return errno;
    file->header = map;
    file->bytes = bytes;
    return 0;
}

/* Begin a rank's file; 0 or an errno. */
static inline int order_open(struct order_file *file, const char *path, struct order_header header)
{
    *file = (struct order_file){.fd = -1};
    snprintf(file->path, sizeof file->path, "%s.part", path);
    file->fd = open(file->path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (file->fd < 0)
        return errno;
    int error = order_grow(file, 1 << 16);
    if (!error)
        *file->header = header;
    return error;
}

/* End it: its own length, its checksum, its name.  Returns 0 or an errno. */
static inline int order_close(struct order_file *file)
{
    char path[sizeof file->path];
    const off_t length = (off_t)(sizeof *file->header + file->header->entries * sizeof(struct order_entry));
    snprintf(path, sizeof path, "%.*s", (int)(strlen(file->path) - strlen(".part")), file->path);
    file->header->checksum = order_checksum(*file->header, order_entries(file));
    munmap(file->header, file->bytes);
    file->header = NULL;
    const int error = ftruncate(file->fd, length) != 0 || rename(file->path, path) != 0 ? errno : 0;
    close(file->fd);
    return error;
}

/* What is wrong with a header, NULL if nothing. */
static inline const char *order_refuse(const struct order_header *header, int rank, int ranks, uint64_t bytes,
                                       bool whole)
{
    static char text[160];
    if (memcmp(header->magic, "PSEORDER", 8) != 0)
        return "it is no record of MPI's order";
    if (header->version != ORDER_VERSION || header->header_size != sizeof *header ||
        header->entry_size != sizeof(struct order_entry)) {
        snprintf(text, sizeof text, "it has version %u of the format, this tool reads version %d",
                 header->version, ORDER_VERSION);
        return text;
    }
    if ((int)header->rank != rank || (int)header->ranks != ranks) {
        snprintf(text, sizeof text, "it is the record of rank %u of %u, this is rank %d of %d", header->rank,
                 header->ranks, rank, ranks);
        return text;
    }
    if (whole ? bytes != header->entries * sizeof(struct order_entry)
              : bytes < header->entries * sizeof(struct order_entry)) {
        snprintf(text, sizeof text, "it is cut: %llu entries were recorded, there is room for %llu",
                 (unsigned long long)header->entries,
                 (unsigned long long)(bytes / sizeof(struct order_entry)));
        return text;
    }
    return NULL;
}

/* Open a rank's file, or what it has left if it was killed; `*whole` says which. */
static inline FILE *order_find(const char *path, bool *whole)
{
    char part[4200];
    FILE *file = fopen(path, "rb");
    snprintf(part, sizeof part, "%s.part", path);
    *whole = file || access(part, F_OK) != 0;
    return *whole ? file : fopen(part, "rb");
}

/* Read and check a rank's file; NULL and *problem if it can't be followed.  The caller frees the entries.
 * What a killed rank has left counts as aborted. */
static inline struct order_entry *order_load(const char *path, int rank, int ranks,
                                             struct order_header *header, const char **problem)
{
    bool whole;
    struct stat about;
    FILE *file = order_find(path, &whole);
    if (!file || fstat(fileno(file), &about) != 0) {
        *problem = strerror(errno);
        return NULL;
    }
    struct order_entry *entries = NULL;
    uint64_t room = (uint64_t)about.st_size - sizeof *header, bytes = 0;
    if ((uint64_t)about.st_size < sizeof *header || fread(header, sizeof *header, 1, file) != 1)
        *problem = "it is cut within its header, or no record of MPI's order";
    else if (!(*problem = order_refuse(header, rank, ranks, room, whole)))
        bytes = header->entries * sizeof *entries;
    if (!*problem && !(entries = malloc(bytes ? bytes : 1)))
        *problem = "there is no memory for it";
    else if (!*problem && bytes && fread(entries, bytes, 1, file) != 1)
        *problem = "it can't be read to its end";
    else if (!*problem && whole && order_checksum(*header, entries) != header->checksum)
        *problem = "its checksum is wrong: it was changed or damaged";
    fclose(file);
    header->aborted |= !whole;
    if (!*problem)
        return entries;
    free(entries);
    return NULL;
}

#endif
