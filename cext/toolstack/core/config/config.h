/* The configuration: which tools, in which order, with what arguments.
 *
 *     module NAME|PATH [as INSTANCE]
 *         argument KEY VALUE
 *         optional
 *         only ROUTINE…          except ROUTINE…
 *         communicator world|self|NAME…
 *         from SECONDS           until SECONDS
 *         sees-tools yes|no
 *
 * One directive a line; what follows a `module` belongs to it; `#` begins a comment.  A file that nobody
 * wrote begins with `origin WORDS`: messages name them instead of its lines.  Knows files and names of
 * routines; looks for tools, but loads none.
 */
#ifndef PSE_TOOLSTACK_CONFIG_H
#define PSE_TOOLSTACK_CONFIG_H

#include <stdbool.h>
#include <stddef.h>

struct word_list {
    int count;
    char **word;
};

struct tool_spec {    /* one `module` and what follows it */
    const char *file; /* the configuration, and the line of `module` */
    int line;
    char *place;          /* both, as messages name them */
    char *name, *wanted;  /* the instance's name; what the configuration says */
    char *path;           /* the file to load, once it was found */
    bool optional, hides; /* hides: lower tools don't see the calls that the tool makes of its own accord */
    struct word_list keys, values;  /* arguments */
    struct word_list only, except;  /* routines; empty: all */
    struct word_list communicators; /* world, self, or names; empty: all */
    double from, until;             /* seconds since the stack started; 0 and infinity */
};

struct stack_config {
    const char *file;
    char *origin; /* NULL: somebody wrote the file */
    int count;
    struct tool_spec *spec;
};

/* Read a configuration; what is wrong, and a line with what to do, goes to `error` and gives false. */
bool pse_toolstack_read_config(struct stack_config *config, const char *file, char *error, size_t size);
const char *pse_toolstack_not_found(const struct tool_spec *spec); /* what to say where `path` is NULL */

#endif
