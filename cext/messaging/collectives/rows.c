#include "collectives/rows.h"

#include <string.h>

#include "mailbox.h"

/* Entries of the list that concern one partition. */
typedef struct run {
    const int64_t *first;
    uint64_t entries, rows;
    uint32_t peer;
    bool comes;
} run;

/* The run that begins with the entry `at`; what comes from a partition is one entry. */
static run run_at(const coven_rows *rows, size_t at)
{
    const int64_t *first = rows->list + at * rows->stride;
    run found = {.first = first, .entries = 1, .peer = (uint32_t)first[1], .comes = first[0] < 0};
    found.rows = found.comes ? (uint64_t)-first[0] : 1;
    if (found.comes)
        return found;
    for (const int64_t *next = first + rows->stride;
         at + found.entries < rows->entries && next[0] >= 0 && next[1] == first[1]; next += rows->stride)
        found.entries++;
    found.rows = found.entries;
    return found;
}

static uint32_t rank_of(const pse_mailbox *mailbox, uint32_t peer)
{
    return mailbox->region.owners[peer];
}

static bool is_here(const pse_mailbox *mailbox, uint32_t peer)
{
    return rank_of(mailbox, peer) == mailbox->messaging->hooks.rank;
}

static bool is_near(const pse_mailbox *mailbox, uint32_t peer)
{
    const pse_messaging_hooks *hooks = &mailbox->messaging->hooks;
    return hooks->arena_base != NULL && !hooks->is_remote(hooks->engine, rank_of(mailbox, peer));
}

/* What a partition is told of where its rows are wanted; an offset of 0 is that of the arena's own head. */
static uint64_t place_for(const pse_mailbox *mailbox, uint32_t peer, const char *at, uint64_t bytes)
{
    const pse_messaging_hooks *hooks = &mailbox->messaging->hooks;
    if (is_here(mailbox, peer))
        return (uint64_t)(uintptr_t)at;
    bool shared = is_near(mailbox, peer) && at >= hooks->arena_base &&
                  at + bytes <= hooks->arena_base + hooks->arena_bytes;
    return shared ? (uint64_t)(at - hooks->arena_base) : 0;
}

uint64_t pse_messaging_rows_scratch(const pse_mailbox *mailbox, const coven_rows *rows)
{
    uint64_t runs = 0, sent = 0;
    for (size_t at = 0; at < rows->entries;) {
        run next = run_at(rows, at);
        at += next.entries;
        runs++;
        if (!next.comes && !is_here(mailbox, next.peer))
            sent += next.rows * rows->width;
    }
    return runs * sizeof(pse_messaging_rows_place) + sent;
}

bool pse_messaging_rows_are_listed(const pse_mailbox *mailbox, const coven_rows *rows)
{
    for (size_t at = 0; at < rows->entries; at++) {
        int64_t peer = rows->list[at * rows->stride + 1];
        if (peer < 0 || peer >= mailbox->region.partitions)
            return false;
    }
    return true;
}

/* Tell a partition where its rows are wanted; `rows_before` others come before them. */
static bool want(pse_messaging_schedule *plan, const run *from, pse_messaging_rows_place *place,
                 uint64_t rows_before)
{
    const char *at = (const char *)plan->rows.result + rows_before * plan->rows.width;
    *place = (pse_messaging_rows_place){
        .at = place_for(plan->mailbox, from->peer, at, from->rows * plan->rows.width), .rows = from->rows};
    return pse_messaging_schedule_add(plan, PSE_STEP_SEND, from->peer, place, NULL, sizeof *place);
}

/* The first round: where rows are wanted. */
static bool tell_places(pse_messaging_schedule *plan, pse_messaging_rows_place *places)
{
    const coven_rows *rows = &plan->rows;
    bool fine = true;
    uint64_t came = 0;
    for (size_t at = 0; at < rows->entries; places++) {
        run next = run_at(rows, at);
        at += next.entries;
        if (next.comes) {
            fine &= want(plan, &next, places, came);
            came += next.rows;
        } else {
            fine &=
                pse_messaging_schedule_add(plan, PSE_STEP_RECEIVE, next.peer, NULL, places, sizeof *places);
        }
    }
    return fine && pse_messaging_schedule_round(plan);
}

/* The second round: the rows, after those that came `before`; `packed` is for those that are sent. */
static bool move_rows(pse_messaging_schedule *plan, pse_messaging_rows_place *places, char *packed)
{
    const coven_rows *rows = &plan->rows;
    char *result = rows->result;
    bool fine = true;
    for (size_t at = 0; at < rows->entries; places++) {
        run next = run_at(rows, at);
        uint64_t bytes = next.rows * rows->width;
        at += next.entries;
        if (next.comes) {
            uint64_t sent = place_for(plan->mailbox, next.peer, result, bytes) != 0 ? 0 : bytes;
            fine &= pse_messaging_schedule_add(plan, PSE_STEP_RECEIVE, next.peer, NULL, result, sent);
            result += bytes;
        } else {
            fine &= pse_messaging_schedule_show(plan, next.peer, next.first, next.rows, places, packed);
            packed += is_here(plan->mailbox, next.peer) ? 0 : bytes;
        }
    }
    return fine && pse_messaging_schedule_round(plan);
}

bool pse_messaging_program_rows(pse_messaging_schedule *plan)
{
    pse_messaging_rows_place *places = (pse_messaging_rows_place *)(void *)plan->scratch;
    uint64_t runs = 0;
    for (size_t at = 0; at < plan->rows.entries; runs++)
        at += run_at(&plan->rows, at).entries;
    return tell_places(plan, places) && move_rows(plan, places, plan->scratch + runs * sizeof *places);
}

/* Write positions, moved by whole periods. */
static void write_images(const coven_rows *rows, const int64_t *entry, uint64_t count, char *into)
{
    for (; count > 0; count--, entry += rows->stride, into += rows->width) {
        const double *x = (const double *)((const char *)rows->data + (size_t)entry[0] * rows->width);
        double *to = (double *)(void *)into;
        for (size_t axis = 0; axis < rows->axes; axis++)
            to[axis] = x[axis] + (double)entry[2 + axis] * rows->period[axis];
    }
}

static void write_rows(const coven_rows *rows, const int64_t *entry, uint64_t count, char *into)
{
    if (rows->period != NULL) {
        write_images(rows, entry, count, into);
        return;
    }
    for (; count > 0; count--, entry += rows->stride, into += rows->width)
        memcpy(into, (const char *)rows->data + (size_t)entry[0] * rows->width, rows->width);
}

static void note_mismatch(const pse_messaging_schedule *plan, const pse_messaging_step *at, uint64_t expected)
{
    const pse_messaging_side side = {
        .kind = plan->what.kind, .type = (uint8_t)plan->what.type, .site = plan->site};
    pse_messaging_fault *fault =
        pse_messaging_begin_fault(plan->mailbox->messaging, plan->mailbox, PSE_MESSAGING_MISMATCH);
    fault->here = fault->there = side;
    fault->here.partition = at->peer;
    fault->here.bytes = expected * plan->rows.width;
    fault->there.partition = plan->mailbox->partition;
    fault->there.bytes = at->count * plan->rows.width;
}

bool pse_messaging_show_rows(const pse_messaging_schedule *plan, const pse_messaging_step *at,
                             uint64_t *bytes)
{
    const pse_messaging_rows_place *place = at->with;
    if (place->rows != at->count) {
        note_mismatch(plan, at, place->rows);
        return false;
    }
    char *into = at->into;
    if (place->at != 0)
        into = is_here(plan->mailbox, at->peer) ? (char *)(uintptr_t)place->at
                                                : plan->mailbox->messaging->hooks.arena_base + place->at;
    write_rows(&plan->rows, at->from, at->count, into);
    *bytes = place->at != 0 ? 0 : at->count * plan->rows.width;
    return true;
}
