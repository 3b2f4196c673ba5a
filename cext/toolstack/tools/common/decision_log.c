/* Files of decisions: written while mapped, read as a whole. */
#define _GNU_SOURCE
#include "decision_log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tool.h"

const char *pse_decision_call_name(unsigned call)
{
    switch (call) {
#define X(name, number, routine)                                                                             \
    case number:                                                                                             \
        return routine;
        PSE_DECISION_CALLS(X)
#undef X
    }
    return "an unknown call";
}

static uint64_t checksum_of(struct pse_decision_header header, const struct pse_decision *entries)
{
    header.checksum = 0;
    uint64_t hash = pse_hash(PSE_HASH, &header, sizeof header);
    return pse_hash(hash, entries, header.entries * sizeof *entries);
}

void pse_decision_path(char *path, size_t room, const char *directory, int rank)
{
    snprintf(path, room, "%s/rank-%05d.order", directory, rank);
}

bool pse_decision_log_has_room(const struct pse_decision_log *file)
{
    return sizeof *file->header + (file->header->entries + 1) * sizeof(struct pse_decision) <= file->bytes;
}

int pse_decision_log_grow(struct pse_decision_log *file, size_t bytes)
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

int pse_decision_log_open(struct pse_decision_log *file, const char *path, struct pse_decision_header header)
{
    *file = (struct pse_decision_log){.fd = -1};
    snprintf(file->path, sizeof file->path, "%s.part", path);
    file->fd = open(file->path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (file->fd < 0)
        return errno;
    int error = pse_decision_log_grow(file, 1 << 16);
    if (!error)
        *file->header = header;
    return error;
}

int pse_decision_log_close(struct pse_decision_log *file)
{
    char path[sizeof file->path];
    const off_t length = (off_t)(sizeof *file->header + file->header->entries * sizeof(struct pse_decision));
    snprintf(path, sizeof path, "%.*s", (int)(strlen(file->path) - strlen(".part")), file->path);
    file->header->checksum = checksum_of(*file->header, pse_decisions_of(file));
    munmap(file->header, file->bytes);
    file->header = NULL;
    const int error = ftruncate(file->fd, length) != 0 || rename(file->path, path) != 0 ? errno : 0;
    close(file->fd);
    return error;
}

/* What is wrong with a header, NULL if nothing. */
static const char *find_defect(const struct pse_decision_header *header, int rank, int ranks, uint64_t bytes,
                               bool whole)
{
    static char text[160];
    if (memcmp(header->magic, "PSEORDER", 8) != 0)
        return "it is not a file of the tool `record`";
    if (header->version != PSE_DECISION_VERSION || header->header_size != sizeof *header ||
        header->entry_size != sizeof(struct pse_decision)) {
        snprintf(text, sizeof text, "it has version %u of the format, this tool reads version %d",
                 header->version, PSE_DECISION_VERSION);
        return text;
    }
    if ((int)header->rank != rank || (int)header->ranks != ranks) {
        snprintf(text, sizeof text, "it is the record of rank %u of %u, this is rank %d of %d", header->rank,
                 header->ranks, rank, ranks);
        return text;
    }
    if (whole ? bytes != header->entries * sizeof(struct pse_decision)
              : bytes < header->entries * sizeof(struct pse_decision)) {
        snprintf(text, sizeof text, "it is cut off: %llu entries were recorded, but it has only %llu",
                 (unsigned long long)header->entries,
                 (unsigned long long)(bytes / sizeof(struct pse_decision)));
        return text;
    }
    return NULL;
}

/* Open a rank's file, or what it has left if it was killed; `*whole` says which. */
static FILE *open_for_reading(const char *path, bool *whole)
{
    char part[4200];
    FILE *file = fopen(path, "rb");
    snprintf(part, sizeof part, "%s.part", path);
    *whole = file || access(part, F_OK) != 0;
    return *whole ? file : fopen(part, "rb");
}

struct pse_decision *pse_decision_log_read(const char *path, int rank, int ranks,
                                           struct pse_decision_header *header, const char **problem)
{
    bool whole;
    struct stat about;
    FILE *file = open_for_reading(path, &whole);
    if (!file || fstat(fileno(file), &about) != 0) {
        *problem = strerror(errno);
        return NULL;
    }
    struct pse_decision *entries = NULL;
    uint64_t room = (uint64_t)about.st_size - sizeof *header, bytes = 0;
    if ((uint64_t)about.st_size < sizeof *header || fread(header, sizeof *header, 1, file) != 1)
        *problem = "it is cut off within its header, or not a file of the tool `record`";
    else if (!(*problem = find_defect(header, rank, ranks, room, whole)))
        bytes = header->entries * sizeof *entries;
    if (!*problem && !(entries = malloc(bytes ? bytes : 1)))
        *problem = "there is no memory for it";
    else if (!*problem && bytes && fread(entries, bytes, 1, file) != 1)
        *problem = "it can't be read to its end";
    else if (!*problem && whole && checksum_of(*header, entries) != header->checksum)
        *problem = "its checksum is wrong: the file was changed or damaged";
    fclose(file);
    header->aborted |= !whole;
    if (!*problem)
        return entries;
    free(entries);
    return NULL;
}
