/* Opening tools' files. */
#include "layers/load.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "elf/elf_file.h"
#include "elf/loaded_elf.h"
#include "elf/mapped_elf.h"
#include "mpi/mpi_library.h"

static int argument_count;
static char **arguments;

/* The dynamic linker gives these to initialisation functions, so that ours can give them to tools'. */
__attribute__((constructor)) static void note_arguments(int argc, char **argv)
{
    argument_count = argc;
    arguments = argv;
}

static struct link_map *last_map(void)
{
    struct link_map *map = pse_toolstack_first_map();
    while (map->l_next)
        map = map->l_next;
    return map;
}

static bool loaded_already(const struct mapped_elf *file)
{
    for (int i = 0; i < pse_toolstack_layer_count; i++)
        if (pse_toolstack_layers[i]->device == file->device && pse_toolstack_layers[i]->inode == file->inode)
            return true;
    return false;
}

static bool write_all(int fd, const unsigned char *bytes, size_t size)
{
    while (size > 0) {
        const ssize_t written = write(fd, bytes, size);
        if (written <= 0)
            return false;
        bytes += written;
        size -= (size_t)written;
    }
    return true;
}

/* A copy of the file that exists as long as it is mapped; without initialisation functions. */
static int copy(const struct elf_file *file, const char *name)
{
    static const ElfW(Xword) none = 0;
    const int fd = memfd_create(name, MFD_CLOEXEC);
    if (fd < 0)
        return -1;
    const bool good = write_all(fd, file->mapped.bytes, file->mapped.size) &&
                      (!file->init_count || pwrite(fd, &none, sizeof none, (off_t)file->init_count_at) > 0);
    if (good)
        return fd;
    close(fd);
    return -1;
}

/* A tool may have wrappers of routines that this MPI lacks: those of Fortran, or of a later standard.  Nobody
 * calls them, so what they import need not be there.
 */
static bool never_called(const struct loaded_elf *tool, const char *name)
{
    return strncmp(name, "pmpi_", 5) == 0 ||
           (strncmp(name, "PMPI_", 5) == 0 && pse_toolstack_elf_find(tool, name + 1));
}

static bool is_there(void *handle, const char *name)
{
    return dlsym(handle, name) || dlsym(RTLD_DEFAULT, name);
}

static bool can_do_without(const struct loaded_elf *elf, const ElfW(Sym) * symbol, void *handle)
{
    const char *name = elf->strings + symbol->st_name;
    return symbol->st_shndx != SHN_UNDEF || ELF64_ST_BIND(symbol->st_info) == STB_WEAK ||
           never_called(elf, name) || is_there(handle, name);
}

static bool lacks_nothing_else(struct link_map *handle)
{
    struct loaded_elf elf;
    for (struct link_map *map = handle; map; map = map->l_next) {
        if (!pse_toolstack_view_elf(&elf, map))
            return false;
        for (size_t i = 0; i < elf.jump_count; i++)
            if (!can_do_without(&elf, elf.symbols + ELF64_R_SYM(elf.jump[i].r_info), handle))
                return false;
    }
    return true;
}

static char refusal[1024];

static void *open_file(const char *path)
{
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (handle)
        return handle;
    snprintf(refusal, sizeof refusal, "%s", dlerror());
    if (!strstr(refusal, "undefined symbol") || !(handle = dlopen(path, RTLD_LAZY | RTLD_LOCAL)))
        return NULL;
    if (lacks_nothing_else(handle))
        return handle;
    dlclose(handle);
    return NULL;
}

/* The descriptor stays open: the linker takes two files of one name for the same, and debuggers read symbols
 * there. */
static void *open_copy(struct tool_layer *layer, const struct elf_file *file)
{
    char path[32];
    const int fd = copy(file, layer->spec->path);
    if (fd < 0)
        return NULL;
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    void *handle = open_file(path);
    if (!handle)
        close(fd);
    layer->init_array = file->init_array;
    layer->init_count = file->init_count;
    return handle;
}

/* Why the linker refuses, and what helps where there is a remedy. */
static const char *linker_error(void)
{
    static char words[sizeof refusal + 128];
    if (!strstr(refusal, "static TLS"))
        return *refusal ? refusal : NULL;
    snprintf(words, sizeof words,
             "%s: set GLIBC_TUNABLES=glibc.rtld.optional_static_tls=65536 for the program", refusal);
    return words;
}

const char *pse_toolstack_load_layer(struct tool_layer *layer)
{
    struct elf_file file;
    const char *why = pse_toolstack_open_elf_file(&file, layer->spec->path, pse_toolstack_library_soname());
    if (!why) {
        struct link_map *before = last_map();
        /* The compiler's own function (frame_dummy) is one. */
        const bool private = file.init_count > 1 || loaded_already(&file.mapped);
        *refusal = 0;
        layer->handle = private ? open_copy(layer, &file) : open_file(layer->spec->path);
        layer->map = layer->handle;
        layer->last = before->l_next ? last_map() : layer->map;
        layer->device = file.mapped.device;
        layer->inode = file.mapped.inode;
        if (!layer->handle && !(why = linker_error()))
            why = "it can't be copied into memory";
    }
    pse_toolstack_close_elf_file(&file);
    return why;
}

void pse_toolstack_initialise_layer(struct tool_layer *layer)
{
    typedef void (*initialiser)(int, char **, char **);
    const initialiser *function = (const void *)(layer->map->l_addr + layer->init_array);
    for (size_t i = 0; i < layer->init_count; i++)
        function[i](argument_count, arguments, environ);
    layer->init_count = 0;
}
