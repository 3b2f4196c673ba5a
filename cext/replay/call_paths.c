#include "call_paths.h"

#include <stdlib.h>

enum { FIRST_ROOM = 64 };

static void *larger(void *array, uint64_t *room, uint64_t size)
{
    uint64_t wanted = *room ? 2 * *room : FIRST_ROOM;
    void *made = realloc(array, wanted * size);
    if (made)
        *room = wanted;
    return made;
}

static uint64_t hash_of(uint32_t parent, uint64_t key)
{
    uint64_t mixed = (key ^ ((uint64_t)parent << 24)) * 0x9e3779b97f4a7c15u;
    return mixed ^ (mixed >> 32);
}

static void put_in_slot(pse_replay_paths *paths, uint32_t node)
{
    uint64_t mask = paths->slot_count - 1;
    uint64_t slot = hash_of(paths->nodes[node].parent, paths->nodes[node].key) & mask;
    while (paths->slots[slot])
        slot = (slot + 1) & mask;
    paths->slots[slot] = node;
}

/* Have at least twice as many slots as nodes. */
static int grow_slots(pse_replay_paths *paths)
{
    uint64_t count = 2 * paths->node_room;
    uint32_t *slots = calloc(count, sizeof *slots);
    if (!slots)
        return -1;
    free(paths->slots);
    paths->slots = slots;
    paths->slot_count = count;
    for (uint64_t node = 1; node < paths->node_count; node++)
        put_in_slot(paths, (uint32_t)node);
    return 0;
}

static int add_node(pse_replay_paths *paths, uint32_t parent, uint64_t key)
{
    if (paths->node_count == paths->node_room) {
        pse_replay_node *nodes = larger(paths->nodes, &paths->node_room, sizeof *nodes);
        if (!nodes)
            return -1;
        paths->nodes = nodes;
        if (grow_slots(paths))
            return -1;
    }
    paths->nodes[paths->node_count] = (pse_replay_node){.key = key, .parent = parent};
    if (paths->node_count++)
        put_in_slot(paths, (uint32_t)(paths->node_count - 1));
    return 0;
}

/* The node of a call from another; 0 without memory. */
static uint32_t node_below(pse_replay_paths *paths, uint32_t parent, uint64_t key)
{
    uint32_t known = paths->nodes[parent].child;
    if (known && paths->nodes[known].key == key)
        return known;
    uint64_t mask = paths->slot_count - 1, slot = hash_of(parent, key) & mask;
    while ((known = paths->slots[slot]) != 0 &&
           (paths->nodes[known].key != key || paths->nodes[known].parent != parent))
        slot = (slot + 1) & mask;
    if (!known) {
        if (add_node(paths, parent, key))
            return 0;
        known = (uint32_t)(paths->node_count - 1);
    }
    paths->nodes[parent].child = known;
    return known;
}

static void spend(pse_replay_paths *paths, uint64_t now, int16_t residual)
{
    pse_replay_node *node = &paths->nodes[paths->stack[paths->depth - 1].node];
    node->time += (double)(int64_t)(now - paths->last) + (residual - paths->last_residual) / 65536.0;
    paths->last = now;
    paths->last_residual = residual;
}

static int enter(pse_replay_paths *paths, const pse_event *event, uint64_t key, int16_t residual)
{
    spend(paths, event->time, residual);
    if (paths->depth == paths->stack_room) {
        pse_replay_frame *stack = larger(paths->stack, &paths->stack_room, sizeof *stack);
        if (!stack)
            return -1;
        paths->stack = stack;
    }
    uint32_t node = node_below(paths, paths->stack[paths->depth - 1].node, key);
    if (!node)
        return -1;
    paths->nodes[node].visits++;
    paths->stack[paths->depth++] = (pse_replay_frame){event->time, node, PSE_NONE, residual};
    return 0;
}

/* End the innermost call. */
static void pop(pse_replay_paths *paths, uint64_t now, int16_t residual)
{
    spend(paths, now, residual);
    const pse_replay_frame *frame = &paths->stack[--paths->depth];
    if (frame->call != PSE_NONE) {
        paths->calls[frame->call].leave = now;
        paths->calls[frame->call].leave_residual = residual;
    }
}

/* End the innermost call that has this key and began at this time, with all calls in it. */
static void leave(pse_replay_paths *paths, const pse_event *event, uint64_t key, uint64_t begin,
                  int16_t residual)
{
    uint64_t at = paths->depth;
    while (--at > 0)
        if (paths->nodes[paths->stack[at].node].key == key && paths->stack[at].enter == begin)
            break;
    if (at == 0) {
        paths->lost_ends++;
        return;
    }
    paths->open_calls += paths->depth - 1 - at;
    while (paths->depth > at)
        pop(paths, event->time, residual);
}

/* The call of the innermost frame, which has a row from now on. */
static uint32_t call_of(pse_replay_paths *paths)
{
    pse_replay_frame *frame = &paths->stack[paths->depth - 1];
    if (frame->call == PSE_NONE && paths->depth > 1) {
        frame->call = (uint32_t)paths->call_count++;
        paths->calls[frame->call] = (pse_replay_call){.enter = frame->enter,
                                                      .leave = frame->enter,
                                                      .node = frame->node,
                                                      .enter_residual = frame->residual};
    }
    return frame->call;
}

static void count_bytes(pse_replay_node *node, const pse_event *event)
{
    if (event->type == PSE_EVENT_MPI_SEND) {
        node->sent += (double)event->a;
    } else if (event->type == PSE_EVENT_MPI_RECEIVE) {
        node->received += (double)event->a;
    } else if (event->type == PSE_EVENT_MPI_COLLECTIVE_END) {
        node->sent += (double)event->a;
        node->received += (double)event->b;
    }
}

static void operate(pse_replay_paths *paths, const pse_event *event, int16_t residual)
{
    if (paths->operation_count == paths->operation_room)
        return; /* The caller counted them: it can't be. */
    count_bytes(&paths->nodes[paths->stack[paths->depth - 1].node], event);
    uint32_t call = call_of(paths);
    paths->outside += call == PSE_NONE;
    paths->operations[paths->operation_count++] = (pse_replay_operation){
        event->time,          event->a, event->b, event->c, call, residual, (uint8_t)event->type,
        (uint8_t)event->flags};
}

static uint64_t frame_key(uint64_t kind, uint64_t reason, uint64_t number)
{
    return kind << PSE_FRAME_SHIFT | reason << PSE_FRAME_REASON_SHIFT | (number & PSE_NONE);
}

static int take(pse_replay_paths *paths, const pse_event *event, int16_t residual)
{
    switch (event->type) {
    case PSE_EVENT_REGION_ENTER:
        return enter(paths, event, frame_key(PSE_FRAME_ROUTINE, 0, event->a), residual);
    case PSE_EVENT_MODULE_ENTER:
        return enter(paths, event, frame_key(PSE_FRAME_SITE, 0, event->site), residual);
    case PSE_EVENT_WAIT_BEGIN:
        return enter(paths, event, frame_key(PSE_FRAME_WAIT, event->flags, event->site), residual);
    case PSE_EVENT_REGION_LEAVE:
        leave(paths, event, frame_key(PSE_FRAME_ROUTINE, 0, event->a), event->b, residual);
        return 0;
    case PSE_EVENT_MODULE_LEAVE:
        leave(paths, event, frame_key(PSE_FRAME_SITE, 0, event->site), event->b, residual);
        return 0;
    case PSE_EVENT_WAIT_END:
        leave(paths, event, frame_key(PSE_FRAME_WAIT, event->flags, event->site), event->b, residual);
        return 0;
    case PSE_EVENT_MPI_SEND:
    case PSE_EVENT_MPI_SEND_COMPLETE:
    case PSE_EVENT_MPI_RECEIVE_POST:
    case PSE_EVENT_MPI_RECEIVE:
    case PSE_EVENT_MPI_COLLECTIVE_BEGIN:
    case PSE_EVENT_MPI_COLLECTIVE_END:
        operate(paths, event, residual);
        return 0;
    default:
        return 0;
    }
}

int pse_replay_paths_begin(pse_replay_paths *paths)
{
    paths->stack = larger(NULL, &paths->stack_room, sizeof *paths->stack);
    if (!paths->stack || add_node(paths, 0, frame_key(PSE_FRAME_PROGRAM, 0, 0)))
        return -1;
    paths->nodes[0].visits = 1;
    paths->stack[paths->depth++] = (pse_replay_frame){.call = PSE_NONE};
    return 0;
}

int pse_replay_paths_take(pse_replay_paths *paths, const pse_event *events, const int16_t *residuals,
                          uint64_t count)
{
    if (count && !paths->has_begun) {
        paths->has_begun = 1;
        paths->last = events[0].time;
        paths->last_residual = residuals ? residuals[0] : 0;
    }
    for (uint64_t i = 0; i < count; i++)
        if (take(paths, &events[i], residuals ? residuals[i] : 0))
            return -1;
    return 0;
}

void pse_replay_paths_finish(pse_replay_paths *paths, uint64_t last)
{
    paths->open_calls += paths->depth - 1;
    while (paths->depth > 1)
        pop(paths, last, 0);
    if (paths->has_begun)
        spend(paths, last, paths->last == last ? paths->last_residual : 0);
}

void pse_replay_paths_free(pse_replay_paths *paths)
{
    free(paths->nodes);
    free(paths->slots);
    free(paths->stack);
}
