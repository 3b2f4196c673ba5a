/* A tool's file before it is loaded: is it a shared object for this machine, and for the MPI that is here?
 *
 * Loading a tool for another MPI would bring that MPI into the process, or give constants a wrong meaning.
 * What tells is the name of the MPI library that the tool is linked with, and symbols that only one MPI has.
 */

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "internal.h"

#if defined(__x86_64__)
#define MACHINE EM_X86_64
#elif defined(__aarch64__)
#define MACHINE EM_AARCH64
#endif

static char reason[512];

#define WRONG(...) (snprintf(reason, sizeof reason, __VA_ARGS__), reason)

/* Names that a tool may need, the ABI that they stand for. */
static const struct {
    const char *start, *abi;
} libraries[] = {
    {"libmpi.so.12", "MPICH's"},        {"libmpich.so.12", "MPICH's"},      {"libmpifort.so.12", "MPICH's"},
    {"libmpichfort.so.12", "MPICH's"},  {"libmpicxx.so.12", "MPICH's"},     {"libmpichcxx.so.12", "MPICH's"},
    {"libmpi_abi.so", "the standard"},  {"libmpi.so.40", "Open MPI's"},     {"libmpi.so.80", "Open MPI's"},
    {"libmpi_mpifh.so", "Open MPI's"},  {"libmpi_cxx.so.40", "Open MPI's"}, {"libopen-", "Open MPI's"},
    {"libmpi.so.20", "Open MPI's old"},
};

const char *pse_abi(const char *soname)
{
    for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++)
        if (strncmp(soname, libraries[i].start, strlen(libraries[i].start)) == 0)
            return libraries[i].abi;
    return NULL;
}

static const char *machine_name(unsigned machine)
{
    return machine == EM_X86_64    ? "x86-64"
           : machine == EM_AARCH64 ? "aarch64"
           : machine == EM_386     ? "32-bit x86"
           : machine == EM_PPC64   ? "ppc64"
           : machine == EM_RISCV   ? "RISC-V"
                                   : "another processor";
}

/* Every read of the file goes through here: it may be cut short or no ELF file at all. */
static const void *at(const struct pse_image *image, size_t offset, size_t bytes)
{
    return offset <= image->size && bytes <= image->size - offset ? image->bytes + offset : NULL;
}

static const char *check_header(const struct pse_image *image)
{
    const ElfW(Ehdr) *header = at(image, 0, sizeof *header);
    if (!header || memcmp(header->e_ident, ELFMAG, SELFMAG) != 0)
        return "it is not an ELF file";
    if (header->e_machine != MACHINE || header->e_ident[EI_CLASS] != ELFCLASS64)
        return WRONG("it is built for %s, this machine is %s", machine_name(header->e_machine),
                     machine_name(MACHINE));
    if (header->e_type != ET_DYN)
        return "it is not a shared object: link it with -shared";
    return NULL;
}

/* The dynamic section
 * ----------------------------------------------------------------------------------------------- */

struct dynamic {
    const ElfW(Dyn) * entry;
    size_t count;
    const ElfW(Phdr) * segment;
    size_t segments;
};

static const char *const cut = "the file is damaged: parts of it are missing";

static const char *find_dynamic(const struct pse_image *image, struct dynamic *dynamic)
{
    const ElfW(Ehdr) *header = (const void *)image->bytes;
    dynamic->segments = header->e_phnum;
    dynamic->segment = at(image, header->e_phoff, dynamic->segments * sizeof(ElfW(Phdr)));
    for (size_t i = 0; dynamic->segment && i < dynamic->segments; i++) {
        const ElfW(Phdr) *segment = dynamic->segment + i;
        const void *there = at(image, segment->p_offset, segment->p_filesz);
        if (segment->p_type == PT_LOAD && !there)
            return cut;
        if (segment->p_type == PT_DYNAMIC) {
            dynamic->count = segment->p_filesz / sizeof(ElfW(Dyn));
            dynamic->entry = there;
        }
    }
    return dynamic->entry ? NULL : cut;
}

static ElfW(Xword) value_of(const struct dynamic *dynamic, ElfW(Sxword) tag)
{
    for (size_t i = 0; i < dynamic->count && dynamic->entry[i].d_tag != DT_NULL; i++)
        if (dynamic->entry[i].d_tag == tag)
            return dynamic->entry[i].d_un.d_val;
    return 0;
}

static size_t offset_of(const struct dynamic *dynamic, ElfW(Addr) address)
{
    for (size_t i = 0; i < dynamic->segments; i++) {
        const ElfW(Phdr) *segment = dynamic->segment + i;
        if (segment->p_type == PT_LOAD && address >= segment->p_vaddr &&
            address - segment->p_vaddr < segment->p_filesz)
            return segment->p_offset + (address - segment->p_vaddr);
    }
    return SIZE_MAX;
}

/* What it needs
 * ----------------------------------------------------------------------------------------------------- */

static const char *check_abi(const char *needed, const char *soname)
{
    const char *abi = pse_abi(needed), *here = pse_abi(soname);
    if (!abi || !here || strcmp(abi, here) == 0)
        return NULL;
    return WRONG(
        "it is built for %s ABI (it needs %s), but the program's MPI is %s, of %s ABI: build it with that "
        "MPI's mpicc",
        abi, needed, soname, here);
}

static const char *check_needs(const struct pse_image *image, const struct dynamic *dynamic,
                               const char *soname)
{
    const size_t size = value_of(dynamic, DT_STRSZ);
    const char *strings = at(image, offset_of(dynamic, value_of(dynamic, DT_STRTAB)), size);
    if (!strings || !size || strings[size - 1])
        return cut;
    for (size_t i = 0; i < dynamic->count && dynamic->entry[i].d_tag != DT_NULL; i++) {
        const size_t name = dynamic->entry[i].d_un.d_val;
        const char *found =
            dynamic->entry[i].d_tag == DT_NEEDED && name < size ? check_abi(strings + name, soname) : NULL;
        if (found)
            return found;
    }
    /* Open MPI's handles are the addresses of its own objects. */
    const char *here = pse_abi(soname);
    if (here && strncmp(here, "Open", 4) != 0 && memmem(strings, size, "\0ompi_mpi_", 10))
        return WRONG(
            "it is built for Open MPI's ABI (it needs ompi_mpi_…), but the program's MPI is %s, of %s ABI: "
            "build it with that MPI's mpicc",
            soname, here);
    return NULL;
}

static void note_initialisers(struct pse_image *image, const struct dynamic *dynamic)
{
    image->init_array = value_of(dynamic, DT_INIT_ARRAY);
    image->init_count = value_of(dynamic, DT_INIT_ARRAYSZ) / sizeof(ElfW(Addr));
    for (size_t i = 0; i < dynamic->count && dynamic->entry[i].d_tag != DT_NULL; i++)
        if (dynamic->entry[i].d_tag == DT_INIT_ARRAYSZ)
            image->init_count_at = (size_t)((const unsigned char *)&dynamic->entry[i].d_un - image->bytes);
}

static const char *map_file(struct pse_image *image, const char *path)
{
    struct stat status;
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &status) != 0) {
        const char *why = WRONG("it can't be read: %s", strerror(errno));
        if (fd >= 0)
            close(fd);
        return why;
    }
    *image =
        (struct pse_image){.size = (size_t)status.st_size, .device = status.st_dev, .inode = status.st_ino};
    void *bytes = S_ISREG(status.st_mode) && status.st_size
                      ? mmap(NULL, image->size, PROT_READ, MAP_PRIVATE, fd, 0)
                      : MAP_FAILED;
    close(fd);
    if (bytes == MAP_FAILED)
        return "it is not an ELF file";
    image->bytes = bytes;
    return NULL;
}

const char *pse_image_open(struct pse_image *image, const char *path, const char *soname)
{
    struct dynamic dynamic = {0};
    *image = (struct pse_image){0};
    const char *why = map_file(image, path);
    if (!why)
        why = check_header(image);
    if (!why)
        why = find_dynamic(image, &dynamic);
    if (!why)
        why = check_needs(image, &dynamic, soname);
    if (!why)
        note_initialisers(image, &dynamic);
    return why;
}

void pse_image_close(struct pse_image *image)
{
    if (image->bytes)
        munmap((void *)(uintptr_t)image->bytes, image->size);
    image->bytes = NULL;
}
