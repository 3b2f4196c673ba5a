/* How soon a rank that wakes up gets a core: the scheduler's own means, without privileges. */
#ifndef PSE_CHANNEL_SCHEDULER_HINTS_H
#define PSE_CHANNEL_SCHEDULER_HINTS_H

#ifdef __cplusplus
extern "C" {
#endif

/* Ask for short slices: from Linux 6.12 on, a rank that wakes up takes the core at once from one whose slice
 * is longer.  Older kernels ignore it. Returns 0 or -errno. */
int pse_channel_wake_soon(void);

/* Let sleeps end when they should, not up to 50 us later. Returns 0 or -errno. */
int pse_channel_sleep_exactly(void);

#ifdef __cplusplus
}
#endif
#endif
