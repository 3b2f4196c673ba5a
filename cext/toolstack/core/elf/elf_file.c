/* Reading a tool's file through a mapping. */
#include "elf/elf_file.h"

#include <elf.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "elf/mapped_elf.h"

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

const char *pse_toolstack_abi_of(const char *soname)
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

static const char *check_header(const struct mapped_elf *file)
{
    const ElfW(Ehdr) *header = pse_toolstack_elf_header(file);
    if (!header)
        return "it is not a shared object (an ELF file)";
    if (header->e_machine != MACHINE || header->e_ident[EI_CLASS] != ELFCLASS64)
        return WRONG("it is built for %s, but this machine is %s", machine_name(header->e_machine),
                     machine_name(MACHINE));
    if (header->e_type != ET_DYN)
        return "it is not a shared object: link it with -shared";
    return NULL;
}

/* The dynamic section
 * ----------------------------------------------------------------------------------------------- */

struct dynamic_section {
    const ElfW(Dyn) * entry;
    size_t count;
    const ElfW(Phdr) * segment;
    size_t segments;
};

static const char *const cut = "the file is damaged: parts of it are missing";

static const char *find_dynamic(const struct mapped_elf *file, struct dynamic_section *dynamic)
{
    const ElfW(Ehdr) *header = pse_toolstack_elf_header(file);
    dynamic->segments = header->e_phnum;
    dynamic->segment =
        pse_toolstack_elf_table(file, header->e_phoff, dynamic->segments, sizeof *dynamic->segment);
    for (size_t i = 0; dynamic->segment && i < dynamic->segments; i++) {
        const ElfW(Phdr) *segment = dynamic->segment + i;
        if (segment->p_type == PT_LOAD &&
            !pse_toolstack_elf_table(file, segment->p_offset, segment->p_filesz, 1))
            return cut;
        if (segment->p_type == PT_DYNAMIC) {
            dynamic->count = segment->p_filesz / sizeof(ElfW(Dyn));
            dynamic->entry =
                pse_toolstack_elf_table(file, segment->p_offset, dynamic->count, sizeof *dynamic->entry);
        }
    }
    return dynamic->entry ? NULL : cut;
}

static ElfW(Xword) value_of(const struct dynamic_section *dynamic, ElfW(Sxword) tag)
{
    for (size_t i = 0; i < dynamic->count && dynamic->entry[i].d_tag != DT_NULL; i++)
        if (dynamic->entry[i].d_tag == tag)
            return dynamic->entry[i].d_un.d_val;
    return 0;
}

static size_t offset_of(const struct dynamic_section *dynamic, ElfW(Addr) address)
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
    const char *abi = pse_toolstack_abi_of(needed), *here = pse_toolstack_abi_of(soname);
    if (!abi || !here || strcmp(abi, here) == 0)
        return NULL;
    return WRONG(
        "it is built for %s ABI (it needs %s), but the program's MPI is %s, of %s ABI: build it with that "
        "MPI's mpicc",
        abi, needed, soname, here);
}

static const char *check_needs(const struct mapped_elf *file, const struct dynamic_section *dynamic,
                               const char *soname)
{
    const size_t size = value_of(dynamic, DT_STRSZ);
    const char *strings =
        pse_toolstack_elf_names(file, offset_of(dynamic, value_of(dynamic, DT_STRTAB)), size);
    if (!strings)
        return cut;
    for (size_t i = 0; i < dynamic->count && dynamic->entry[i].d_tag != DT_NULL; i++) {
        const size_t name = dynamic->entry[i].d_un.d_val;
        const char *found =
            dynamic->entry[i].d_tag == DT_NEEDED && name < size ? check_abi(strings + name, soname) : NULL;
        if (found)
            return found;
    }
    /* Open MPI's handles are the addresses of its own objects. */
    const char *here = pse_toolstack_abi_of(soname);
    if (here && strncmp(here, "Open", 4) != 0 && memmem(strings, size, "\0ompi_mpi_", 10))
        return WRONG(
            "it is built for Open MPI's ABI (it needs ompi_mpi_…), but the program's MPI is %s, of %s ABI: "
            "build it with that MPI's mpicc",
            soname, here);
    return NULL;
}

static void note_initialisers(struct elf_file *file, const struct dynamic_section *dynamic)
{
    file->init_array = value_of(dynamic, DT_INIT_ARRAY);
    file->init_count = value_of(dynamic, DT_INIT_ARRAYSZ) / sizeof(ElfW(Addr));
    for (size_t i = 0; i < dynamic->count && dynamic->entry[i].d_tag != DT_NULL; i++)
        if (dynamic->entry[i].d_tag == DT_INIT_ARRAYSZ)
            file->init_count_at =
                (size_t)((const unsigned char *)&dynamic->entry[i].d_un - file->mapped.bytes);
}

const char *pse_toolstack_open_elf_file(struct elf_file *file, const char *path, const char *soname)
{
    struct dynamic_section dynamic = {0};
    *file = (struct elf_file){0};
    if (!pse_toolstack_map_elf(&file->mapped, path))
        return WRONG("it can't be read: %s", strerror(errno));
    const char *why = check_header(&file->mapped);
    if (!why)
        why = find_dynamic(&file->mapped, &dynamic);
    if (!why)
        why = check_needs(&file->mapped, &dynamic, soname);
    if (!why)
        note_initialisers(file, &dynamic);
    return why;
}

void pse_toolstack_close_elf_file(struct elf_file *file)
{
    pse_toolstack_unmap_elf(&file->mapped);
}
