/* A directory with one file per rank: made with all that is above it, and cleared of what an older run with
 * more ranks has left.
 *
 * May touch: files in it whose names are the tool's.
 */
#ifndef PSE_DIRECTORY_H
#define PSE_DIRECTORY_H

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What can't be made here shows when a file is. */
static inline void directory_make(const char *given)
{
    char path[4096];
    snprintf(path, sizeof path, "%s", given);
    for (char *at = strchr(path + 1, '/'); at; at = strchr(at + 1, '/')) {
        *at = '\0';
        mkdir(path, 0777);
        *at = '/';
    }
    mkdir(path, 0777);
}

/* Remove rank-R.SUFFIX for all ranks from `ranks` on. */
static inline void directory_remove_older(const char *path, const char *suffix, int ranks)
{
    DIR *directory = opendir(path);
    struct dirent *entry;
    while (directory && (entry = readdir(directory))) {
        int rank, length = 0;
        if (sscanf(entry->d_name, "rank-%d%n", &rank, &length) == 1 && length &&
            strcmp(entry->d_name + length, suffix) == 0 && rank >= ranks)
            unlinkat(dirfd(directory), entry->d_name, 0);
    }
    if (directory)
        closedir(directory);
}

#endif
