/* What a slot of a context holds. */
#ifndef PSE_ENGINE_VALUE_H
#define PSE_ENGINE_VALUE_H

#include "arena.h"
#include "inbox.h"

enum pse_engine_value_state {
    VALUE_EMPTY,
    VALUE_OUTER,   /* what the parent context has */
    VALUE_AWAITED, /* a message will bring it */
    VALUE_SCALAR,
    VALUE_BUFFER,
    VALUE_PIECES,
};

typedef struct pse_engine_piece {
    pse_block *buffer;
    double scalar[2];
    uint32_t source;
    uint16_t dtype;
    uint16_t here;
} pse_engine_piece;

typedef struct pse_engine_value {
    uint8_t state;
    uint8_t renamed; /* AWAITED: a swap gave it another name; its place in the queue is free when it comes */
    uint8_t untaken; /* came by message, and its sender has not been told yet that it was used */
    uint16_t dtype;
    uint32_t edge;
    uint32_t source;
    uint32_t missing; /* AWAITED: pieces yet to come */
    uint32_t count;   /* pieces in all; 0 for a single value */
    uint64_t ticket;  /* AWAITED: its place in the order of expectations */
    union {
        double real[2];
        int64_t integer;
        pse_block *buffer;
        pse_engine_piece *pieces;
    } as;
} pse_engine_value;

#endif
