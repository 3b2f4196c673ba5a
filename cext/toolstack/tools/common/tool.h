/* What every tool that ships with the stack uses: its arguments, its messages, and the file of its summary.
 *
 * A tool is one shared object, made of all C files of its folder and of those of this one.  It runs in the
 * stack, and also alone, preloaded: then its arguments come from the environment, PSE_<TOOL>_<KEY> in
 * capitals, where the tool is named as its object is.
 */
#ifndef PSE_TOOL_H
#define PSE_TOOL_H

#include <inttypes.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pse_tools.h"

#define TOOL_PUBLIC __attribute__((visibility("default")))

/* FNV-1a: go on with a hash, which begins as PSE_HASH. */
#define PSE_HASH 0xcbf29ce484222325u
static inline uint64_t pse_hash(uint64_t hash, const void *data, size_t bytes)
{
    const unsigned char *at = data;
    for (size_t i = 0; i < bytes; i++)
        hash = (hash ^ at[i]) * 0x100000001b3u;
    return hash;
}

/* A variable of each thread that is found without a call.  Few and small ones: room for those is short in
 * what is loaded late, and all of an object's count. */
#define TOOL_THREAD_LOCAL _Thread_local __attribute__((tls_model("initial-exec")))

/* The calling thread, by a number other than 0 that costs one instruction: a variable of threads would need
 * the table of the linker, and memory of its own. */
static inline uintptr_t pse_tool_self(void)
{
#if defined(__x86_64__)
    uintptr_t self; /* The ABI has the address of what a thread has for itself there. */
    __asm__("mov %%fs:0, %0" : "=r"(self));
    return self;
#else
    return (uintptr_t)__builtin_thread_pointer();
#endif
}

#pragma GCC visibility push(hidden)

/* The stack's table, which pse_tool_start sets; NULL when the tool is loaded alone. */
extern const struct pse_tools *pse_tool_stack;

/* The value of an argument; NULL if it isn't given. */
const char *pse_tool_argument(const char *key);

/* Refuse to start, with a reason; in the stack that ends the job, or the tool if it is optional.  Nonzero,
 * for pse_tool_start to return. */
int pse_tool_refuse(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Refuse the value of an argument; the format says what was expected, as in "a number from 0 to %d". */
int pse_tool_refuse_argument(const char *key, const char *value, const char *expected, ...)
    __attribute__((format(printf, 3, 4)));

/* Read an argument that is one of two words: whether it is the first.  An argument that isn't given changes
 * nothing.  Nonzero: it is another word, and refused. */
int pse_tool_choose(const char *key, const char *first, const char *second, bool *is_first);

/* Print one line about something that doesn't end the job. */
void pse_tool_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* For the start of tools that write a summary: the process may end without one, and the stack warns of
 * arguments that no tool has asked for. */
void pse_tool_expect_output(void);

/* The file that `argument output` names for the summary (%r is the rank), else standard error. */
FILE *pse_tool_open_output(int rank);
void pse_tool_close_output(FILE *file);

/* Whether another MPI program has spawned the processes of this one. */
bool pse_tool_was_spawned(void);

#pragma GCC visibility pop

#endif
