/* A crash in MPI_Init, which runs code of all tools: the one is named that it happens in. */
#ifndef PSE_TOOLSTACK_INIT_GUARD_H
#define PSE_TOOLSTACK_INIT_GUARD_H

/* Have the program's call of MPI_Init or MPI_Init_thread watched; once, when the table is filled. */
void pse_toolstack_guard_init(void);

#endif
