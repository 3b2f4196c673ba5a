/* Symbols, relocations and protection of loaded objects. */
#define _GNU_SOURCE
#include "elf/loaded_elf.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct link_map *pse_toolstack_first_map(void)
{
    static struct link_map *first;
    if (!first) {
        void *program = dlopen(NULL, RTLD_LAZY); /* glibc's handles are link maps. */
        first = program;
    }
    return first;
}

/* glibc has added the load address to most addresses in the dynamic section, but can't for the vdso. */
static const void *address(const struct link_map *map, ElfW(Addr) value)
{
    return (const void *)(value < map->l_addr ? value + map->l_addr : value);
}

bool pse_toolstack_view_elf(struct loaded_elf *elf, struct link_map *map)
{
    *elf = (struct loaded_elf){.map = map};
    for (const ElfW(Dyn) *entry = map->l_ld; entry && entry->d_tag != DT_NULL; entry++) {
        const void *at = address(map, entry->d_un.d_ptr);
        switch (entry->d_tag) {
        case DT_SYMTAB:
            elf->symbols = at;
            break;
        case DT_STRTAB:
            elf->strings = at;
            break;
        case DT_RELA:
            elf->rela = at;
            break;
        case DT_RELASZ:
            elf->rela_count = entry->d_un.d_val / sizeof(ElfW(Rela));
            break;
        case DT_JMPREL:
            elf->jump = at;
            break;
        case DT_PLTRELSZ:
            elf->jump_count = entry->d_un.d_val / sizeof(ElfW(Rela));
            break;
        case DT_HASH:
            elf->hash = at;
            break;
        case DT_GNU_HASH:
            elf->gnu_hash = at;
            break;
        case DT_SONAME:
            elf->soname = entry->d_un.d_val;
            break;
        }
    }
    return elf->symbols && elf->strings;
}

/* The GNU hash table has no count: the highest chain is followed to its end. */
static unsigned gnu_count(const unsigned *hash)
{
    const unsigned buckets = hash[0], offset = hash[1], bloom = hash[2];
    const unsigned *bucket = (const unsigned *)((const ElfW(Addr) *)(const void *)(hash + 4) + bloom);
    unsigned last = 0;
    for (unsigned i = 0; i < buckets; i++)
        if (bucket[i] > last)
            last = bucket[i];
    if (last < offset)
        return offset;
    for (const unsigned *chain = bucket + buckets - offset; !(chain[last] & 1);)
        last++;
    return last + 1;
}

unsigned pse_toolstack_elf_symbols(const struct loaded_elf *elf)
{
    return elf->hash ? elf->hash[1] : elf->gnu_hash ? gnu_count(elf->gnu_hash) : 0;
}

static pse_function value(const struct loaded_elf *elf, const ElfW(Sym) * symbol)
{
    pse_function at = (pse_function)(elf->map->l_addr + symbol->st_value);
    if (ELF64_ST_TYPE(symbol->st_info) == STT_GNU_IFUNC)
        at = ((pse_function (*)(void))at)();
    return at;
}

pse_function pse_toolstack_elf_function(const struct loaded_elf *elf, const ElfW(Sym) * symbol)
{
    const int type = ELF64_ST_TYPE(symbol->st_info);
    const bool function = type == STT_FUNC || type == STT_GNU_IFUNC;
    return function && symbol->st_shndx != SHN_UNDEF ? value(elf, symbol) : NULL;
}

static pse_function find_gnu(const struct loaded_elf *elf, const char *name)
{
    const unsigned *hash = elf->gnu_hash, buckets = hash[0], offset = hash[1], bloom = hash[2];
    const unsigned *bucket = (const unsigned *)((const ElfW(Addr) *)(const void *)(hash + 4) + bloom);
    unsigned key = 5381;
    for (const unsigned char *c = (const unsigned char *)name; *c; c++)
        key = key * 33 + *c;
    unsigned i = bucket[key % buckets];
    if (i < offset)
        return NULL;
    for (const unsigned *chain = bucket + buckets - offset;; i++) {
        const ElfW(Sym) *symbol = elf->symbols + i;
        if ((chain[i] | 1) == (key | 1) && strcmp(elf->strings + symbol->st_name, name) == 0)
            return pse_toolstack_elf_function(elf, symbol);
        if (chain[i] & 1)
            return NULL;
    }
}

static pse_function find_sysv(const struct loaded_elf *elf, const char *name)
{
    const unsigned *hash = elf->hash, buckets = hash[0], *chain = hash + 2 + buckets;
    unsigned long key = 0;
    for (const unsigned char *c = (const unsigned char *)name; *c; c++) {
        key = (key << 4) + *c;
        key = (key ^ ((key >> 24) & 0xf0)) & 0x0fffffff;
    }
    for (unsigned i = hash[2 + key % buckets]; i; i = chain[i]) {
        const ElfW(Sym) *symbol = elf->symbols + i;
        if (strcmp(elf->strings + symbol->st_name, name) == 0)
            return pse_toolstack_elf_function(elf, symbol);
    }
    return NULL;
}

pse_function pse_toolstack_elf_find(const struct loaded_elf *elf, const char *name)
{
    if (elf->gnu_hash)
        return find_gnu(elf, name);
    return elf->hash ? find_sysv(elf, name) : NULL;
}

/* What the dynamic linker made read-only after relocation
 * ----------------------------------------------------------- */

struct relro_search {
    const struct link_map *map;
    uintptr_t start, end;
};

static int note_relro(struct dl_phdr_info *info, size_t size, void *data)
{
    struct relro_search *search = data;
    const uintptr_t page = (uintptr_t)getpagesize();
    bool ours = false;
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++)
        ours |= info->dlpi_phdr[i].p_type == PT_DYNAMIC &&
                info->dlpi_addr + info->dlpi_phdr[i].p_vaddr == (uintptr_t)search->map->l_ld;
    for (int i = 0; ours && i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_GNU_RELRO) {
            const uintptr_t at = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
            search->start = at & -page;
            search->end = (at + info->dlpi_phdr[i].p_memsz) & -page;
        }
    return ours;
}

static bool set_writable(const struct loaded_elf *elf, bool writable)
{
    struct relro_search search = {elf->map, 0, 0};
    dl_iterate_phdr(note_relro, &search);
    if (search.start >= search.end)
        return true;
    return mprotect((void *)search.start, search.end - search.start,
                    PROT_READ | (writable ? PROT_WRITE : 0)) == 0;
}

/* Imports

   An import is a relocation against a symbol: a slot of the procedure linkage table, an entry of the global
   offset table (-fno-plt, addresses of functions), or a word of initialised data (tables of functions).  All
   are 64-bit words that hold the function's address, and are simply overwritten.  Relative relocations,
   packed (RELR) or not, name no symbol and never concern another object. */

#if defined(__x86_64__)
#define IS_IMPORT(type) ((type) == R_X86_64_JUMP_SLOT || (type) == R_X86_64_GLOB_DAT || (type) == R_X86_64_64)
#elif defined(__aarch64__)
#define IS_IMPORT(type)                                                                                      \
    ((type) == R_AARCH64_JUMP_SLOT || (type) == R_AARCH64_GLOB_DAT || (type) == R_AARCH64_ABS64)
#endif

static void rebind(const struct loaded_elf *elf, const ElfW(Rela) * rela, size_t count,
                   pse_toolstack_choice choose, void *context)
{
    for (size_t i = 0; i < count; i++) {
        if (!IS_IMPORT(ELF64_R_TYPE(rela[i].r_info)))
            continue;
        const ElfW(Sym) *symbol = elf->symbols + ELF64_R_SYM(rela[i].r_info);
        const pse_function to = choose(context, elf->strings + symbol->st_name);
        if (to) {
            uintptr_t *slot = (uintptr_t *)(elf->map->l_addr + rela[i].r_offset);
            __atomic_store_n(slot, (uintptr_t)to + (uintptr_t)rela[i].r_addend, __ATOMIC_RELEASE);
        }
    }
}

bool pse_toolstack_elf_rebind(const struct loaded_elf *elf, pse_toolstack_choice choose, void *context)
{
    if (!set_writable(elf, true))
        return false;
    rebind(elf, elf->rela, elf->rela_count, choose, context);
    rebind(elf, elf->jump, elf->jump_count, choose, context);
    return set_writable(elf, false);
}

/* Exports

   A symbol's value is relative to the load address, and may be the distance to another object.  The table is
   in a segment that is only read, which stays as it is for other processes. */

struct segment_search {
    uintptr_t at;
    int protection;
};

static int note_protection(struct dl_phdr_info *info, size_t size, void *data)
{
    struct segment_search *search = data;
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = info->dlpi_phdr + i;
        if (segment->p_type == PT_LOAD &&
            search->at - (info->dlpi_addr + segment->p_vaddr) < segment->p_memsz) {
            search->protection = PROT_READ | (segment->p_flags & PF_W ? PROT_WRITE : 0) |
                                 (segment->p_flags & PF_X ? PROT_EXEC : 0);
            return 1;
        }
    }
    return 0;
}

bool pse_toolstack_elf_redefine(struct loaded_elf *elf, pse_toolstack_choice choose, void *context)
{
    const unsigned count = pse_toolstack_elf_symbols(elf);
    const uintptr_t page = (uintptr_t)getpagesize(), start = (uintptr_t)elf->symbols & -page;
    const size_t size = (uintptr_t)(elf->symbols + count) - start;
    struct segment_search search = {(uintptr_t)elf->symbols, 0};
    ElfW(Sym) *live = (ElfW(Sym) *)elf->symbols, *own = malloc((count + 1) * sizeof *own);
    if (!own || !dl_iterate_phdr(note_protection, &search) ||
        mprotect((void *)start, size, search.protection | PROT_WRITE) != 0) {
        free(own);
        return false;
    }
    memcpy(own, live, count * sizeof *own);
    for (unsigned i = 0; i < count; i++) {
        const pse_function to = pse_toolstack_elf_function(elf, live + i)
                                    ? choose(context, elf->strings + live[i].st_name)
                                    : NULL;
        if (to)
            __atomic_store_n(&live[i].st_value, (uintptr_t)to - elf->map->l_addr, __ATOMIC_RELEASE);
    }
    elf->symbols = own;
    return mprotect((void *)start, size, search.protection) == 0;
}
