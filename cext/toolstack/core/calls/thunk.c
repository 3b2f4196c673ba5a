/* Blocks of thunks. */
#include "calls/thunk.h"

#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>

#define BLOCK 65536 /* a multiple of every page size in use */
#define THUNKS (BLOCK / 16)

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char *block;
static int used = THUNKS;

static void write_code(char *at)
{
#if defined(__x86_64__)
    /* lea BLOCK-7(%rip), %r10: the slot at this thunk's own offset; jmp *(%r10) */
    int distance = BLOCK - 7;
    memcpy(at, "\x4c\x8d\x15", 3);
    memcpy(at + 3, &distance, 4);
    memcpy(at + 7, "\x41\xff\x22", 3);
    memset(at + 10, 0xcc, 6);
#elif defined(__aarch64__)
    /* bti c; adr x17, BLOCK-4; ldr x16, [x17]; br x16 */
    const unsigned immediate = BLOCK - 4;
    const unsigned code[4] = {0xd503245f, 0x10000011 | (immediate & 3) << 29 | (immediate >> 2) << 5,
                              0xf9400230, 0xd61f0200};
    memcpy(at, code, sizeof code);
#endif
}

static bool make_block(void)
{
    char *fresh = mmap(NULL, 2 * BLOCK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (fresh == MAP_FAILED)
        return false;
    for (int k = 0; k < THUNKS; k++)
        write_code(fresh + 16 * k);
    if (mprotect(fresh, BLOCK, PROT_READ | PROT_EXEC) != 0) {
        munmap(fresh, 2 * BLOCK);
        return false;
    }
    __builtin___clear_cache(fresh, fresh + BLOCK);
    block = fresh;
    used = 0;
    return true;
}

pse_function pse_toolstack_make_thunk(pse_function target, void *data)
{
    pse_function made = NULL;
    pthread_mutex_lock(&lock);
    if (used < THUNKS || make_block()) {
        struct call_thunk *slot = (struct call_thunk *)(void *)(block + BLOCK) + used;
        *slot = (struct call_thunk){target, data};
        made = (pse_function)(void *)(block + 16 * used++);
    }
    pthread_mutex_unlock(&lock);
    return made;
}
