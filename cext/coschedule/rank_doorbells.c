#include "rank_doorbells.h"

#include <stddef.h>
#include <unistd.h>

#include "board.h"
#include "doorbell.h"

int pse_bcs_doorbells_create(pse_bcs_doorbells **out, uint32_t ranks)
{
    return pse_board_create(out, (pse_board_size){.ranks = ranks});
}

int pse_bcs_doorbells_attach(pse_bcs_doorbells **out, pid_t process, int fd)
{
    return pse_board_attach(out, process, fd);
}

void pse_bcs_doorbells_close(pse_bcs_doorbells *bells)
{
    pse_board_detach(bells);
}

int pse_bcs_doorbells_fd(const pse_bcs_doorbells *bells)
{
    return pse_board_fd(bells);
}

void pse_bcs_doorbells_enter(pse_bcs_doorbells *bells, uint32_t rank)
{
    pse_slot *slot = pse_board_slot(bells, rank);
    pse_channel_bell_note_affinity(slot);
    pse_channel_bell_note_core(slot);
    atomic_store(&slot->pid, (int32_t)getpid());
    atomic_store(&slot->state, PSE_RANK_RUNNING);
}

void pse_bcs_doorbells_leave(pse_bcs_doorbells *bells, uint32_t rank)
{
    atomic_store(&pse_board_slot(bells, rank)->state, PSE_RANK_LEFT);
}

void pse_bcs_doorbells_ring(pse_bcs_doorbells *bells, uint32_t rank)
{
    pse_channel_bell_ring(pse_board_slot(bells, rank));
}

uint32_t pse_bcs_doorbells_read(pse_bcs_doorbells *bells, uint32_t rank)
{
    return pse_channel_bell_read(pse_board_slot(bells, rank));
}

bool pse_bcs_doorbells_wait(pse_bcs_doorbells *bells, uint32_t rank, uint32_t seen, uint64_t timeout,
                            uint64_t awake)
{
    return pse_channel_bell_wait_awake(bells, rank, seen, timeout, awake, NULL);
}

bool pse_bcs_doorbells_is_on(const pse_bcs_doorbells *bells, uint32_t rank, uint32_t core)
{
    pse_slot *slot = pse_board_slot(bells, rank);
    return atomic_load_explicit(&slot->state, memory_order_relaxed) == PSE_RANK_RUNNING &&
           atomic_load_explicit(&slot->cpu, memory_order_relaxed) == core;
}

void pse_bcs_doorbells_note_core(pse_bcs_doorbells *bells, uint32_t rank)
{
    pse_channel_bell_note_core(pse_board_slot(bells, rank));
}
