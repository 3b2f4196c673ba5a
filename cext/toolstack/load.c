/* Loading a tool's file, as a private copy where that is needed, and running its initialisation functions.
 *
 * One file that is loaded twice is one object with one set of imports, so every instance after the first is
 * loaded from a copy in memory.  So is a tool with initialisation functions of its own: they may look up or
 * copy addresses of PMPI_x, so they must not run before the tool is bound.  In the copy their number is 0,
 * and the stack calls them.
 */

#include <dlfcn.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "internal.h"

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
    struct link_map *map = pse_first_map();
    while (map->l_next)
        map = map->l_next;
    return map;
}

static bool loaded_already(const struct pse_image *image)
{
    for (int i = 0; i < pse_layers; i++)
        if (pse_stack[i]->device == image->device && pse_stack[i]->inode == image->inode)
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
static int copy(const struct pse_image *image, const char *name)
{
    static const ElfW(Xword) none = 0;
    const int fd = memfd_create(name, MFD_CLOEXEC);
    if (fd < 0)
        return -1;
    const bool good = write_all(fd, image->bytes, image->size) &&
                      (!image->init_count || pwrite(fd, &none, sizeof none, (off_t)image->init_count_at) > 0);
    if (good)
        return fd;
    close(fd);
    return -1;
}

/* A tool may have wrappers of routines that this MPI lacks: those of Fortran, or of a later standard.  Nobody
 * calls them, so what they import need not be there.
 */
static bool never_called(const struct pse_module *tool, const char *name)
{
    return strncmp(name, "pmpi_", 5) == 0 ||
           (strncmp(name, "PMPI_", 5) == 0 && pse_module_find(tool, name + 1));
}

static bool is_there(void *handle, const char *name)
{
    return dlsym(handle, name) || dlsym(RTLD_DEFAULT, name);
}

static bool can_do_without(const struct pse_module *module, const ElfW(Sym) * symbol, void *handle)
{
    const char *name = module->strings + symbol->st_name;
    return symbol->st_shndx != SHN_UNDEF || ELF64_ST_BIND(symbol->st_info) == STB_WEAK ||
           never_called(module, name) || is_there(handle, name);
}

static bool lacks_nothing_else(struct link_map *handle)
{
    struct pse_module module;
    for (struct link_map *map = handle; map; map = map->l_next) {
        if (!pse_module_open(&module, map))
            return false;
        for (size_t i = 0; i < module.jump_count; i++)
            if (!can_do_without(&module, module.symbols + ELF64_R_SYM(module.jump[i].r_info), handle))
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
static void *open_copy(struct pse_layer *layer, const struct pse_image *image)
{
    char path[32];
    const int fd = copy(image, layer->spec->path);
    if (fd < 0)
        return NULL;
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    void *handle = open_file(path);
    if (!handle)
        close(fd);
    layer->init_array = image->init_array;
    layer->init_count = image->init_count;
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

const char *pse_load(struct pse_layer *layer)
{
    struct pse_image image;
    const char *why = pse_image_open(&image, layer->spec->path, pse_library_soname());
    if (!why) {
        struct link_map *before = last_map();
        /* The compiler's own function (frame_dummy) is one. */
        const bool private = image.init_count > 1 || loaded_already(&image);
        *refusal = 0;
        layer->handle = private ? open_copy(layer, &image) : open_file(layer->spec->path);
        layer->map = layer->handle;
        layer->last = before->l_next ? last_map() : layer->map;
        layer->device = image.device;
        layer->inode = image.inode;
        if (!layer->handle && !(why = linker_error()))
            why = "it can't be copied into memory";
    }
    pse_image_close(&image);
    return why;
}

void pse_initialise(struct pse_layer *layer)
{
    typedef void (*initialiser)(int, char **, char **);
    const initialiser *function = (const void *)(layer->map->l_addr + layer->init_array);
    for (size_t i = 0; i < layer->init_count; i++)
        function[i](argument_count, arguments, environ);
    layer->init_count = 0;
}
