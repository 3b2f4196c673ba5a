#include "call_paths.h"

#include <stdlib.h>
#include <string.h>

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

static void keep_span(pse_replay_paths *paths, const pse_replay_stack *stack, uint64_t now, int16_t residual)
{
    if (paths->span_count == paths->span_room) {
        pse_replay_span *spans = larger(paths->spans, &paths->span_room, sizeof *spans);
        if (!spans) {
            paths->is_out_of_memory = 1;
            return;
        }
        paths->spans = spans;
    }
    paths->spans[paths->span_count++] = (pse_replay_span){.begin = stack->last,
                                                          .end = now,
                                                          .node = stack->frames[stack->depth - 1].node,
                                                          .thread = (uint32_t)(stack - paths->threads),
                                                          .begin_residual = stack->last_residual,
                                                          .end_residual = residual};
}

static void spend(pse_replay_paths *paths, pse_replay_stack *stack, uint64_t now, int16_t residual)
{
    pse_replay_node *node = &paths->nodes[stack->frames[stack->depth - 1].node];
    if (stack->depth > 1 || stack == paths->threads) {
        node->time += (double)(int64_t)(now - stack->last) + (residual - stack->last_residual) / 65536.0;
        if (paths->has_spans)
            keep_span(paths, stack, now, residual);
    }
    stack->last = now;
    stack->last_residual = residual;
}

static int push(pse_replay_stack *stack, pse_replay_frame frame)
{
    if (stack->depth == stack->room) {
        pse_replay_frame *frames = larger(stack->frames, &stack->room, sizeof *frames);
        if (!frames)
            return -1;
        stack->frames = frames;
    }
    stack->frames[stack->depth++] = frame;
    return 0;
}

static uint64_t frame_key(uint64_t kind, uint64_t reason, uint64_t number)
{
    return kind << PSE_FRAME_SHIFT | reason << PSE_FRAME_REASON_SHIFT | (number & PSE_NONE);
}

/* Learn a number of callers; those around have smaller numbers. */
static int define_callers(pse_replay_paths *paths, const pse_event *event)
{
    enum { MOST_CALLERS = 1 << 20, DEEPEST_CALLERS = 256 };
    const uint32_t around = (uint32_t)(event->b >> 32);
    if (event->a == 0 || event->a >= MOST_CALLERS || around >= event->a)
        return 0; /* No recorder writes that. */
    const uint64_t known = paths->callers_room;
    while (event->a >= paths->callers_room) {
        struct pse_replay_callers *callers = larger(paths->callers, &paths->callers_room, sizeof *callers);
        if (!callers)
            return -1;
        paths->callers = callers;
    }
    if (paths->callers_room > known)
        memset(paths->callers + known, 0, (paths->callers_room - known) * sizeof *paths->callers);
    const uint32_t depth = paths->callers[around].depth + 1;
    if (depth <= DEEPEST_CALLERS)
        paths->callers[event->a] = (struct pse_replay_callers){(uint32_t)event->b, around, depth};
    return 0;
}

/* The node of callers below a node; 0 without memory. */
static uint32_t node_of_callers(pse_replay_paths *paths, uint32_t node, uint64_t number)
{
    if (number == 0 || number >= paths->callers_room || !paths->callers[number].depth)
        return node;
    const struct pse_replay_callers own = paths->callers[number];
    const uint32_t around = node_of_callers(paths, node, own.around);
    return node_below(paths, around, frame_key(PSE_FRAME_ROUTINE, 0, own.region));
}

static int enter(pse_replay_paths *paths, pse_replay_stack *stack, const pse_event *event, uint64_t key,
                 int16_t residual)
{
    spend(paths, stack, event->time, residual);
    uint32_t parent = stack->frames[stack->depth - 1].node;
    if (event->type == PSE_EVENT_REGION_ENTER && event->b)
        parent = node_of_callers(paths, parent, event->b);
    uint32_t node = node_below(paths, parent, key);
    if (!node)
        return -1;
    paths->nodes[node].visits++;
    return push(stack, (pse_replay_frame){event->time, node, PSE_NONE, residual});
}

/* End the innermost call. */
static void pop(pse_replay_paths *paths, pse_replay_stack *stack, uint64_t now, int16_t residual)
{
    spend(paths, stack, now, residual);
    const pse_replay_frame *frame = &stack->frames[--stack->depth];
    if (frame->call != PSE_NONE) {
        paths->calls[frame->call].leave = now;
        paths->calls[frame->call].leave_residual = residual;
    }
}

/* The calls that a thread is in, inside of one of them, with callers that were found on the stack. */
static uint64_t calls_inside(const pse_replay_paths *paths, const pse_replay_stack *stack, uint64_t at)
{
    const uint32_t around = stack->frames[at].node;
    uint64_t found = 0;
    for (uint32_t node = stack->frames[stack->depth - 1].node; node && node != around;
         node = paths->nodes[node].parent)
        found++;
    return found;
}

/* End the innermost call that has this key and began at this time, with all calls in it. */
static void leave(pse_replay_paths *paths, pse_replay_stack *stack, const pse_event *event, uint64_t key,
                  int16_t residual)
{
    uint64_t at = stack->depth;
    while (--at > 0)
        if (paths->nodes[stack->frames[at].node].key == key && stack->frames[at].enter == event->b)
            break;
    if (at == 0) {
        paths->lost_ends++;
        return;
    }
    paths->open_calls += calls_inside(paths, stack, at);
    while (stack->depth > at)
        pop(paths, stack, event->time, residual);
}

/* The call of the innermost frame, which has a row from now on. */
static uint32_t call_of(pse_replay_paths *paths)
{
    const pse_replay_stack *stack = &paths->threads[paths->thread];
    pse_replay_frame *frame = &stack->frames[stack->depth - 1];
    if (frame->call == PSE_NONE && stack->depth > 1) {
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
    const pse_replay_stack *stack = &paths->threads[paths->thread];
    count_bytes(&paths->nodes[stack->frames[stack->depth - 1].node], event);
    uint32_t call = call_of(paths);
    paths->outside += call == PSE_NONE;
    paths->operations[paths->operation_count++] = (pse_replay_operation){
        event->time,          event->a, event->b, event->c, call, residual, (uint8_t)event->type,
        (uint8_t)event->flags};
}

/* The events that follow are of this thread; a number that no recorder gives is taken for thread 0. */
static int switch_to(pse_replay_paths *paths, uint64_t thread)
{
    enum { MOST_THREADS = 65536 };
    paths->thread = thread < MOST_THREADS ? thread : 0;
    while (paths->thread >= paths->thread_count) {
        if (paths->thread_count == paths->thread_room) {
            pse_replay_stack *threads = larger(paths->threads, &paths->thread_room, sizeof *threads);
            if (!threads)
                return -1;
            paths->threads = threads;
        }
        pse_replay_stack *made = &paths->threads[paths->thread_count++];
        *made = (pse_replay_stack){0};
        if (push(made, (pse_replay_frame){.call = PSE_NONE}))
            return -1;
    }
    return 0;
}

static int take(pse_replay_paths *paths, const pse_event *event, int16_t residual)
{
    pse_replay_stack *own = &paths->threads[paths->thread], *first = paths->threads;
    switch (event->type) {
    case PSE_EVENT_THREAD:
        return switch_to(paths, event->a);
    case PSE_EVENT_CALLERS:
        return define_callers(paths, event);
    case PSE_EVENT_REGION_ENTER:
        return enter(paths, own, event, frame_key(PSE_FRAME_ROUTINE, 0, event->a), residual);
    case PSE_EVENT_MODULE_ENTER:
        return enter(paths, first, event, frame_key(PSE_FRAME_SITE, 0, event->site), residual);
    case PSE_EVENT_WAIT_BEGIN:
        return enter(paths, first, event, frame_key(PSE_FRAME_WAIT, event->flags, event->site), residual);
    case PSE_EVENT_REGION_LEAVE:
        leave(paths, own, event, frame_key(PSE_FRAME_ROUTINE, 0, event->a), residual);
        return 0;
    case PSE_EVENT_MODULE_LEAVE:
        leave(paths, first, event, frame_key(PSE_FRAME_SITE, 0, event->site), residual);
        return 0;
    case PSE_EVENT_WAIT_END:
        leave(paths, first, event, frame_key(PSE_FRAME_WAIT, event->flags, event->site), residual);
        return 0;
    case PSE_EVENT_MPI_SEND:
    case PSE_EVENT_MPI_SEND_COMPLETE:
    case PSE_EVENT_MPI_RECEIVE_POST:
    case PSE_EVENT_MPI_RECEIVE:
    case PSE_EVENT_MPI_PROBE:
    case PSE_EVENT_MPI_CHANNEL:
    case PSE_EVENT_MPI_REQUEST_TEST:
    case PSE_EVENT_MPI_REQUEST_CANCEL:
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
    if (switch_to(paths, 0) || add_node(paths, 0, frame_key(PSE_FRAME_PROGRAM, 0, 0)))
        return -1;
    paths->nodes[0].visits = 1;
    return 0;
}

int pse_replay_paths_take(pse_replay_paths *paths, const pse_event *events, const int16_t *residuals,
                          uint64_t count)
{
    if (count && !paths->has_begun) {
        paths->has_begun = 1;
        paths->threads->last = events[0].time;
        paths->threads->last_residual = residuals ? residuals[0] : 0;
    }
    for (uint64_t i = 0; i < count; i++)
        if (take(paths, &events[i], residuals ? residuals[i] : 0))
            return -1;
    return paths->is_out_of_memory ? -1 : 0;
}

static void finish(pse_replay_paths *paths, pse_replay_stack *stack, uint64_t last)
{
    paths->open_calls += calls_inside(paths, stack, 0);
    while (stack->depth > 1)
        pop(paths, stack, last, 0);
    if (paths->has_begun)
        spend(paths, stack, last, stack->last == last ? stack->last_residual : 0);
}

int pse_replay_paths_rest(pse_replay_paths *paths, uint64_t now, int16_t residual)
{
    pse_replay_stack *stack = paths->threads;
    if (stack->depth == 1)
        spend(paths, stack, now, residual);
    const uint32_t node = node_below(paths, 0, frame_key(PSE_FRAME_END, 0, PSE_NONE));
    if (!node)
        return -1;
    paths->nodes[node].visits++;
    stack->frames[0].node = node;
    return 0;
}

int pse_replay_paths_finish(pse_replay_paths *paths, uint64_t last)
{
    for (uint64_t i = 0; i < paths->thread_count; i++)
        finish(paths, &paths->threads[i], last);
    return paths->is_out_of_memory ? -1 : 0;
}

void pse_replay_paths_free(pse_replay_paths *paths)
{
    for (uint64_t i = 0; i < paths->thread_count; i++)
        free(paths->threads[i].frames);
    free(paths->threads);
    free(paths->callers);
    free(paths->nodes);
    free(paths->slots);
    free(paths->spans);
}
