/* Monitored calls (MMDS): each function of MPI that the tool has begins with PSE_BCS_NOTE. */
#ifndef PSE_BCS_NOTES_H
#define PSE_BCS_NOTES_H

#include "layer.h"
#include "places.h"

/* A call that is under way; entered: 0 if it isn't noted. */
struct pse_bcs_note {
    const char *name;
    uint32_t *number; /* of the routine, PSE_BCS_NONE before its first call */
    bool blocking;
    uint64_t bytes, entered;
};

static inline struct pse_bcs_note pse_bcs_note_begin(const char *name, uint32_t *number, bool blocking)
{
    return (struct pse_bcs_note){name, number, blocking, 0,
                                 pse_bcs_layer ? pse_bcs_end_enter(pse_bcs_layer) : 0};
}

static inline void pse_bcs_note_end(struct pse_bcs_note *note)
{
    if (!note->entered)
        return;
    if (*note->number == PSE_BCS_NONE)
        *note->number = pse_bcs_end_routine(pse_bcs_layer, note->name);
    const struct pse_bcs_noted call = {*note->number, note->blocking, note->bytes, note->entered};
    pse_bcs_end_note(pse_bcs_layer, &call);
}

/* Until the function returns; one that blocks ends a stretch of computation. */
#define PSE_BCS_NOTE(name, blocking)                                                                         \
    static uint32_t number_ = PSE_BCS_NONE;                                                                  \
    __attribute__((cleanup(pse_bcs_note_end))) struct pse_bcs_note note_ =                                   \
        pse_bcs_note_begin(name, &number_, blocking)

/* The bytes that it is given, which are not looked for if nobody asks. */
#define PSE_BCS_NOTE_BYTES(given)                                                                            \
    do {                                                                                                     \
        if (note_.entered)                                                                                   \
            note_.bytes = (given);                                                                           \
    } while (0)
#define PSE_BCS_NOTE_MESSAGE(buffer, count, type)                                                            \
    PSE_BCS_NOTE_BYTES(pse_bcs_bytes_of(AT(buffer, count, type)))

#endif
