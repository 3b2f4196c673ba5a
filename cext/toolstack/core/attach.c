/* What Python calls: attaching to a process that has MPI loaded, at once or in two steps, and looking at a
 * configuration.
 *
 * Attaching: the modules that are loaded have been bound to the MPI library by the dynamic linker, so their
 * imports of MPI_x are pointed at the stubs, as a tool's imports of PMPI_x are pointed at the layer below. If
 * MPI is initialised, each tool's MPI_Init_thread (or MPI_Init) is called once, above one that does nothing.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/config.h"
#include "config/report.h"
#include "elf/elf_file.h"
#include "elf/loaded_elf.h"
#include "layers/crash_guard.h"
#include "layers/layer.h"
#include "layers/services.h"
#include "mpi/mpi_library.h"
#include "mpi/routine_table.h"
#include "stack.h"
#include "visibility.h"

typedef int (*init_routine)(int *, char ***);
typedef int (*init_thread_routine)(int *, char ***, int, int *);

static int nothing_to_init(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    return 0;
}

static int nothing_to_init_thread(int *argc, char ***argv, int required, int *provided)
{
    (void)argc, (void)argv, (void)required;
    const int query = pse_toolstack_find("MPI_Query_thread");
    return ((int (*)(int *))pse_toolstack_library_routine(query))(provided);
}

static bool initialised(void)
{
    int flag = 0;
    const int routine = pse_toolstack_find("MPI_Initialized");
    return routine >= 0 && ((int (*)(int *))pse_toolstack_library_routine(routine))(&flag) == 0 && flag;
}

/* Whether MPI is initialised; then no tool's call of MPI_Init may reach it. */
static bool comes_late(void)
{
    const bool late = pse_toolstack_find_library() && initialised();
    if (late)
        pse_toolstack_replace_init((pse_function)nothing_to_init, (pse_function)nothing_to_init_thread);
    return late;
}

static const char *replay(struct tool_layer *layer)
{
    int provided;
    const pse_function thread = pse_toolstack_layer_defines(layer, pse_toolstack_find("MPI_Init_thread"));
    const pse_function plain = pse_toolstack_layer_defines(layer, pse_toolstack_find("MPI_Init"));
    if (thread) {
        nothing_to_init_thread(NULL, NULL, 0, &provided);
        ((init_thread_routine)thread)(NULL, NULL, provided, &provided);
    } else if (plain)
        ((init_routine)plain)(NULL, NULL);
    return NULL;
}

static void replay_all(void)
{
    for (int i = pse_toolstack_layer_count - 1; i >= 0; i--)
        pse_toolstack_run_guarded(pse_toolstack_layers[i], "its MPI_Init", replay);
}

static pse_function stub_for(void *context, const char *name)
{
    (void)context;
    const int routine = *name == 'M' || *name == 'm' ? pse_toolstack_find(name) : -1;
    return routine < 0 ? NULL : pse_toolstack_stub(routine);
}

static bool is_tool(const struct link_map *map)
{
    for (int i = 0; i < pse_toolstack_layer_count; i++)
        for (const struct link_map *own = pse_toolstack_layers[i]->map; own;
             own = pse_toolstack_layer_next_map(pse_toolstack_layers[i], own))
            if (own == map)
                return true;
    return false;
}

/* Modules that were loaded since the last time are bound; those that have been are bound to the same again.
 */
static bool rebind_program(void)
{
    struct loaded_elf elf;
    bool all = true;
    for (struct link_map *map = pse_toolstack_first_map(); map; map = map->l_next)
        if (pse_toolstack_view_elf(&elf, map) && !pse_toolstack_is_library(&elf) && !is_tool(map) && elf.rela)
            all &= pse_toolstack_elf_rebind(&elf, stub_for, NULL);
    return all;
}

/* Load and start the configuration's tools in this process; false if a stack is running already (modules that
 * were loaded since are bound to it).  What is wrong ends the process with code 2, as everywhere. */
PSE_EXPORT bool pse_toolstack_attach(const char *configuration)
{
    const bool late = comes_late(), first = pse_toolstack_begin_once(configuration);
    if (first && late)
        replay_all();
    rebind_program();
    return first;
}

/* The configuration of the stack that is running; NULL: it has no tools. */
PSE_EXPORT const char *pse_toolstack_attached(void)
{
    return pse_toolstack_configuration();
}

/* Whether what is loaded from now on finds the stubs, and not the library. */
static bool comes_first(void)
{
    const int routine = pse_toolstack_find("MPI_Init");
    return routine >= 0 &&
           dlsym(RTLD_DEFAULT, pse_toolstack_routine_name(routine)) == (void *)pse_toolstack_stub(routine);
}

/* The first step of attaching, which may fail: everything is loaded and bound, but calls still go straight to
 * the library.  NULL, or why it can't be; then they always will.  This object must be loaded for all to find
 * (RTLD_GLOBAL). */
PSE_EXPORT const char *pse_toolstack_prepare(const char *configuration)
{
    comes_late();
    const char *why = pse_toolstack_begin_held(configuration);
    if (why)
        return why;
    /* mpi4py loads Open MPI, and LD_PRELOAD any MPI, for all to find, before this object. */
    if (!comes_first() && !pse_toolstack_redefine_library(stub_for))
        return "the MPI library's symbols can't be made writable";
    return rebind_program() ? NULL : "the program's imports can't be made writable";
}

/* The second step, which can't fail. */
PSE_EXPORT void pse_toolstack_engage(void)
{
    pse_toolstack_publish();
    if (initialised())
        replay_all();
}

/* Look at a configuration without running any of its tools; NULL, or the first thing that is wrong with it.
 */
PSE_EXPORT const char *pse_toolstack_verify(const char *configuration)
{
    static char error[2560];
    struct stack_config config;
    if (!pse_toolstack_read_config(&config, configuration, error, sizeof error))
        return error;
    for (int i = 0; i < config.count; i++) {
        struct elf_file file;
        const struct tool_spec *spec = &config.spec[i];
        const char *why = spec->path ? pse_toolstack_open_elf_file(&file, spec->path, pse_toolstack_soname)
                                     : pse_toolstack_not_found(spec);
        if (spec->path)
            pse_toolstack_close_elf_file(&file);
        if (!why || spec->optional)
            continue;
        snprintf(error, sizeof error, "%s: tool `%s`: %s", spec->place, spec->name, why);
        return error;
    }
    return NULL;
}

static void print_layer(const struct tool_layer *layer, FILE *to)
{
    const struct tool_spec *spec = layer->spec;
    fprintf(to, "tool\t%s\t%d\t%s\n", spec->name, spec->line, spec->path);
    for (int i = 0; i < pse_toolstack_routine_count; i++)
        if (pse_toolstack_layer_defines(layer, i))
            fprintf(to, "wraps\t%s\n", pse_toolstack_routine_name(i));
    pse_toolstack_print_services(layer, to);
}

/* Load the library and the configuration's tools, start them, and write down what they are. */
PSE_EXPORT void pse_toolstack_describe(const char *configuration, const char *mpi)
{
    if (!dlopen(mpi, RTLD_LAZY | RTLD_LOCAL))
        pse_toolstack_die(true, "%s", dlerror());
    pse_toolstack_begin_once(configuration);
    for (int i = 0; i < pse_toolstack_layer_count; i++)
        print_layer(pse_toolstack_layers[i], stdout);
    fflush(stdout);
}
