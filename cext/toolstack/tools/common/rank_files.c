/* Directories of files by rank: removes only files whose names are a tool's. */
#include "rank_files.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void pse_tool_make_directory(const char *given)
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

void pse_tool_remove_older_files(const char *path, const char *suffix, int ranks)
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
