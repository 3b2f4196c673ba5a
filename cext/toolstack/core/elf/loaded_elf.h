/* Objects that are loaded: their symbols and relocations, read and changed through the dynamic section. */
#ifndef PSE_TOOLSTACK_LOADED_ELF_H
#define PSE_TOOLSTACK_LOADED_ELF_H

#include <link.h>
#include <stdbool.h>
#include <stddef.h>

#include "pse_tools.h"

struct loaded_elf { /* views into a loaded object's dynamic section */
    struct link_map *map;
    const ElfW(Sym) * symbols;
    const char *strings;
    const ElfW(Rela) * rela, *jump; /* RELA and JMPREL */
    size_t rela_count, jump_count, soname;
    const unsigned *hash, *gnu_hash;
};

struct link_map *pse_toolstack_first_map(void);
bool pse_toolstack_view_elf(struct loaded_elf *elf, struct link_map *map);
unsigned pse_toolstack_elf_symbols(const struct loaded_elf *elf); /* number 0 is none */
pse_function pse_toolstack_elf_function(const struct loaded_elf *elf,
                                        const ElfW(Sym) * symbol); /* NULL: no function here */
pse_function pse_toolstack_elf_find(const struct loaded_elf *elf, const char *name);

/* Overwrite an object's imports: `choose` gives the function for a symbol's name, NULL to leave it alone. */
typedef pse_function (*pse_toolstack_choice)(void *context, const char *name);
bool pse_toolstack_elf_rebind(const struct loaded_elf *elf, pse_toolstack_choice choose, void *context);

/* Have others find other functions in an object than its own: `choose` gives that for a symbol's name, NULL
 * to leave it alone.  This view of the object keeps its own functions. */
bool pse_toolstack_elf_redefine(struct loaded_elf *elf, pse_toolstack_choice choose, void *context);

#endif
