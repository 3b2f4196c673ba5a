/* Made from cext/abi/waiting.def by cext/abi/generate.py: change the table, not this file. */
/* clang-format off */
#ifndef PSE_ABI_WAITING_H
#define PSE_ABI_WAITING_H

#include <stddef.h>
#include <stdint.h>

/* Flags of WAIT_BEGIN and WAIT_END. */
enum pse_wait_reason {
    PSE_WAIT_INPUT = 1, /* for a tag that another rank defines */
    PSE_WAIT_EXCLUSIVE = 2, /* for the other readers of a tag that is to be written in place */
    PSE_WAIT_SPACE = 3, /* for room in the arena */
    PSE_WAIT_CREDIT = 4, /* for room in a bounded queue */
    PSE_WAIT_REMOTE = 5, /* for a transfer between nodes to complete */
    PSE_WAIT_ORDER = 6, /* for its turn in the common order of collective calls */
    PSE_WAIT_START = 7, /* for the other ranks at start or end of the run */
    PSE_WAIT_ITERATION = 8, /* for an earlier iteration of an inflight loop to complete on all ranks */
    PSE_WAIT_PARTITIONS = 9, /* for messages among partitions */
};
#define PSE_WAIT_TEXTS(X) \
    X(PSE_WAIT_INPUT, 1, "for a tag that another rank defines") \
    X(PSE_WAIT_EXCLUSIVE, 2, "for the other readers of a tag that is to be written in place") \
    X(PSE_WAIT_SPACE, 3, "for room in the arena") \
    X(PSE_WAIT_CREDIT, 4, "for room in a bounded queue") \
    X(PSE_WAIT_REMOTE, 5, "for a transfer between nodes to complete") \
    X(PSE_WAIT_ORDER, 6, "for its turn in the common order of collective calls") \
    X(PSE_WAIT_START, 7, "for the other ranks at start or end of the run") \
    X(PSE_WAIT_ITERATION, 8, "for an earlier iteration of an inflight loop to complete on all ranks") \
    X(PSE_WAIT_PARTITIONS, 9, "for messages among partitions")

/* Bits for the reasons: what a rank's blocked TPHs wait for, so that others ring when it comes. */
enum pse_want {
    PSE_WANT_INPUT = 2,
    PSE_WANT_EXCLUSIVE = 4,
    PSE_WANT_SPACE = 8,
    PSE_WANT_CREDIT = 16,
    PSE_WANT_REMOTE = 32,
    PSE_WANT_ORDER = 64,
    PSE_WANT_START = 128,
    PSE_WANT_ITERATION = 256,
    PSE_WANT_PARTITIONS = 512,
};

/* What a rank is doing, on the node's board. */
enum pse_rank_state {
    PSE_RANK_ABSENT = 0, /* absent */
    PSE_RANK_STARTING = 1, /* starting */
    PSE_RANK_RUNNING = 2, /* running */
    PSE_RANK_WAIT_INPUT = 3, /* waiting for input */
    PSE_RANK_WAIT_EXCLUSIVE = 4, /* waiting for other readers */
    PSE_RANK_WAIT_SPACE = 5, /* waiting for shared memory */
    PSE_RANK_WAIT_CREDIT = 6, /* waiting for a place in a queue */
    PSE_RANK_WAIT_REMOTE = 7, /* waiting for a transfer between nodes */
    PSE_RANK_WAIT_ORDER = 8, /* waiting for its turn in a collective call */
    PSE_RANK_WAIT_START = 9, /* waiting for other ranks */
    PSE_RANK_WAIT_ITERATION = 10, /* waiting for an earlier iteration */
    PSE_RANK_WAIT_PARTITIONS = 11, /* waiting for other partitions */
    PSE_RANK_DONE = 32, /* done */
    PSE_RANK_FAILED = 33, /* failed */
    PSE_RANK_LEFT = 34, /* gone */
};
#define PSE_RANK_TEXTS(X) \
    X(PSE_RANK_ABSENT, 0, "absent") \
    X(PSE_RANK_STARTING, 1, "starting") \
    X(PSE_RANK_RUNNING, 2, "running") \
    X(PSE_RANK_WAIT_INPUT, 3, "waiting for input") \
    X(PSE_RANK_WAIT_EXCLUSIVE, 4, "waiting for other readers") \
    X(PSE_RANK_WAIT_SPACE, 5, "waiting for shared memory") \
    X(PSE_RANK_WAIT_CREDIT, 6, "waiting for a place in a queue") \
    X(PSE_RANK_WAIT_REMOTE, 7, "waiting for a transfer between nodes") \
    X(PSE_RANK_WAIT_ORDER, 8, "waiting for its turn in a collective call") \
    X(PSE_RANK_WAIT_START, 9, "waiting for other ranks") \
    X(PSE_RANK_WAIT_ITERATION, 10, "waiting for an earlier iteration") \
    X(PSE_RANK_WAIT_PARTITIONS, 11, "waiting for other partitions") \
    X(PSE_RANK_DONE, 32, "done") \
    X(PSE_RANK_FAILED, 33, "failed") \
    X(PSE_RANK_LEFT, 34, "gone")

/* Exit codes of commands, and of ranks that end a run. */
enum pse_exit_code {
    PSE_EXIT_PROGRAM = 1, /* the program is wrong */
    PSE_EXIT_USAGE = 2, /* the command line or a configuration is wrong */
    PSE_EXIT_FAILED = 3, /* a module or rank failed */
};

#define PSE_BACKOFF_SHORTEST 20000 /* The first sleep; a look at MPI from Python costs about as much. */

/* The longest sleep, if nothing else is said: looking then takes less than 1 % of a core. */
#define PSE_BACKOFF_LONGEST 5000000

/* The longest sleep of a wait for a rank that is known to be at work on the answer. */
#define PSE_BACKOFF_LONGEST_BRIEF 1000000

/* A sleep takes this part of the wait so far: what comes is seen a sixteenth of the wait late, on average. */
#define PSE_BACKOFF_SHARE 8
#define PSE_BACKOFF_AWAKE 50000 /* How long a wait that ends by a timer stays awake before it sleeps. */

/* The same for one in MPI itself: ranks that share cores reach each other by yielding, and move data
 * meanwhile. */
#define PSE_BACKOFF_AWAKE_PATIENT 500000
#define PSE_BACKOFF_AWAKE_BETWEEN 20000 /* How long a wait stays awake at most between two sleeps. */

/* How long who has a core for itself looks without letting others run. */
#define PSE_BACKOFF_AWAKE_ALONE 1500

/* The same for one that a futex ends: twice what waking a sleeper on another core costs. */
#define PSE_BACKOFF_AWAKE_FOR_BELL 25000
#define PSE_BACKOFF_YIELD_FREE 1500 /* A yield that took less met nobody: the core is free. */
#define PSE_BACKOFF_YIELD_BUSY 50000 /* A yield that took longer met somebody who computes. */

/* The same for a wait in MPI itself: what met a rank that moves data takes less. */
#define PSE_BACKOFF_YIELD_BUSY_PATIENT 1000000

/* A look that took more than this and twice the quickest one has moved data. */
#define PSE_BACKOFF_LOOK_JITTER 400
#define PSE_BACKOFF_LOOK_MOVED 30000 /* A look right after a sleep that took longer has moved data. */
#define PSE_BACKOFF_TRUST_FREE 200000 /* How long a core that was free is taken for free. */

/* How long who meets somebody who computes, again and again, sleeps without trying the core. */
#define PSE_BACKOFF_TRUST_BUSY 3000000

/* The same for who met one the first time; it doubles with each next time: most are gone soon. */
#define PSE_BACKOFF_TRUST_BUSY_FIRST 200000
#define PSE_BACKOFF_LOOKS 64 /* Looks of a spinning rank between two at the clock, or two yields. */

/* How long a rank that fails waits, so that what lies in pipes is read before the job ends. */
#define PSE_DRAIN_MILLISECONDS 50

/* How long it then waits for the process manager to end the job; hydra needs some ten. */
#define PSE_ABORT_MILLISECONDS 1000

/* What modules that end their process are told. */
#define PSE_ABORT_HELP "a module must return its error code instead, or raise an exception: all ranks end then"

/* What the end of a process by SIGKILL means. */
#define PSE_KILLED_HELP "somebody killed it, or the kernel did because memory ran out (see `dmesg`)"

#endif
