#include "available_memory.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT = 8192, NAME = 4352 };

/* The whole of a small file as text; false if it can't be read. */
static bool read_text(const char *path, char *text)
{
    FILE *file = fopen(path, "re");
    if (!file)
        return false;
    size_t length = fread(text, 1, TEXT - 1, file);
    fclose(file);
    text[length] = '\0';
    return length > 0;
}

/* The number after `label` at the start of a line of `text`; false if there is none ("max" isn't one). */
static bool number_after(const char *text, const char *label, uint64_t *out)
{
    size_t length = strlen(label);
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, label, length))
            continue;
        char *end;
        *out = strtoull(line + length, &end, 10);
        return end != line + length;
    }
    return false;
}

static bool number_in(const char *directory, const char *file, const char *label, uint64_t *out)
{
    char path[NAME + 64], text[TEXT];
    snprintf(path, sizeof path, "%s/%s", directory, file);
    return read_text(path, text) && number_after(text, label, out);
}

/* What one version of the kernel's interface calls the files of a memory cgroup. */
typedef struct names {
    const char *mount, *limit, *usage, *cache;
} names;

static const names version_1 = {"/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes",
                                "total_inactive_file "};
static const names version_2 = {"/sys/fs/cgroup", "memory.max", "memory.current", "inactive_file "};

/* Lower the figures to what one cgroup allows.  Its unused file cache counts as available: the kernel drops
 * it. */
static void apply_limit(const char *directory, const names *files, pse_arena_memory *out)
{
    uint64_t limit, usage, cache = 0;
    if (!number_in(directory, files->limit, "", &limit) || !number_in(directory, files->usage, "", &usage))
        return;
    number_in(directory, "memory.stat", files->cache, &cache);
    usage -= cache < usage ? cache : usage;
    uint64_t available = usage < limit ? limit - usage : 0;
    if (limit < out->total)
        out->total = limit;
    if (available < out->available)
        out->available = available;
}

/* Apply the limits of a cgroup and of all above it.  Inside a container the path that the kernel names may
 * not be there; the loop then ends at the mount point, which is the container's own group. */
static void apply_limits(const char *root, const names *files, const char *path, pse_arena_memory *out)
{
    char directory[NAME];
    snprintf(directory, sizeof directory, "%s%s%s", root, files->mount, path);
    size_t mount = strlen(root) + strlen(files->mount);
    for (;;) {
        apply_limit(directory, files, out);
        if (strlen(directory) <= mount)
            return;
        *strrchr(directory, '/') = '\0';
    }
}

static void read_cgroups(const char *root, pse_arena_memory *out)
{
    char name[NAME], text[TEXT];
    snprintf(name, sizeof name, "%s/proc/self/cgroup", root);
    if (!read_text(name, text))
        return;
    char *rest = text;
    for (char *line = strsep(&rest, "\n"); line; line = strsep(&rest, "\n")) {
        char *path = strrchr(line, ':');
        if (!path)
            continue;
        if (!strncmp(line, "0::", 3))
            apply_limits(root, &version_2, path + 1, out);
        else if (strstr(line, ":memory:"))
            apply_limits(root, &version_1, path + 1, out);
    }
}

int pse_arena_read_available_memory(const char *root, pse_arena_memory *out)
{
    char name[NAME], text[TEXT];
    uint64_t total, available;
    *out = (pse_arena_memory){UINT64_MAX, UINT64_MAX};
    snprintf(name, sizeof name, "%s/proc/meminfo", root);
    if (!read_text(name, text) || !number_after(text, "MemTotal:", &total) ||
        !number_after(text, "MemAvailable:", &available))
        return -1;
    *out = (pse_arena_memory){total << 10, available << 10};
    read_cgroups(root, out);
    return 0;
}
