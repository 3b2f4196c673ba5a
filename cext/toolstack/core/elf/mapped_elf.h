/* A shared object's file, mapped.  It may be cut short, damaged, or no ELF file at all: whatever is read of
 * it is found by these functions, which look where the file ends.
 */
#ifndef PSE_TOOLSTACK_MAPPED_ELF_H
#define PSE_TOOLSTACK_MAPPED_ELF_H

#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct mapped_elf {
    const unsigned char *bytes; /* NULL: not mapped */
    size_t size;
    dev_t device;
    ino_t inode;
};

#pragma GCC visibility push(hidden)

/* Map a file; false with errno if it can't be read.  One that can't be mapped, as directories and empty files
 * can't, is mapped as an empty one. */
bool pse_toolstack_map_elf(struct mapped_elf *file, const char *path);
void pse_toolstack_unmap_elf(struct mapped_elf *file);

/* What stands at an offset: `count` pieces of `each` bytes; NULL if the file ends before them, or if they
 * aren't aligned as their type is. */
const void *pse_toolstack_elf_table(const struct mapped_elf *file, size_t offset, size_t count, size_t each);
/* The file's header; NULL if this is not an ELF file. */
const ElfW(Ehdr) * pse_toolstack_elf_header(const struct mapped_elf *file);
/* A table of names, so many bytes long: each name in it ends within it; NULL if that isn't so. */
const char *pse_toolstack_elf_names(const struct mapped_elf *file, size_t offset, size_t size);

#pragma GCC visibility pop

#endif
