/* An allocator to preload: large arrays begin at a page's bound. Where they lie within a page decides how
 * fast a program's loops are, by a tenth and more, and it depends on what was allocated before, by a tool
 * too.
 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { LARGE = 1 << 14, PAGE = 4096 };

/* glibc's own. */
void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_memalign(size_t alignment, size_t bytes);

void *malloc(size_t bytes)
{
    return bytes < LARGE ? __libc_malloc(bytes) : __libc_memalign(PAGE, bytes);
}

void *calloc(size_t count, size_t bytes)
{
    if (bytes == 0 || count < LARGE / bytes || count > SIZE_MAX / bytes)
        return __libc_calloc(count, bytes);
    void *memory = __libc_memalign(PAGE, count * bytes);
    return memory ? memset(memory, 0, count * bytes) : NULL;
}
