/* Finding the MPI library and what is in it. */
#include "mpi/mpi_library.h"

#include <dlfcn.h>
#include <string.h>

#include "elf/elf_file.h"
#include "mpi/fortran.h"
#include "mpi/routine_table.h"
#include "shims.h"

static struct loaded_elf library;
static pse_function init, init_thread; /* what stands for MPI_Init after it has been called (attach.c) */

static const char *soname(const struct loaded_elf *elf)
{
    return elf->soname ? elf->strings + elf->soname : "";
}

bool pse_toolstack_is_library(const struct loaded_elf *elf)
{
    return elf->map == library.map || pse_toolstack_abi_of(soname(elf));
}

const char *pse_toolstack_library_soname(void)
{
    return soname(&library);
}

static bool look_for_library(void)
{
    struct loaded_elf elf;
    for (struct link_map *map = pse_toolstack_first_map(); map; map = map->l_next)
        if (pse_toolstack_view_elf(&elf, map) && pse_toolstack_elf_find(&elf, "PMPI_Init")) {
            if (!library.map || strcmp(soname(&elf), pse_toolstack_soname) == 0)
                library = elf;
            if (strcmp(soname(&library), pse_toolstack_soname) == 0)
                break;
        }
    return library.map;
}

/* Who finds MPI_x in this object may call it before anything has loaded MPI (mpi4py asks for versions that
 * way).  Lazily, as programs and mpi4py load it: what they can use must not fail here. */
bool pse_toolstack_find_library(void)
{
    return library.map || look_for_library() ||
           (dlopen(pse_toolstack_library_path, RTLD_LAZY | RTLD_LOCAL) && look_for_library());
}

const char *pse_toolstack_library_obstacle(void)
{
    const char *why = dlerror();
    return why ? why : "it has no PMPI_Init";
}

bool pse_toolstack_redefine_library(pse_toolstack_choice choose)
{
    return pse_toolstack_elf_redefine(&library, choose, NULL);
}

void pse_toolstack_replace_init(pse_function plain, pse_function thread)
{
    init = plain;
    init_thread = thread;
}

pse_function pse_toolstack_library_routine(int routine)
{
    if (init && strcmp(pse_toolstack_routine_name(routine), "MPI_Init") == 0)
        return init;
    if (init && strcmp(pse_toolstack_routine_name(routine), "MPI_Init_thread") == 0)
        return init_thread;
    pse_function found =
        library.map ? pse_toolstack_elf_find(&library, pse_toolstack_routine_name(routine)) : NULL;
    return found ? found : pse_toolstack_fortran_routine(routine);
}

const char *pse_toolstack_library_file(void)
{
    return library.map->l_name;
}

pse_function pse_toolstack_library_function(const char *routine)
{
    const int number = pse_toolstack_find(routine);
    return number < 0 ? NULL : pse_toolstack_library_routine(number);
}

/* A program that isn't position-independent has copies of the library's variables, which then are the ones.
 */
void *pse_toolstack_library_symbol(const char *name)
{
    Dl_info info;
    void *symbol = dlsym(RTLD_DEFAULT, name);
    if (symbol || !dladdr((void *)pse_toolstack_library_function("MPI_Finalize"), &info))
        return symbol;
    void *handle = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    symbol = handle ? dlsym(handle, name) : NULL;
    if (handle)
        dlclose(handle);
    return symbol;
}
