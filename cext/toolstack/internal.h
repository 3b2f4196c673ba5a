/* What the files of the tool stack know of each other.  Tools see pse_tools.h only.
 *
 * A routine is known by its number: its place in the sorted list of names that stubs.py generated for one MPI
 * library. The stack is linked when the process calls MPI for the first time (stack.c), from the bottom up:
 * `entry[i]` begins as the library's own routine; each tool's imports of PMPI_x are bound to entry[x], then
 * entry[x] becomes the tool's definition of MPI_x where it has one (bind.c).  What is left in the end is what
 * the stubs jump through.  So there is one table, and a call goes from layer to layer by plain jumps.
 */
#ifndef PSE_TOOLSTACK_INTERNAL_H
#define PSE_TOOLSTACK_INTERNAL_H

#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "pse_tools.h"

#define PSE_HIDDEN __attribute__((visibility("hidden")))
#define PSE_EXPORT __attribute__((visibility("default")))

/* Generated for each MPI library (pse/toolstack/_stubs.py)
 * ---------------------------------------------------------- */

extern const int pse_routines PSE_HIDDEN;        /* how many */
extern const char pse_names[] PSE_HIDDEN;        /* "MPI_Abort\0MPI_Accumulate\0…", sorted by strcmp */
extern const unsigned pse_name_at[] PSE_HIDDEN;  /* where routine i's name begins */
extern const char pse_soname[] PSE_HIDDEN;       /* of the library that the stubs are for */
extern const char pse_library_path[] PSE_HIDDEN; /* where it was */
extern const char pse_fortran[] PSE_HIDDEN; /* paths of libraries with Fortran's routines, each with its 0 */
extern const char pse_shipped[] PSE_HIDDEN; /* directory of the tools that are made for it */
extern pse_function pse_table[] PSE_HIDDEN; /* what stub i jumps to */
extern const int pse_stub_at[] PSE_HIDDEN;  /* stub i, relative to this table */

const char *pse_name(int routine);
int pse_find(const char *name);       /* "MPI_Send", "mpi_send_": its number, -1 if MPI doesn't export it */
int pse_find_lower(const char *name); /* the same for "PMPI_Send", "pmpi_send_" */
pse_function pse_stub(int routine);
pse_function pse_library_routine(int routine); /* MPI's own; NULL before the library is known */

/* Words for people (report.c)
 * --------------------------------------------------------------------------------------- */

/* End the process with code 2.  What is wrong alike on every rank is said by the first one of each node only.
 */
_Noreturn void pse_die(bool everywhere, const char *format, ...) __attribute__((format(printf, 2, 3)));
void pse_warn(bool everywhere, const char *format, ...) __attribute__((format(printf, 2, 3)));
int pse_rank(void); /* as the launcher's environment says, -1 if it doesn't */

/* Configuration (config.c)
 * ------------------------------------------------------------------------------------------ */

struct pse_words {
    int count;
    char **word;
};

struct pse_spec {     /* one `module` and what follows it */
    const char *file; /* the configuration, and the line of `module` */
    int line;
    char *name, *wanted;  /* the instance's name; what the configuration says */
    char *path;           /* the file to load, once it was found */
    bool optional, hides; /* hides: lower tools don't see the calls that the tool makes of its own accord */
    struct pse_words keys, values;  /* arguments */
    struct pse_words only, except;  /* routines; empty: all */
    struct pse_words communicators; /* world, self, or names; empty: all */
    double from, until;             /* seconds since the stack started; 0 and infinity */
};

struct pse_config {
    const char *file;
    int count;
    struct pse_spec *spec;
};

/* Read a configuration; what is wrong goes to `error` and gives false. */
bool pse_config_read(struct pse_config *config, const char *file, char *error, size_t size);
const char *pse_not_found(const struct pse_spec *spec); /* what to say where `path` is NULL */

/* Files (image.c)
 * --------------------------------------------------------------------------------------------------- */

struct pse_image { /* a shared object that isn't loaded */
    const unsigned char *bytes;
    size_t size;
    dev_t device;
    ino_t inode;
    ElfW(Addr) init_array;            /* its initialisation functions */
    size_t init_count, init_count_at; /* how many; where in the file their size is written */
};

/* Open a tool's file and look whether it can be loaded beside an MPI library of that name; NULL, or what is
 * wrong. */
const char *pse_image_open(struct pse_image *image, const char *path, const char *soname);
void pse_image_close(struct pse_image *image);
const char *pse_abi(const char *soname); /* "MPICH's", …; NULL: not a name of an MPI library that we know */

/* Loaded objects (module.c)
 * ----------------------------------------------------------------------------------------- */

struct pse_module { /* views into a loaded object's dynamic section */
    struct link_map *map;
    const ElfW(Sym) * symbols;
    const char *strings;
    const ElfW(Rela) * rela, *jump; /* RELA and JMPREL */
    size_t rela_count, jump_count, soname;
    const unsigned *hash, *gnu_hash;
};

struct link_map *pse_first_map(void);
bool pse_module_open(struct pse_module *module, struct link_map *map);
unsigned pse_module_symbols(const struct pse_module *module); /* number 0 is none */
pse_function pse_symbol_value(const struct pse_module *module,
                              const ElfW(Sym) * symbol); /* NULL: no function here */
pse_function pse_module_find(const struct pse_module *module, const char *name);
bool pse_module_protect(const struct pse_module *module, bool writable);

/* Layers (stack.c, bind.c, load.c)
 * ---------------------------------------------------------------------------------- */

struct pse_override {
    int routine;
    pse_function function;
};

struct pse_layer {
    struct pse_tools tools; /* what the tool is given; tools.self is the layer */
    const struct pse_spec *spec;
    void *handle;
    struct link_map *map, *last;   /* the tool, and the last of what it brought along */
    struct pse_override *override; /* where pse_layer_wrap changed what others call */
    int overrides;
    ElfW(Addr) init_array; /* functions to be called once the tool is bound */
    size_t init_count;
    dev_t device;
    ino_t inode;
    uint64_t asked; /* for which of its arguments, a bit each */
    char *reason;   /* of its refusal */
    char *wish;     /* the service that it waits for, or found nobody to give */
    enum { PSE_LOADED, PSE_STARTING, PSE_STARTED, PSE_OUT } state;
};

extern struct pse_layer **pse_stack PSE_HIDDEN; /* [0] is nearest to the program */
extern int pse_layers PSE_HIDDEN;

struct link_map *pse_next_map(const struct pse_layer *layer,
                              const struct link_map *map);                  /* NULL after the last */
pse_function pse_layer_defines(const struct pse_layer *layer, int routine); /* its own, NULL if it has none */
pse_function pse_layer_below(const struct pse_layer *layer, int routine);   /* what its PMPI_x is bound to */

/* Called for every layer when it has been bound, from the bottom up (filters.c).  `below[i]` is what the
 * layer's PMPI_x was bound to; `entry[i]` what upper layers and the program will call: the layer's own
 * definition, or below[i] where it has none.  It may put other functions into `entry`: a shim for a routine
 * that the layer doesn't know, a thunk in front of one that it does. */
void pse_layer_wrap(struct pse_layer *layer, pse_function *entry, const pse_function *below);
const char *
pse_filters_refuse(const struct pse_spec *spec); /* why its filters can't work here, NULL if they can */

/* Bind a layer above `entry`, which is changed; there is room for two more tables behind it.  NULL, or why
 * not. */
const char *pse_layer_bind(struct pse_layer *layer, pse_function *entry);

/* Overwrite a module's imports: `choose` gives the function for a symbol's name, NULL to leave it alone. */
typedef pse_function (*pse_choice)(void *context, const char *name);
bool pse_rebind(const struct pse_module *module, pse_choice choose, void *context);

/* Load a layer's file; NULL, or what is wrong.  Its initialisation functions may be left for pse_initialise.
 */
const char *pse_load(struct pse_layer *layer);
void pse_initialise(struct pse_layer *layer);

/* Run one of a tool's own steps so that a crash names it (guard.c).  The tool of an optional layer first
 * takes the step in a child process: NULL, or what happened there. */
const char *pse_guarded(struct pse_layer *layer, const char *step, const char *(*run)(struct pse_layer *));

/* The library and the start (stack.c)
 * ------------------------------------------------------------------------------- */

extern struct pse_config pse_config PSE_HIDDEN;
bool pse_is_library(const struct pse_module *module); /* the MPI library itself, or what belongs to it */
bool pse_find_library(void);
const char *pse_library_soname(void);
void pse_replace_init(pse_function plain, pse_function thread);
bool pse_begin_once(const char *configuration); /* link everything; false if that was done before */
void pse_begin_layer(struct pse_layer *layer);  /* start it, or leave it out */

/* Link everything, but let the stubs lead to the library until pse_engage; NULL, or why that can't be. */
const char *pse_hold(const char *configuration);
void pse_engage(void);

/* Fortran (fortran.c)
 * ------------------------------------------------------------------------------------------------------- */

void pse_find_fortran(void);
pse_function pse_fortran_routine(int routine); /* NULL: it is not one of theirs */
/* The routine of C that a routine of Fortran calls by its name, so that tools see that call too; -1: none. */
int pse_comes_as(int routine);

/* Services (services.c, storage.c)
 * ---------------------------------------------------------------------------------- */

void pse_offer(struct pse_layer *layer);                 /* fill in layer->tools */
const char *pse_start_layer(struct pse_layer *layer);    /* NULL, or why it refuses */
void pse_warn_of_unasked(const struct pse_layer *layer); /* arguments that the tool hasn't asked for */
void pse_print_services(const struct pse_layer *layer, FILE *to);
void *pse_keep(void *self, enum pse_kept_for what, uintptr_t handle, size_t bytes);
void pse_drop(void *self, enum pse_kept_for what, uintptr_t handle);
struct pse_ring *pse_open_ring(void *self, const char *name, const char *signature, size_t bytes,
                               size_t count);

/* Thunks (thunk.c)
 * ------------------------------------------------------------------------------------------------- */

struct pse_thunk {
    pse_function target;
    void *data;
};

/* Make a function that jumps to `target` with all argument registers and the stack untouched, and the address
 * of its struct pse_thunk in r10 (x86-64) or x17 (aarch64).  NULL if there is no memory.  It lives until the
 * process ends. */
pse_function pse_make_thunk(pse_function target, void *data);

#endif
