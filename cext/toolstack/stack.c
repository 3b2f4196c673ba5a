/* The stack: found, loaded, bound and started when the process calls MPI for the first time.
 *
 * Not before: the MPI library may come later than this object (Python imports mpi4py), and a launcher or any
 * other child that inherits LD_PRELOAD never calls MPI, so it pays for the mapping of this object and for
 * nothing else. `linking` is held by the thread that does it; MPI calls that tools make meanwhile go straight
 * to the library.
 */

#include <dlfcn.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

#include "internal.h"

struct pse_layer **pse_stack;
int pse_layers;
struct pse_config pse_config;

/* What a tool costs beside the strings of its configuration; the paper's took 636 bytes. */
_Static_assert(sizeof(struct pse_layer) + sizeof(struct pse_spec) <= 636, "a tool costs more than it should");

static pthread_mutex_t linking = PTHREAD_MUTEX_INITIALIZER;
static bool begun, done;
static pthread_t beginner;

/* The library
 * ------------------------------------------------------------------------------------------------------- */

static struct pse_module library;
static pse_function init, init_thread; /* what stands for MPI_Init after it has been called (attach.c) */

static const char *soname(const struct pse_module *module)
{
    return module->soname ? module->strings + module->soname : "";
}

bool pse_is_library(const struct pse_module *module)
{
    return module->map == library.map || pse_abi(soname(module));
}

const char *pse_library_soname(void)
{
    return soname(&library);
}

static bool look_for_library(void)
{
    struct pse_module module;
    for (struct link_map *map = pse_first_map(); map; map = map->l_next)
        if (pse_module_open(&module, map) && pse_module_find(&module, "PMPI_Init")) {
            if (!library.map || strcmp(soname(&module), pse_soname) == 0)
                library = module;
            if (strcmp(soname(&library), pse_soname) == 0)
                break;
        }
    return library.map;
}

/* Who finds MPI_x in this object may call it before anything has loaded MPI (mpi4py asks for versions that
 * way). */
bool pse_find_library(void)
{
    return library.map || look_for_library() ||
           (dlopen(pse_library_path, RTLD_NOW | RTLD_LOCAL) && look_for_library());
}

void pse_replace_init(pse_function plain, pse_function thread)
{
    init = plain;
    init_thread = thread;
}

pse_function pse_library_routine(int routine)
{
    if (init && strcmp(pse_name(routine), "MPI_Init") == 0)
        return init;
    if (init && strcmp(pse_name(routine), "MPI_Init_thread") == 0)
        return init_thread;
    pse_function found = library.map ? pse_module_find(&library, pse_name(routine)) : NULL;
    return found ? found : pse_fortran_routine(routine);
}

static void missing(void)
{
    pse_die(true, "an MPI routine was called that %s doesn't have: the tool stack is made for %s",
            soname(&library), pse_soname);
}

static bool held;           /* the stubs lead to the library until pse_engage */
static char obstacle[1536]; /* why a stack that is held can't be */

/* A stack that can't be ends the process; one that is held is only given up. */
static void give_up(bool everywhere, const char *format, ...)
{
    char why[sizeof obstacle];
    va_list rest;
    va_start(rest, format);
    vsnprintf(why, sizeof why, format, rest);
    va_end(rest);
    if (!held)
        pse_die(everywhere, "%s", why);
    if (!*obstacle)
        memcpy(obstacle, why, sizeof why);
}

/* Layers
 * ------------------------------------------------------------------------------------------------------------
 */

static pse_function *entry; /* three tables: what is linked so far, and room for pse_layer_bind */

/* Leave a tool out, or end: what is wrong is said with the line of the configuration. */
static void refuse(struct pse_layer *layer, bool everywhere, const char *why)
{
    const struct pse_spec *spec = layer->spec;
    layer->state = PSE_OUT;
    if (!spec->optional)
        give_up(everywhere, "%s:%d: tool `%s`: %s", spec->file, spec->line, spec->name, why);
    else
        pse_warn(everywhere, "%s:%d: going on without the optional tool `%s`: %s", spec->file, spec->line,
                 spec->name, why);
}

static const char *bring(struct pse_layer *layer)
{
    const char *why = pse_load(layer);
    if (!why)
        why = pse_layer_bind(layer, entry);
    if (!why)
        pse_initialise(layer);
    return why;
}

static void number_layers(void)
{
    int kept = 0;
    for (int i = 0; i < pse_layers; i++)
        if (pse_stack[i]->state != PSE_OUT)
            pse_stack[kept++] = pse_stack[i];
    pse_layers = kept;
    for (int i = 0; i < pse_layers; i++)
        pse_stack[i]->tools.layer = i;
}

static void add_layer(const struct pse_spec *spec)
{
    struct pse_layer *layer = calloc(1, sizeof *layer);
    if (!layer)
        pse_die(true, "%s:%d: there is no memory", spec->file, spec->line);
    layer->spec = spec;
    pse_offer(layer);
    const char *why = spec->path ? pse_filters_refuse(spec) : pse_not_found(spec);
    if (!why)
        why = pse_guarded(layer, "its initialisation", bring);
    if (why) {
        refuse(layer, true, why);
        return;
    }
    memmove(pse_stack + 1, pse_stack, (size_t)pse_layers++ * sizeof *pse_stack);
    pse_stack[0] = layer;
    number_layers();
}

static void fill_from_library(void)
{
    for (int i = 0; i < pse_routines; i++)
        if (!(entry[i] = pse_library_routine(i)))
            entry[i] = missing;
}

static void fill_table(void)
{
    for (int i = 0; i < pse_routines; i++)
        __atomic_store_n(&pse_table[i], entry[i], __ATOMIC_RELEASE);
}

void pse_begin_layer(struct pse_layer *layer)
{
    const char *why = pse_start_layer(layer);
    if (why)
        refuse(layer, false, why);
}

/* Start all; if one that is optional refuses, bind the others anew. */
static void start_layers(void)
{
    const int before = pse_layers;
    for (int i = pse_layers - 1; i >= 0; i--)
        if (pse_stack[i]->state == PSE_LOADED)
            pse_begin_layer(pse_stack[i]);
    number_layers();
    if (pse_layers == before)
        return;
    fill_from_library();
    for (int i = pse_layers - 1; i >= 0; i--)
        pse_layer_bind(pse_stack[i], entry);
}

static pid_t owner; /* children that the program forks end too, but they aren't the process of the tools */

static void end_layers(void)
{
    if (getpid() != owner)
        return;
    for (int i = 0; i < pse_layers; i++) {
        struct pse_module module;
        const pse_function end =
            pse_module_open(&module, pse_stack[i]->map) ? pse_module_find(&module, "pse_tool_end") : NULL;
        pse_warn_of_unasked(pse_stack[i]);
        if (end)
            end();
    }
}

/* The beginning
 * ----------------------------------------------------------------------------------------------------- */

static void check_library(void)
{
    if (strcmp(soname(&library), pse_soname) != 0)
        give_up(true,
                "the tool stack is made for %s, but the program's MPI is %s (%s): preload what `pse tools "
                "library "
                "--mpi %s` names",
                pse_soname, soname(&library), library.map->l_name, library.map->l_name);
}

static void load_layers(const char *configuration)
{
    static char error[1024];
    if (!pse_config_read(&pse_config, configuration, error, sizeof error)) {
        give_up(true, "%s", error);
        return;
    }
    pse_stack = calloc((size_t)pse_config.count + 1, sizeof(struct pse_layer *));
    if (!pse_stack)
        pse_die(true, "%s: there is no memory", configuration);
    /* Tools need not be linked with MPI: they find it where everybody does. */
    dlopen(library.map->l_name, RTLD_NOW | RTLD_NOLOAD | RTLD_GLOBAL);
    for (int i = pse_config.count - 1; i >= 0; i--)
        add_layer(&pse_config.spec[i]);
}

/* From now on calls go through the layers. */
void pse_engage(void)
{
    fill_table();
    free(entry);
    if (pse_layers) {
        owner = getpid();
        atexit(end_layers);
    }
}

/* Link everything.  Without a configuration the stubs lead to the library. */
static void begin(const char *configuration)
{
    if (!pse_find_library())
        pse_die(true,
                "MPI was called, but no MPI library is loaded that the tool stack could use (is it linked "
                "statically?)");
    pse_find_fortran();
    entry = calloc(3 * (size_t)pse_routines, sizeof *entry);
    if (!entry)
        pse_die(true, "there is no memory for the tool stack");
    fill_from_library();
    if (held)
        fill_table();
    if (configuration)
        check_library();
    if (configuration && !*obstacle)
        load_layers(configuration);
    if (!*obstacle)
        start_layers();
    if (!held)
        pse_engage();
}

static void begin_here(const char *configuration)
{
    beginner = pthread_self();
    __atomic_store_n(&begun, true, __ATOMIC_RELEASE);
    begin(configuration);
    __atomic_store_n(&done, true, __ATOMIC_RELEASE);
}

bool pse_begin_once(const char *configuration)
{
    pthread_mutex_lock(&linking);
    const bool first = !done;
    if (first)
        begin_here(configuration);
    pthread_mutex_unlock(&linking);
    return first;
}

const char *pse_hold(const char *configuration)
{
    pthread_mutex_lock(&linking);
    held = !done;
    if (held)
        begin_here(configuration);
    pthread_mutex_unlock(&linking);
    return !held ? "the process has a stack of tools already" : *obstacle ? obstacle : NULL;
}

/* The first call of a routine: entry.c comes here, and jumps to what is returned. */
PSE_HIDDEN pse_function pse_resolve(int routine)
{
    const char *configuration = getenv("PSE_TOOLS");
    const bool beginning =
        __atomic_load_n(&begun, __ATOMIC_ACQUIRE) && !__atomic_load_n(&done, __ATOMIC_ACQUIRE);
    if (beginning && pthread_equal(beginner, pthread_self()))
        return pse_library_routine(routine);
    if (!__atomic_load_n(&done, __ATOMIC_ACQUIRE))
        pse_begin_once(configuration && *configuration ? configuration : NULL);
    return pse_table[routine];
}
