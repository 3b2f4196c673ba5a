/* The coscheduled layer of the job: one for all communicators, so that it knows when all ranks are blocked.
 */
#ifndef PSE_BCS_LAYER_H
#define PSE_BCS_LAYER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "c_engine.h"

/* What messages are part of, as errors name it; 0 is a message of the program's own. */
enum pse_bcs_label {
    PSE_BCS_LABEL_MESSAGE,
    PSE_BCS_LABEL_BARRIER,
    PSE_BCS_LABEL_BCAST,
    PSE_BCS_LABEL_REDUCE,
    PSE_BCS_LABEL_ALLREDUCE,
    PSE_BCS_LABEL_SCAN,
    PSE_BCS_LABEL_EXSCAN,
    PSE_BCS_LABEL_REDUCE_SCATTER,
    PSE_BCS_LABEL_SCATTER,
    PSE_BCS_LABEL_GATHER,
    PSE_BCS_LABEL_ALLGATHER,
    PSE_BCS_LABEL_ALLTOALL,
    PSE_BCS_LABEL_FINALIZE,
    PSE_BCS_LABEL_FIRST_MEETING, /* and one for each routine before which ranks meet */
    PSE_BCS_LABELS = 512
};

extern const char *pse_bcs_labels[PSE_BCS_LABELS];
/* This rank's end; NULL before MPI_Init and after MPI_Finalize. */
extern pse_bcs_end *pse_bcs_layer;

/* Read the tool's arguments; nonzero: they are refused. */
int pse_bcs_layer_configure(void);
/* Make the layer of all ranks of MPI_COMM_WORLD; collective. */
void pse_bcs_layer_begin(void);
void pse_bcs_layer_end(void);

/* Wait, or look whether all are complete: false says that they are not.  Does not come back from failures. */
bool pse_bcs_layer_wait(const uint32_t *operations, size_t count, enum pse_bcs_wait mode, size_t *which);
/* An operation, unless posting failed; then the job ends. */
uint32_t pse_bcs_layer_posted(uint32_t operation);

/* Around calls that may block in MPI itself. */
void pse_bcs_go_away(void);
void pse_bcs_come_back(void);
/* From now on MPI has operations of its own under way, which make progress in its calls only. */
void pse_bcs_expect_progress(void);

/* Give an error, once for the job, and end the job. */
_Noreturn void pse_bcs_end_job(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* So many bytes; where there is no memory for them, the job ends. */
void *pse_bcs_memory(size_t bytes);
/* The same in place of what was there. */
void *pse_bcs_more_memory(void *old, size_t bytes);

#define PSE_BCS_AWAY(call)                                                                                   \
    do {                                                                                                     \
        pse_bcs_go_away();                                                                                   \
        const int error_ = (call);                                                                           \
        pse_bcs_come_back();                                                                                 \
        return error_;                                                                                       \
    } while (0)

#endif
