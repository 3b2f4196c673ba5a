/* Who called: return addresses, or the frames of Python where the caller is mpi4py.
 *
 * mpi4py calls MPI without holding the interpreter's lock, so the lock is taken for the look at Python's
 * frames. */
#ifndef PSE_PROFILE_FRAMES_H
#define PSE_PROFILE_FRAMES_H

#include <stdbool.h>
#include <stdint.h>

enum { DEPTH = 8 };

struct profile_frames {
    int count;
    bool python;
    uint64_t key[DEPTH]; /* addresses; of Python's frames, the code and the place in it */
    char *name[DEPTH];   /* see pse_profile_name_frames */
    void *code[DEPTH];   /* Python's, as long as a call is recorded */
    int line[DEPTH];
};

/* The frames that called MPI, at most `depth`; `caller` is where the wrapper returns to. */
void pse_profile_find_frames(struct profile_frames *frames, void *caller, int depth);
/* Give the frames of a new site their names; the calling thread doesn't hold Python's lock. */
void pse_profile_name_frames(struct profile_frames *frames);

#endif
