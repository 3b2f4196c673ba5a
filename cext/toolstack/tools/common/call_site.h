/* Where in the program an MPI routine was called: for C the nearest caller outside of MPI and the tools, for
 * mpi4py the line of Python.
 *
 * Taking a site is cheap enough for every call of a tool that checks (some hundred ns); only words for a
 * report start addr2line, which knows the line of C code.
 */
#ifndef PSE_TOOL_CALL_SITE_H
#define PSE_TOOL_CALL_SITE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

enum { PSE_CALL_SITE_TEXT = 200, PSE_SOURCE_FUNCTION = 512 };

struct pse_call_site {
    char python[PSE_CALL_SITE_TEXT]; /* file:line, or "" */
    void *address;                   /* of C code, if not called from Python; NULL: unknown */
};

/* Whether code at an address stands between the program and MPI: MPI itself, tools, the stack. */
bool pse_call_site_is_between(void *address);

/* Where the program called the wrapper that calls this. */
void pse_call_site_take(struct pse_call_site *site);

/* A site in words: file:line, or function+offset in an object. */
void pse_call_site_text(const struct pse_call_site *site, char *text, size_t room);

/* The line of C code at an offset of an object, by addr2line: its function (room: PSE_SOURCE_FUNCTION) and
 * "path/file.c:12" (room: PATH_MAX).  False if it can't be told. */
bool pse_source_line(const char *object, unsigned long offset, char *function, char *line);

/* The same as "file.c:12"; false if it can't be told. */
bool pse_source_line_text(const char *object, unsigned long offset, char *text, size_t room);

/* Take a mutex under which sites are taken: its holder may wait for Python's lock, so a thread that holds
 * that (mpi4py keeps it in calls that don't block) lets it go while it waits for the mutex. */
void pse_call_site_lock(pthread_mutex_t *mutex);

#endif
