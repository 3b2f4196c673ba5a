#define _GNU_SOURCE
#include "board.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "inbox.h"

#define BOARD_MAGIC 0x3164726f62657370ull /* "psebord1" */

typedef struct board_header {
    uint64_t magic;
    pse_board_size size;
    uint64_t bytes;
    _Atomic uint32_t reported;
    _Atomic uint32_t space_wanted;
} board_header;

struct pse_board {
    board_header *header;
    pse_slot *slots;
    pse_site_statistics *statistics;
    _Atomic uint64_t *taken;
    _Atomic uint64_t *loops;
    pse_inbox *inboxes;
    _Atomic uint32_t *queued;
    int fd;
};

static uint64_t aligned(uint64_t bytes)
{
    return (bytes + 63u) & ~UINT64_C(63);
}

/* Each rank's row has cache lines of its own. */
static uint64_t queued_row(pse_board_size size)
{
    return aligned(sizeof(uint32_t) * size.edges);
}

/* Set the pointers of `board` into a mapping that starts at `base`; returns the size of the whole (base may
 * be 0). */
static uint64_t place_parts(pse_board *board, uintptr_t base, pse_board_size size)
{
    uint64_t at = aligned(sizeof(board_header));
    board->header = (board_header *)base;
    board->slots = (pse_slot *)(base + at);
    at += aligned(sizeof(pse_slot) * size.ranks);
    board->statistics = (pse_site_statistics *)(base + at);
    at += aligned(sizeof(pse_site_statistics) * size.ranks * (uint64_t)size.sites);
    board->taken = (_Atomic uint64_t *)(base + at);
    at += aligned(sizeof(uint64_t) * size.ranks * (uint64_t)size.edges);
    board->loops = (_Atomic uint64_t *)(base + at);
    at += aligned(sizeof(uint64_t) * size.ranks * (uint64_t)size.loops);
    board->inboxes = (pse_inbox *)(base + at);
    at += sizeof(pse_inbox) * size.ranks;
    board->queued = (_Atomic uint32_t *)(base + at);
    return at + queued_row(size) * size.ranks;
}

static int map_board(pse_board *board, uint64_t bytes)
{
    void *base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, board->fd, 0);
    if (base == MAP_FAILED)
        return -errno;
    board->header = base;
    return 0;
}

static int fail(pse_board *board, int code)
{
    if (board->fd >= 0)
        close(board->fd);
    free(board);
    return code;
}

int pse_board_create(pse_board **out, pse_board_size size)
{
    pse_board *board = calloc(1, sizeof *board);
    *out = NULL;
    if (board == NULL)
        return -ENOMEM;
    uint64_t bytes = place_parts(board, 0, size);
    board->fd = memfd_create("pse-board", MFD_CLOEXEC);
    if (board->fd < 0 || ftruncate(board->fd, (off_t)bytes) != 0)
        return fail(board, -errno);
    int code = map_board(board, bytes);
    if (code != 0)
        return fail(board, code);
    place_parts(board, (uintptr_t)board->header, size);
    board->header->size = size;
    board->header->bytes = bytes;
    for (uint32_t rank = 0; rank < size.ranks; rank++) {
        pse_channel_inbox_initialise(&board->inboxes[rank]);
        board->slots[rank].site = PSE_NO_SITE;
    }
    board->header->magic = BOARD_MAGIC;
    *out = board;
    return 0;
}

int pse_board_attach(pse_board **out, pid_t pid, int fd)
{
    pse_board *board = calloc(1, sizeof *board);
    char path[64];
    struct stat status;
    *out = NULL;
    if (board == NULL)
        return -ENOMEM;
    snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)pid, fd);
    board->fd = open(path, O_RDWR | O_CLOEXEC);
    if (board->fd < 0 || fstat(board->fd, &status) != 0)
        return fail(board, -errno);
    if (status.st_size < (off_t)sizeof(board_header))
        return fail(board, -EPROTO);
    int code = map_board(board, (uint64_t)status.st_size);
    if (code != 0)
        return fail(board, code);
    if (board->header->magic != BOARD_MAGIC || board->header->bytes != (uint64_t)status.st_size) {
        munmap(board->header, (size_t)status.st_size);
        return fail(board, -EPROTO);
    }
    place_parts(board, (uintptr_t)board->header, board->header->size);
    *out = board;
    return 0;
}

void pse_board_detach(pse_board *board)
{
    munmap(board->header, board->header->bytes);
    close(board->fd);
    free(board);
}

int pse_board_fd(const pse_board *board)
{
    return board->fd;
}

pse_board_size pse_board_get_size(const pse_board *board)
{
    return board->header->size;
}

pse_slot *pse_board_slot(const pse_board *board, uint32_t rank)
{
    return &board->slots[rank];
}

pse_site_statistics *pse_board_statistics(const pse_board *board, uint32_t rank, uint32_t site)
{
    return &board->statistics[(uint64_t)rank * board->header->size.sites + site];
}

_Atomic uint64_t *pse_board_taken(const pse_board *board, uint32_t edge, uint32_t consumer)
{
    return &board->taken[(uint64_t)edge * board->header->size.ranks + consumer];
}

void pse_board_forget_taken(const pse_board *board, uint32_t consumer)
{
    for (uint32_t edge = 0; edge < board->header->size.edges; edge++)
        atomic_store(pse_board_taken(board, edge, consumer), 0);
}

_Atomic uint64_t *pse_board_loop(const pse_board *board, uint32_t loop, uint32_t rank)
{
    return &board->loops[(uint64_t)loop * board->header->size.ranks + rank];
}

pse_inbox *pse_board_inbox(const pse_board *board, uint32_t rank)
{
    return &board->inboxes[rank];
}

_Atomic uint32_t *pse_board_queued(const pse_board *board, uint32_t rank)
{
    return board->queued + queued_row(board->header->size) / sizeof(uint32_t) * rank;
}

_Atomic uint32_t *pse_board_space_wanted(const pse_board *board)
{
    return &board->header->space_wanted;
}

int pse_board_claim_report(pse_board *board)
{
    return atomic_exchange(&board->header->reported, 1u) == 0;
}
