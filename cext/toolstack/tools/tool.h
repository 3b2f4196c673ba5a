/* What the shipped tools have in common: their arguments, where they write, and who they are in the job.
 *
 * Every tool is one object made of one NAME.c, which defines TOOL_NAME before it includes this file.  It runs
 * in the stack, and also alone, preloaded: then its arguments come from the environment, PSE_<TOOL>_<KEY> in
 * capitals. */
#ifndef PSE_TOOL_H
#define PSE_TOOL_H

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pse_tools.h"

#define TOOL_PUBLIC __attribute__((visibility("default")))

/* The stack's table; NULL when the tool is loaded alone. */
static const struct pse_tools *tools;

/* The value of an argument; NULL if it isn't given. */
static inline const char *tool_argument(const char *key)
{
    if (tools)
        return tools->argument(tools->self, key);
    char name[64];
    int length = snprintf(name, sizeof name, "PSE_%s_%s", TOOL_NAME, key);
    for (int i = 0; i < length && i < (int)sizeof name; i++)
        name[i] = (char)toupper((unsigned char)name[i]);
    return getenv(name);
}

/* Refuse to start, with a reason; in the stack that ends the job, or the tool if it is optional. */
#define tool_refuse(...)                                                                                     \
    (tools                                                                                                   \
         ? (tools->fail(tools->self, __VA_ARGS__), 1)                                                        \
         : (fprintf(stderr, TOOL_NAME ": "), fprintf(stderr, __VA_ARGS__), fputc('\n', stderr), exit(2), 1))

/* One line about what went wrong without ending anything. */
#define tool_say(...)                                                                                        \
    (tools ? tools->say(tools->self, __VA_ARGS__)                                                            \
           : (void)(fprintf(stderr, TOOL_NAME ": "), fprintf(stderr, __VA_ARGS__), fputc('\n', stderr)))

/* For the start of tools that write a summary: the process may end without one, and what nobody has asked for
 * then is said to be misspelt. */
static inline void tool_expect_output(void)
{
    tool_argument("output");
}

/* Where a summary goes: the file that `argument output` names (%r is the rank), else standard error. */
static inline FILE *tool_open_output(int rank)
{
    const char *output = tool_argument("output");
    if (!output)
        return stderr;
    char path[4096];
    const char *mark = strstr(output, "%r");
    if (mark)
        snprintf(path, sizeof path, "%.*s%d%s", (int)(mark - output), output, rank, mark + 2);
    else
        snprintf(path, sizeof path, "%s", output);
    FILE *file = fopen(path, "w");
    if (!file)
        tool_say("can't write %s: %s; the summary goes to standard error", path, strerror(errno));
    return file ? file : stderr;
}

static inline void tool_close_output(FILE *file)
{
    if (file == stderr)
        fflush(file);
    else if (fclose(file) != 0)
        tool_say("can't write all of the summary: %s", strerror(errno));
}

#endif
