/* A tool's file before it is loaded: is it a shared object for this machine, and for the MPI that is here?
 *
 * Loading a tool for another MPI would bring that MPI into the process, or give constants a wrong meaning.
 * What tells is the name of the MPI library that the tool is linked with, and symbols that only one MPI has.
 */
#ifndef PSE_TOOLSTACK_ELF_FILE_H
#define PSE_TOOLSTACK_ELF_FILE_H

#include <link.h>
#include <stddef.h>

#include "elf/mapped_elf.h"

struct elf_file { /* a shared object that isn't loaded */
    struct mapped_elf mapped;
    ElfW(Addr) init_array;            /* its initialisation functions */
    size_t init_count, init_count_at; /* how many; where in the file their size is written */
};

/* Open a tool's file and look whether it can be loaded beside an MPI library of that name; NULL, or what is
 * wrong. */
const char *pse_toolstack_open_elf_file(struct elf_file *file, const char *path, const char *soname);
void pse_toolstack_close_elf_file(struct elf_file *file);
const char *
pse_toolstack_abi_of(const char *soname); /* "MPICH's", …; NULL: not a name of an MPI library that we know */

#endif
