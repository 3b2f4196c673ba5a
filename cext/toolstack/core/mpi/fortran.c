/* Finding Fortran's libraries, and what they call. */
#include "mpi/fortran.h"

#include <ctype.h>
#include <dlfcn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "elf/loaded_elf.h"
#include "mpi/routine_table.h"

enum { LIBRARIES = 2 };

static struct loaded_elf fortran[LIBRARIES];
static int fortrans;
static bool *called_by_fortran; /* which routines of C its routines call under their names */

static void note_calls(const struct loaded_elf *elf)
{
    const unsigned count = pse_toolstack_elf_symbols(elf);
    if (!called_by_fortran &&
        !(called_by_fortran = calloc((size_t)pse_toolstack_routine_count, sizeof(bool))))
        return;
    for (unsigned i = 1; i < count; i++) {
        const ElfW(Sym) *symbol = elf->symbols + i;
        const int routine =
            symbol->st_shndx == SHN_UNDEF ? pse_toolstack_find(elf->strings + symbol->st_name) : -1;
        if (routine >= 0)
            called_by_fortran[routine] = true;
    }
}

/* The libraries are loaded here, for all to find: tools need not
 * be linked with them, and a module that needs them may come after the tools have been bound.  Where
 * Fortran's own library is missing they can't be, and nobody calls them. */
void pse_toolstack_find_fortran(void)
{
    for (const char *path = pse_toolstack_fortran_paths; *path && fortrans < LIBRARIES;
         path += strlen(path) + 1) {
        void *map = dlopen(strrchr(path, '/') + 1, RTLD_LAZY | RTLD_NOLOAD | RTLD_GLOBAL);
        if (!map)
            map = dlopen(path, RTLD_LAZY | RTLD_GLOBAL);
        if (map && pse_toolstack_view_elf(&fortran[fortrans], map))
            note_calls(&fortran[fortrans++]);
    }
}

pse_function pse_toolstack_fortran_routine(int routine)
{
    pse_function found = NULL;
    for (int i = 0; !found && i < fortrans; i++)
        found = pse_toolstack_elf_find(&fortran[i], pse_toolstack_routine_name(routine));
    return found;
}

/* mpi_comm_dup_ is MPI_Comm_dup. */
int pse_toolstack_comes_as(int routine)
{
    char name[64];
    const char *given = pse_toolstack_routine_name(routine);
    size_t length = strlen(given);
    while (length > 0 && given[length - 1] == '_')
        length--;
    if (!called_by_fortran || length < 5 || length >= sizeof name)
        return -1;
    for (size_t i = 0; i < length; i++)
        name[i] = (char)(i < 5 ? toupper(given[i]) : tolower(given[i]));
    name[length] = '\0';
    const int found = pse_toolstack_find(name);
    return found != routine && found >= 0 && called_by_fortran[found] ? found : -1;
}
