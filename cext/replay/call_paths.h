/* One pass over the records of a rank: its call paths with visits and times, and the operations of MPI
 * together with the calls that they happened in. */
#ifndef PSE_CALL_PATHS_H
#define PSE_CALL_PATHS_H

#include "abi_replay.h"
#include "recorder.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { PSE_FRAME_SHIFT = 56, PSE_FRAME_REASON_SHIFT = 32 }; /* Where kind and reason are in a node's key. */

/* A call that has not returned. */
typedef struct pse_replay_frame {
    uint64_t enter;
    uint32_t node, call;
    int16_t residual;
} pse_replay_frame;

/* The calls that a thread is in. */
typedef struct pse_replay_stack {
    pse_replay_frame *frames; /* allocated here; frames[0] is the program */
    uint64_t depth, room;
    uint64_t last; /* time of its last change */
    int16_t last_residual;
} pse_replay_stack;

/* Functions that a routine was called from: the innermost, and the number of those around it. */
struct pse_replay_callers {
    uint32_t region, around, depth;
};

typedef struct pse_replay_paths {
    pse_replay_node *nodes; /* allocated here */
    uint64_t node_count, node_room;
    uint32_t *slots; /* hash table of nodes, 0: free; a power of two */
    uint64_t slot_count;
    pse_replay_stack *threads; /* allocated here; threads[0] initialised MPI, and calls modules */
    uint64_t thread_count, thread_room, thread; /* the last one: whose events come now */
    pse_replay_call *calls;                     /* the caller's; room for as many as operations */
    uint64_t call_count;
    pse_replay_operation *operations; /* the caller's */
    uint64_t operation_count, operation_room;
    struct pse_replay_callers *callers; /* allocated here; [0] is not used */
    uint64_t callers_room;
    uint64_t lost_ends;     /* ends of calls that had no begin */
    uint64_t open_calls;    /* calls that did not return */
    uint64_t outside;       /* operations that happened in no call */
    pse_replay_span *spans; /* allocated here, in the order of their ends */
    uint64_t span_count, span_room;
    uint8_t has_begun;
    uint8_t has_spans; /* whether spans are wanted */
    uint8_t is_out_of_memory;
} pse_replay_paths;

/* Begin: all fields zero but calls, operations, operation_room and has_spans.  Returns 0, or -1 without
 * memory. */
int pse_replay_paths_begin(pse_replay_paths *paths);

/* Go on over the next records; residuals may be NULL.  Returns 0, or -1 without memory. */
int pse_replay_paths_take(pse_replay_paths *paths, const pse_event *events, const int16_t *residuals,
                          uint64_t count);

/* The rank has no more work: from this time of its last record on, time outside of all calls is its end's.
 * Returns 0, or -1 without memory. */
int pse_replay_paths_rest(pse_replay_paths *paths, uint64_t now, int16_t residual);

/* End all calls that are open at the time of the last record.  Time outside of all calls is the program's in
 * thread 0 only: other threads may not exist then.  Returns 0, or -1 without memory for spans. */
int pse_replay_paths_finish(pse_replay_paths *paths, uint64_t last);

/* Free what was allocated here. */
void pse_replay_paths_free(pse_replay_paths *paths);

#ifdef __cplusplus
}
#endif
#endif
