/* Windows of one-sided communication: that they are freed, and their locks given back.
 *
 * May touch: nothing.
 */
#ifndef PSE_CHECK_WINDOWS_H
#define PSE_CHECK_WINDOWS_H

#include "check_operations.h"

struct window {
    struct handle_node node;
    int locks; /* held */
    char routine[40], where[SITE_TEXT];
};

static struct handles windows;

static void window_made(MPI_Win handle, const char *routine)
{
    struct window *made = calloc(1, sizeof *made);
    snprintf(made->routine, sizeof made->routine, "%s", routine);
    site_pack(made->where);
    handles_add(&windows, PSE_HANDLE(handle), made);
}

static void window_locked(MPI_Win handle, int change)
{
    struct window *window = handles_find(&windows, PSE_HANDLE(handle));
    if (window)
        window->locks += change;
}

static void window_gone(MPI_Win handle)
{
    free(handles_take(&windows, PSE_HANDLE(handle)));
}

#endif
