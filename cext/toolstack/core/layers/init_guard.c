/* Naming the tool in which MPI_Init crashes or ends the process. */
#include "layers/init_guard.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "config/config.h"
#include "config/report.h"
#include "elf/loaded_elf.h"
#include "layers/crash_guard.h"
#include "layers/layer.h"
#include "mpi/mpi_library.h"
#include "mpi/routine_table.h"

enum { FRAMES = 64 };

static pse_function plain, with_threads; /* the highest layer's */
static bool within;
static pid_t process;

static struct tool_layer *layer_of(const struct link_map *map)
{
    for (int i = 0; i < pse_toolstack_layer_count; i++)
        for (const struct link_map *own = pse_toolstack_layers[i]->map; own;
             own = pse_toolstack_layer_next_map(pse_toolstack_layers[i], own))
            if (own == map)
                return pse_toolstack_layers[i];
    return NULL;
}

/* The tool whose function was called last, unless that has called MPI. */
static struct tool_layer *find_culprit(void)
{
    void *frames[FRAMES];
    const int count = backtrace(frames, FRAMES);
    for (int i = 0; i < count; i++) {
        struct link_map *map = NULL;
        struct loaded_elf elf;
        Dl_info found;
        if (!dladdr1(frames[i], &found, (void **)&map, RTLD_DL_LINKMAP) || !map)
            continue;
        struct tool_layer *layer = layer_of(map);
        if (layer || (pse_toolstack_view_elf(&elf, map) && pse_toolstack_is_library(&elf)))
            return layer;
    }
    return NULL;
}

static void crashed(int number)
{
    const struct tool_layer *layer = within ? find_culprit() : NULL;
    within = false;
    if (layer)
        pse_toolstack_die(false, "%s: tool `%s` crashed in MPI_Init: %s (%s)", layer->spec->place,
                          layer->spec->name, strsignal(number), layer->spec->path);
    signal(number, SIG_DFL);
    raise(number);
}

/* A tool called exit; MPI does too when it gives up. */
__attribute__((destructor)) static void left(void)
{
    const struct tool_layer *layer = within && getpid() == process ? find_culprit() : NULL;
    if (layer)
        pse_toolstack_die(false, "%s: tool `%s` ended the process in MPI_Init (%s)", layer->spec->place,
                          layer->spec->name, layer->spec->path);
}

static void begin(struct signal_state *before)
{
    void *frame;
    const struct sigaction action = {.sa_handler = crashed, .sa_flags = SA_ONSTACK};
    backtrace(&frame, 1); /* The first one loads what it needs. */
    process = getpid();
    within = true;
    pse_toolstack_watch_signals(before, &action);
}

static void end(const struct signal_state *before)
{
    within = false;
    pse_toolstack_restore_signals(before);
}

static int init(int *argc, char ***argv)
{
    struct signal_state before;
    begin(&before);
    const int error = ((int (*)(int *, char ***))plain)(argc, argv);
    end(&before);
    return error;
}

static int init_thread(int *argc, char ***argv, int required, int *provided)
{
    struct signal_state before;
    begin(&before);
    const int error = ((int (*)(int *, char ***, int, int *))with_threads)(argc, argv, required, provided);
    end(&before);
    return error;
}

static void put_above(const char *name, pse_function function, pse_function *below)
{
    const int routine = pse_toolstack_find(name);
    if (routine < 0)
        return;
    *below = pse_toolstack_table[routine];
    __atomic_store_n(&pse_toolstack_table[routine], function, __ATOMIC_RELEASE);
}

void pse_toolstack_guard_init(void)
{
    put_above("MPI_Init", (pse_function)init, &plain);
    put_above("MPI_Init_thread", (pse_function)init_thread, &with_threads);
}
