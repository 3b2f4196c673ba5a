/* The MPI library of this process, on which the stack stands. */
#ifndef PSE_TOOLSTACK_MPI_LIBRARY_H
#define PSE_TOOLSTACK_MPI_LIBRARY_H

#include <stdbool.h>

#include "elf/loaded_elf.h"
#include "pse_tools.h"

#pragma GCC visibility push(hidden)

/* Generated (pse/toolstack/_stubs.py) */

extern const char pse_toolstack_soname[];        /* of the library that the stubs are for */
extern const char pse_toolstack_library_path[];  /* where it was */
extern const char pse_toolstack_shipped[];       /* directory of the tools that are made for it */
extern const char pse_toolstack_missing_tools[]; /* why there are none, and what to do; else empty */

/* Find the library that is loaded, or load the one that the stubs are for; false if there is none. */
bool pse_toolstack_find_library(void);
/* Why there is none, right after that. */
const char *pse_toolstack_library_obstacle(void);
/* Whether an object is the MPI library itself, or belongs to it. */
bool pse_toolstack_is_library(const struct loaded_elf *elf);
const char *pse_toolstack_library_soname(void);
const char *pse_toolstack_library_file(void);

/* MPI's own routine; NULL before the library is known. */
pse_function pse_toolstack_library_routine(int routine);
/* Have those who look for MPI's routines in the library from now on find others. */
bool pse_toolstack_redefine_library(pse_toolstack_choice choose);
/* Have these stand for MPI_Init and MPI_Init_thread, which have been called already. */
void pse_toolstack_replace_init(pse_function plain, pse_function thread);

#pragma GCC visibility pop

#endif
