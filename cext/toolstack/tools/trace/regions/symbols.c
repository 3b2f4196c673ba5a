/* Reading symbol tables of objects' files, and asking addr2line. */
#define _GNU_SOURCE
#include "regions/symbols.h"

#include <ctype.h>
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "elf/mapped_elf.h"

/* An object's file, mapped for as long as the process runs. */
struct object {
    const struct link_map *map;
    char *path;
    const ElfW(Sym) * symbols;
    size_t count;
    const char *names;
    size_t names_size;
    struct object *next;
};

static struct object *objects;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static bool is_better(const ElfW(Shdr) * table, const struct object *object)
{
    return table->sh_type == SHT_SYMTAB || (table->sh_type == SHT_DYNSYM && !object->count);
}

/* Take a section's symbols and their names, if both are whole. */
static void take_table(struct object *object, const struct mapped_elf *file, const ElfW(Shdr) * table,
                       const ElfW(Shdr) * names)
{
    const size_t count = table->sh_size / sizeof(ElfW(Sym));
    const ElfW(Sym) *symbols = pse_toolstack_elf_table(file, table->sh_offset, count, sizeof *symbols);
    const char *text = pse_toolstack_elf_names(file, names->sh_offset, names->sh_size);
    if (!symbols || !text)
        return;
    object->symbols = symbols;
    object->count = count;
    object->names = text;
    object->names_size = names->sh_size;
}

/* Find the symbol table: .symtab, which has static functions too, else .dynsym. */
static void read_file(struct object *object)
{
    struct mapped_elf file;
    const ElfW(Ehdr) *head =
        pse_toolstack_map_elf(&file, object->path) ? pse_toolstack_elf_header(&file) : NULL;
    const ElfW(Shdr) *sections =
        head && head->e_shentsize == sizeof *sections
            ? pse_toolstack_elf_table(&file, head->e_shoff, head->e_shnum, sizeof *sections)
            : NULL;
    for (int i = 0; sections && i < head->e_shnum; i++)
        if (is_better(&sections[i], object) && sections[i].sh_link < head->e_shnum)
            take_table(object, &file, &sections[i], &sections[sections[i].sh_link]);
    if (!object->count)
        pse_toolstack_unmap_elf(&file);
}

static char *path_of(const struct link_map *map)
{
    char self[4096];
    if (*map->l_name)
        return strdup(map->l_name);
    const ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    self[length > 0 ? length : 0] = '\0';
    return strdup(self);
}

static struct object *object_with(const void *address)
{
    struct link_map *map;
    Dl_info info;
    if (!dladdr1(address, &info, (void **)&map, RTLD_DL_LINKMAP) || !map)
        return NULL;
    struct object *object = objects;
    while (object && object->map != map)
        object = object->next;
    if (object || !(object = calloc(1, sizeof *object)))
        return object;
    object->map = map;
    object->path = path_of(map);
    if (object->path)
        read_file(object);
    object->next = objects;
    return objects = object;
}

static const char *name_at(const struct object *object, unsigned long offset)
{
    for (size_t i = 0; i < object->count; i++) {
        const ElfW(Sym) *symbol = &object->symbols[i];
        if (symbol->st_value == offset && (symbol->st_info & 0xf) == STT_FUNC &&
            symbol->st_shndx != SHN_UNDEF && symbol->st_name < object->names_size)
            return object->names + symbol->st_name;
    }
    return NULL;
}

static char *demangled(const char *mangled)
{
    typedef char *demangler(const char *, char *, size_t *, int *);
    static demangler *demangle;
    int status = -1;
    if (strncmp(mangled, "_Z", 2) == 0 && !demangle) {
        void *library = dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_LOCAL);
        demangle = library ? (demangler *)dlsym(library, "__cxa_demangle") : NULL;
    }
    char *name = demangle ? demangle(mangled, NULL, NULL, &status) : NULL;
    return name ? name : strdup(mangled);
}

static char *unknown_name(const struct object *object, const void *address, unsigned long offset)
{
    char text[4096 + 32];
    const char *path = object && object->path ? object->path : "", *slash = strrchr(path, '/');
    if (*path)
        snprintf(text, sizeof text, "%s+%#lx", slash ? slash + 1 : path, offset);
    else
        snprintf(text, sizeof text, "%p", address);
    return strdup(text);
}

void pse_trace_find_symbol(const void *address, struct compiled_symbol *symbol)
{
    pthread_mutex_lock(&lock);
    const struct object *object = object_with(address);
    const unsigned long offset = object ? (unsigned long)((uintptr_t)address - object->map->l_addr) : 0;
    const char *found = object ? name_at(object, offset) : NULL;
    *symbol = (struct compiled_symbol){.object = object ? object->path : NULL, .offset = offset};
    symbol->mangled = strdup(found ? found : "");
    symbol->name = found ? demangled(found) : unknown_name(object, address, offset);
    pthread_mutex_unlock(&lock);
}

void pse_trace_free_symbol(struct compiled_symbol *symbol)
{
    free(symbol->name);
    free(symbol->mangled);
}

const char *pse_trace_object_of(const void *address, unsigned long *offset)
{
    pthread_mutex_lock(&lock);
    const struct object *object = object_with(address);
    *offset = object ? (unsigned long)((uintptr_t)address - object->map->l_addr) : 0;
    pthread_mutex_unlock(&lock);
    return object ? object->path : NULL;
}

/* Lines */

static char *read_line(FILE *answer)
{
    char *line = NULL;
    size_t room = 0;
    if (getline(&line, &room, answer) < 0)
        line = NULL;
    if (line)
        line[strcspn(line, " \n")] = '\0';
    const char *colon = line ? strrchr(line, ':') : NULL;
    if (!colon || !isdigit((unsigned char)colon[1]) || strncmp(line, "??", 2) == 0 ||
        strcmp(colon, ":0") == 0) {
        free(line);
        return NULL;
    }
    return line;
}

/* The command, with the offsets of all functions. */
static char *command_for(const char *object, const unsigned long offsets[], unsigned count)
{
    char *command = NULL;
    size_t size = 0;
    FILE *text = open_memstream(&command, &size);
    if (!text)
        return NULL;
    fprintf(text, "exec env -u LD_PRELOAD addr2line -e '%s'", object);
    for (unsigned i = 0; i < count; i++)
        fprintf(text, " %#lx", offsets[i]);
    fputs(" 2>/dev/null", text);
    if (fclose(text) != 0) {
        free(command);
        return NULL;
    }
    return command;
}

bool pse_trace_find_lines(const char *object, const unsigned long offsets[], unsigned count, char *lines[])
{
    if (!object || strchr(object, '\'') || !count)
        return false;
    char *command = command_for(object, offsets, count);
    FILE *answer = command ? popen(command, "r") : NULL;
    for (unsigned i = 0; answer && i < count; i++)
        lines[i] = read_line(answer);
    if (answer)
        pclose(answer);
    free(command);
    return answer != NULL;
}
