/* Mapping the file of a shared object, and finding what is in it. */
#include "elf/mapped_elf.h"

#include <elf.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

bool pse_toolstack_map_elf(struct mapped_elf *file, const char *path)
{
    struct stat status;
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    *file = (struct mapped_elf){0};
    if (fd < 0)
        return false;
    const bool known = fstat(fd, &status) == 0;
    void *bytes = known && S_ISREG(status.st_mode) && status.st_size
                      ? mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0)
                      : MAP_FAILED;
    if (bytes != MAP_FAILED)
        *file = (struct mapped_elf){bytes, (size_t)status.st_size, status.st_dev, status.st_ino};
    close(fd);
    return known;
}

void pse_toolstack_unmap_elf(struct mapped_elf *file)
{
    if (file->bytes)
        munmap((void *)(uintptr_t)file->bytes, file->size);
    *file = (struct mapped_elf){0};
}

const void *pse_toolstack_elf_table(const struct mapped_elf *file, size_t offset, size_t count, size_t each)
{
    const size_t alignment = each % _Alignof(ElfW(Addr)) ? 1 : _Alignof(ElfW(Addr));
    return offset <= file->size && count <= (file->size - offset) / each && offset % alignment == 0
               ? file->bytes + offset
               : NULL;
}

const ElfW(Ehdr) * pse_toolstack_elf_header(const struct mapped_elf *file)
{
    const ElfW(Ehdr) *header = pse_toolstack_elf_table(file, 0, 1, sizeof *header);
    return header && memcmp(header->e_ident, ELFMAG, SELFMAG) == 0 ? header : NULL;
}

const char *pse_toolstack_elf_names(const struct mapped_elf *file, size_t offset, size_t size)
{
    const char *names = pse_toolstack_elf_table(file, offset, size, 1);
    return names && size && !names[size - 1] ? names : NULL;
}
