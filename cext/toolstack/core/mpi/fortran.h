/* Fortran's routines where they stand in libraries beside MPI's.
 *
 * MPICH's call those of C by their names, so that a tool that wraps these sees calls from Fortran too; Open
 * MPI's go on by PMPI_x, and only tools that wrap Fortran's own names see them.
 */
#ifndef PSE_TOOLSTACK_FORTRAN_H
#define PSE_TOOLSTACK_FORTRAN_H

#include "pse_tools.h"

#pragma GCC visibility push(hidden)

/* Generated (pse/toolstack/_stubs.py): paths of libraries with Fortran's routines, each with its 0. */
extern const char pse_toolstack_fortran_paths[];

/* Load the libraries that have Fortran's routines. */
void pse_toolstack_find_fortran(void);
/* NULL: it is not one of theirs. */
pse_function pse_toolstack_fortran_routine(int routine);
/* The routine of C that a routine of Fortran calls by its name, so that tools see that call too; -1: none. */
int pse_toolstack_comes_as(int routine);

#pragma GCC visibility pop

#endif
