/* Loaded objects: their symbols and relocations, read from memory through the dynamic section. */

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include "internal.h"

struct link_map *pse_first_map(void)
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

bool pse_module_open(struct pse_module *module, struct link_map *map)
{
    *module = (struct pse_module){.map = map};
    for (const ElfW(Dyn) *entry = map->l_ld; entry && entry->d_tag != DT_NULL; entry++) {
        const void *at = address(map, entry->d_un.d_ptr);
        switch (entry->d_tag) {
        case DT_SYMTAB:
            module->symbols = at;
            break;
        case DT_STRTAB:
            module->strings = at;
            break;
        case DT_RELA:
            module->rela = at;
            break;
        case DT_RELASZ:
            module->rela_count = entry->d_un.d_val / sizeof(ElfW(Rela));
            break;
        case DT_JMPREL:
            module->jump = at;
            break;
        case DT_PLTRELSZ:
            module->jump_count = entry->d_un.d_val / sizeof(ElfW(Rela));
            break;
        case DT_HASH:
            module->hash = at;
            break;
        case DT_GNU_HASH:
            module->gnu_hash = at;
            break;
        case DT_SONAME:
            module->soname = entry->d_un.d_val;
            break;
        }
    }
    return module->symbols && module->strings;
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

unsigned pse_module_symbols(const struct pse_module *module)
{
    return module->hash ? module->hash[1] : module->gnu_hash ? gnu_count(module->gnu_hash) : 0;
}

static pse_function value(const struct pse_module *module, const ElfW(Sym) * symbol)
{
    pse_function at = (pse_function)(module->map->l_addr + symbol->st_value);
    if (ELF64_ST_TYPE(symbol->st_info) == STT_GNU_IFUNC)
        at = ((pse_function (*)(void))at)();
    return at;
}

pse_function pse_symbol_value(const struct pse_module *module, const ElfW(Sym) * symbol)
{
    const int type = ELF64_ST_TYPE(symbol->st_info);
    const bool function = type == STT_FUNC || type == STT_GNU_IFUNC;
    return function && symbol->st_shndx != SHN_UNDEF ? value(module, symbol) : NULL;
}

static pse_function find_gnu(const struct pse_module *module, const char *name)
{
    const unsigned *hash = module->gnu_hash, buckets = hash[0], offset = hash[1], bloom = hash[2];
    const unsigned *bucket = (const unsigned *)((const ElfW(Addr) *)(const void *)(hash + 4) + bloom);
    unsigned key = 5381;
    for (const unsigned char *c = (const unsigned char *)name; *c; c++)
        key = key * 33 + *c;
    unsigned i = bucket[key % buckets];
    if (i < offset)
        return NULL;
    for (const unsigned *chain = bucket + buckets - offset;; i++) {
        const ElfW(Sym) *symbol = module->symbols + i;
        if ((chain[i] | 1) == (key | 1) && strcmp(module->strings + symbol->st_name, name) == 0)
            return pse_symbol_value(module, symbol);
        if (chain[i] & 1)
            return NULL;
    }
}

static pse_function find_sysv(const struct pse_module *module, const char *name)
{
    const unsigned *hash = module->hash, buckets = hash[0], *chain = hash + 2 + buckets;
    unsigned long key = 0;
    for (const unsigned char *c = (const unsigned char *)name; *c; c++) {
        key = (key << 4) + *c;
        key = (key ^ ((key >> 24) & 0xf0)) & 0x0fffffff;
    }
    for (unsigned i = hash[2 + key % buckets]; i; i = chain[i]) {
        const ElfW(Sym) *symbol = module->symbols + i;
        if (strcmp(module->strings + symbol->st_name, name) == 0)
            return pse_symbol_value(module, symbol);
    }
    return NULL;
}

pse_function pse_module_find(const struct pse_module *module, const char *name)
{
    if (module->gnu_hash)
        return find_gnu(module, name);
    return module->hash ? find_sysv(module, name) : NULL;
}

/* What the dynamic linker made read-only after relocation
 * ----------------------------------------------------------- */

struct search {
    const struct link_map *map;
    uintptr_t start, end;
};

static int note_relro(struct dl_phdr_info *info, size_t size, void *data)
{
    struct search *search = data;
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

bool pse_module_protect(const struct pse_module *module, bool writable)
{
    struct search search = {module->map, 0, 0};
    dl_iterate_phdr(note_relro, &search);
    if (search.start >= search.end)
        return true;
    return mprotect((void *)search.start, search.end - search.start,
                    PROT_READ | (writable ? PROT_WRITE : 0)) == 0;
}
