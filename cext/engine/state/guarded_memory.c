#define _GNU_SOURCE
#include "state/guarded_memory.h"

#include <string.h>
#include <sys/mman.h>

#define PAGE UINT64_C(4096)
#define PAGES_AROUND 3 /* The head's, and two guards. */

static uint64_t mapped_bytes(uint64_t bytes)
{
    return (bytes + PAGE - 1) / PAGE * PAGE + PAGES_AROUND * PAGE;
}

pse_block *pse_engine_guarded_make(uint64_t bytes)
{
    uint64_t size = mapped_bytes(bytes);
    char *head = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *data = head + 2 * PAGE;
    if (head == MAP_FAILED)
        return NULL;
    if (mprotect(head, PAGE, PROT_READ | PROT_WRITE) != 0 ||
        mprotect(data, size - PAGES_AROUND * PAGE, PROT_READ | PROT_WRITE) != 0) {
        munmap(head, size);
        return NULL;
    }
    pse_block *block = (pse_block *)head;
    block->data = (uint64_t)(uintptr_t)(head + size - PAGE - bytes);
    memset(data, PSE_MARGIN, (char *)(uintptr_t)block->data - data);
    return block;
}

const unsigned char *pse_engine_guarded_margin(const pse_block *block, uint64_t *bytes)
{
    const unsigned char *begin = (const unsigned char *)block + 2 * PAGE;
    *bytes = block->data - (uintptr_t)begin;
    return begin;
}

void pse_engine_guarded_free(pse_block *block, uint64_t bytes)
{
    munmap(block, mapped_bytes(bytes));
}
