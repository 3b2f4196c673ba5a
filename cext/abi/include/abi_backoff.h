/* Made from cext/abi/backoff.def by cext/abi/generate.py: change the table, not this file. */
/* clang-format off */
#ifndef PSE_ABI_BACKOFF_H
#define PSE_ABI_BACKOFF_H

#include <stddef.h>
#include <stdint.h>

#define PSE_BACKOFF_SHORTEST 20000 /* The first sleep; a look at MPI from Python costs about as much. */

/* The longest sleep, if nothing else is said: looking then takes less than 1 % of a core. */
#define PSE_BACKOFF_LONGEST 5000000

/* The longest sleep of a wait for a rank that is known to be at work on the answer. */
#define PSE_BACKOFF_LONGEST_BRIEF 1000000

/* A sleep takes this part of the wait so far: what comes is seen a sixteenth of the wait late, on average. */
#define PSE_BACKOFF_SHARE 8
#define PSE_BACKOFF_AWAKE 50000 /* How long a wait that ends by a timer stays awake before it sleeps. */

/* The same for one that a futex ends: twice what waking a sleeper on another core costs. */
#define PSE_BACKOFF_AWAKE_FOR_BELL 25000
#define PSE_BACKOFF_YIELD_FREE 1500 /* A yield that took less met nobody: the core is free. */
#define PSE_BACKOFF_YIELD_BUSY 50000 /* A yield that took longer met somebody who computes. */
#define PSE_BACKOFF_TRUST_FREE 200000 /* How long a core that was free is taken for free. */

/* How long who met somebody who computes sleeps without trying the core again. */
#define PSE_BACKOFF_TRUST_BUSY 3000000
#define PSE_BACKOFF_LOOKS 64 /* Looks of a spinning rank between two at the clock, or two yields. */

#endif
