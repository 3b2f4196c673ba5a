/* The layers of the stack: one for each tool, and what a routine is in them. */
#ifndef PSE_TOOLSTACK_LAYER_H
#define PSE_TOOLSTACK_LAYER_H

#include <elf.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "config/config.h"
#include "pse_tools.h"

struct routine_override {
    int routine;
    pse_function function;
};

struct tool_layer {
    struct pse_tools tools; /* what the tool is given; tools.self is the layer */
    const struct tool_spec *spec;
    void *handle;
    struct link_map *map, *last;       /* the tool, and the last of what it brought along */
    struct routine_override *override; /* where something stands between it and those who call it (bind.c) */
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

#pragma GCC visibility push(hidden)

extern struct tool_layer **pse_toolstack_layers; /* [0] is nearest to the program */
extern int pse_toolstack_layer_count;

/* The objects of a layer: the tool, and what it brought along; NULL after the last. */
struct link_map *pse_toolstack_layer_next_map(const struct tool_layer *layer, const struct link_map *map);
/* The layer's own definition of a routine, NULL if it has none. */
pse_function pse_toolstack_layer_defines(const struct tool_layer *layer, int routine);
/* What the layer's PMPI_x is bound to. */
pse_function pse_toolstack_layer_below(const struct tool_layer *layer, int routine);
/* Whether a tool that knows a routine in both languages sees a call from Fortran once, when it has become one
 * of C: then all tools see it, in their order. */
bool pse_toolstack_is_seen_in_c(const struct tool_layer *layer, int routine);

#pragma GCC visibility pop

#endif
