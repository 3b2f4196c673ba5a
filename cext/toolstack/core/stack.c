/* Linking the stack. */
#include "stack.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "calls/routine_filter.h"
#include "config/config.h"
#include "config/report.h"
#include "elf/loaded_elf.h"
#include "layers/bind.h"
#include "layers/crash_guard.h"
#include "layers/init_guard.h"
#include "layers/layer.h"
#include "layers/load.h"
#include "layers/refusal.h"
#include "layers/services.h"
#include "mpi/fortran.h"
#include "mpi/mpi_library.h"
#include "mpi/routine_table.h"

static struct stack_config config;

/* What a tool costs beside the strings of its configuration; the paper's took 636 bytes. */
_Static_assert(sizeof(struct tool_layer) + sizeof(struct tool_spec) <= 636,
               "a tool costs more than it should");

static pthread_mutex_t linking = PTHREAD_MUTEX_INITIALIZER;
static bool begun, done;
static pthread_t beginner;

static void missing(void)
{
    pse_toolstack_die(
        true,
        "an MPI routine was called that %s doesn't have: the tool stack is made for %s; preload what "
        "`pse tools library --mpi %s` names",
        pse_toolstack_library_soname(), pse_toolstack_soname, pse_toolstack_library_file());
}

/* Layers
 * ------------------------------------------------------------------------------------------------------------
 */

static pse_function *entry; /* three tables: what is linked so far, and room for pse_toolstack_bind_layer */

static const char *bring(struct tool_layer *layer)
{
    const char *why = pse_toolstack_load_layer(layer);
    if (!why)
        why = pse_toolstack_bind_layer(layer, entry);
    if (!why)
        pse_toolstack_initialise_layer(layer);
    return why;
}

static void number_layers(void)
{
    int kept = 0;
    for (int i = 0; i < pse_toolstack_layer_count; i++)
        if (pse_toolstack_layers[i]->state != PSE_OUT)
            pse_toolstack_layers[kept++] = pse_toolstack_layers[i];
    pse_toolstack_layer_count = kept;
    for (int i = 0; i < pse_toolstack_layer_count; i++)
        pse_toolstack_layers[i]->tools.layer = i;
}

static void add_layer(const struct tool_spec *spec)
{
    struct tool_layer *layer = calloc(1, sizeof *layer);
    if (!layer)
        pse_toolstack_die(true, "%s: there is no memory for this tool", spec->place);
    layer->spec = spec;
    pse_toolstack_offer(layer);
    const char *why = spec->path ? pse_toolstack_filters_refuse(spec) : pse_toolstack_not_found(spec);
    if (!why)
        why = pse_toolstack_guarded(layer, "its initialisation", bring);
    if (why) {
        pse_toolstack_refuse(layer, true, why);
        return;
    }
    memmove(pse_toolstack_layers + 1, pse_toolstack_layers,
            (size_t)pse_toolstack_layer_count++ * sizeof *pse_toolstack_layers);
    pse_toolstack_layers[0] = layer;
    number_layers();
}

static void fill_from_library(void)
{
    for (int i = 0; i < pse_toolstack_routine_count; i++)
        if (!(entry[i] = pse_toolstack_library_routine(i)))
            entry[i] = missing;
}

static void fill_table(void)
{
    for (int i = 0; i < pse_toolstack_routine_count; i++)
        __atomic_store_n(&pse_toolstack_table[i], entry[i], __ATOMIC_RELEASE);
}

/* Start all; if one that is optional refuses, bind the others anew. */
static void start_layers(void)
{
    const int before = pse_toolstack_layer_count;
    for (int i = pse_toolstack_layer_count - 1; i >= 0; i--)
        if (pse_toolstack_layers[i]->state == PSE_LOADED)
            pse_toolstack_start_layer(pse_toolstack_layers[i]);
    number_layers();
    if (pse_toolstack_layer_count == before)
        return;
    fill_from_library();
    for (int i = pse_toolstack_layer_count - 1; i >= 0; i--)
        pse_toolstack_bind_layer(pse_toolstack_layers[i], entry);
}

static pid_t owner; /* children that the program forks end too, but they aren't the process of the tools */

static void end_layers(void)
{
    if (getpid() != owner)
        return;
    for (int i = 0; i < pse_toolstack_layer_count; i++) {
        struct loaded_elf elf;
        const pse_function end = pse_toolstack_view_elf(&elf, pse_toolstack_layers[i]->map)
                                     ? pse_toolstack_elf_find(&elf, "pse_tool_end")
                                     : NULL;
        pse_toolstack_warn_of_unasked(pse_toolstack_layers[i]);
        if (end)
            end();
    }
}

/* The beginning
 * ----------------------------------------------------------------------------------------------------- */

static void check_library(void)
{
    if (strcmp(pse_toolstack_library_soname(), pse_toolstack_soname) != 0)
        pse_toolstack_give_up(
            true,
            "the tool stack is made for %s, but the program's MPI is %s (%s): preload what `pse tools "
            "library "
            "--mpi %s` names",
            pse_toolstack_soname, pse_toolstack_library_soname(), pse_toolstack_library_file(),
            pse_toolstack_library_file());
}

static void load_layers(const char *configuration)
{
    static char error[1024];
    if (!pse_toolstack_read_config(&config, configuration, error, sizeof error)) {
        pse_toolstack_give_up(true, "%s", error);
        return;
    }
    pse_toolstack_layers = calloc((size_t)config.count + 1, sizeof(struct tool_layer *));
    if (!pse_toolstack_layers)
        pse_toolstack_die(true, "%s: there is no memory for the tools that it lists", configuration);
    /* Tools need not be linked with MPI: they find it where everybody does. */
    dlopen(pse_toolstack_library_file(), RTLD_NOW | RTLD_NOLOAD | RTLD_GLOBAL);
    for (int i = config.count - 1; i >= 0; i--)
        add_layer(&config.spec[i]);
}

void pse_toolstack_publish(void)
{
    fill_table();
    free(entry);
    if (pse_toolstack_layer_count) {
        pse_toolstack_guard_init();
        owner = getpid();
        atexit(end_layers);
    }
}

_Noreturn static void die_without_library(void)
{
    const char *why = pse_toolstack_library_obstacle(), *path = pse_toolstack_library_path;
    const char *first = getenv("LD_LIBRARY_PATH");
    char help[1024];
    if (first && *first)
        snprintf(help, sizeof help,
                 "what it needs is searched in LD_LIBRARY_PATH first: take directories of another MPI out of "
                 "it (%s)",
                 first);
    else
        snprintf(help, sizeof help, "`ldd %s` lists what it needs, and what is missing", path);
    pse_toolstack_die(true, "MPI was called, but its library %s can't be loaded: %s\nhelp: %s", path, why,
                      help);
}

/* Link everything.  Without a configuration the stubs lead to the library. */
static void begin(const char *configuration)
{
    if (!pse_toolstack_find_library())
        die_without_library();
    pse_toolstack_find_fortran();
    entry = calloc(3 * (size_t)pse_toolstack_routine_count, sizeof *entry);
    if (!entry)
        pse_toolstack_die(true, "there is no memory for the tool stack");
    fill_from_library();
    if (pse_toolstack_held)
        fill_table();
    if (configuration)
        check_library();
    if (configuration && !*pse_toolstack_obstacle)
        load_layers(configuration);
    if (!*pse_toolstack_obstacle)
        start_layers();
    if (!pse_toolstack_held)
        pse_toolstack_publish();
}

static void begin_here(const char *configuration)
{
    beginner = pthread_self();
    __atomic_store_n(&begun, true, __ATOMIC_RELEASE);
    begin(configuration);
    __atomic_store_n(&done, true, __ATOMIC_RELEASE);
}

bool pse_toolstack_begin_once(const char *configuration)
{
    pthread_mutex_lock(&linking);
    const bool first = !done;
    if (first)
        begin_here(configuration);
    pthread_mutex_unlock(&linking);
    return first;
}

const char *pse_toolstack_configuration(void)
{
    return config.file;
}

const char *pse_toolstack_begin_held(const char *configuration)
{
    pthread_mutex_lock(&linking);
    pse_toolstack_held = !done;
    if (pse_toolstack_held)
        begin_here(configuration);
    pthread_mutex_unlock(&linking);
    return !pse_toolstack_held       ? "the process has a stack of tools already"
           : *pse_toolstack_obstacle ? pse_toolstack_obstacle
                                     : NULL;
}

bool pse_toolstack_is_begun(bool *by_this_thread)
{
    *by_this_thread = __atomic_load_n(&begun, __ATOMIC_ACQUIRE) &&
                      !__atomic_load_n(&done, __ATOMIC_ACQUIRE) && pthread_equal(beginner, pthread_self());
    return __atomic_load_n(&done, __ATOMIC_ACQUIRE);
}
