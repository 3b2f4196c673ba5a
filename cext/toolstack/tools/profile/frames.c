/* Walking the frames of a call, and naming them. */
#define _GNU_SOURCE
#include "frames.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "python_api.h"

/* Python */

/* Name a frame of Python: "file:line function". */
static char *name_python(const struct pse_python_api *python, void *code, int line)
{
    char *file = pse_python_text(python, code, "co_filename", "?"),
         *function = pse_python_text(python, code, "co_qualname", "?"), *name;
    if (asprintf(&name, "%s:%d %s", file, line, function) < 0)
        name = NULL;
    free(file), free(function);
    return name;
}

/* Python's frames from the innermost; none if Python is gone, as it is when mpi4py finalises MPI. */
static void find_python_frames(struct profile_frames *frames, int depth)
{
    const struct pse_python_api *python = pse_python_api();
    if (!python)
        return;
    int state = python->ensure();
    void *frame = python->frame(), *owned = NULL;
    for (; frame && frames->count < depth; frame = pse_python_caller(python, frame, &owned)) {
        int i = frames->count++;
        frames->code[i] = python->code(frame);
        frames->line[i] = python->line(frame);
        frames->key[i] = (uint64_t)(uintptr_t)frames->code[i] ^ ((uint64_t)python->place(frame) << 44);
        python->forget(frames->code[i]); /* the frame holds it, and its function that */
    }
    if (owned)
        python->forget(owned);
    frames->python = frames->count > 0;
    python->release(state);
}

/* What an address belongs to */

enum owner { OF_PROGRAM, OF_MPI4PY, OF_TOOL };

static enum owner look_up_owner(const void *address)
{
    Dl_info info, own;
    if (!dladdr(address, &info) || !info.dli_fname)
        return OF_PROGRAM;
    const char *file = strrchr(info.dli_fname, '/');
    if (strstr(info.dli_fname, "/mpi4py/"))
        return OF_MPI4PY;
    if (dladdr((void *)(uintptr_t)look_up_owner, &own) && file &&
        strncmp(own.dli_fname, info.dli_fname, (size_t)(file - info.dli_fname) + 1) == 0)
        return OF_TOOL;
    return OF_PROGRAM;
}

/* To look one up takes some 0.5 us, so many are known, for all threads. */
static enum owner owner_of(const void *address)
{
    enum { KNOWN = 1024, OWNER_BITS = 2 };
    static uint64_t known[KNOWN]; /* addresses, and below them their owners */
    const uint64_t key = (uint64_t)(uintptr_t)address;
    uint64_t *slot = &known[(key * 0x9e3779b97f4a7c15u >> 32) % KNOWN];
    uint64_t found = __atomic_load_n(slot, __ATOMIC_RELAXED);
    if (found >> OWNER_BITS != key) {
        found = key << OWNER_BITS | look_up_owner(address);
        __atomic_store_n(slot, found, __ATOMIC_RELAXED);
    }
    return (enum owner)(found & ((1 << OWNER_BITS) - 1));
}

/* The callers above this tool and others, from the innermost. */
static void find_native_frames(struct profile_frames *frames, void *caller, int depth)
{
    void *stack[DEPTH + 24];
    int count = 0, from = 0;
    if (depth > 1 || owner_of(caller) == OF_TOOL)
        count = backtrace(stack, DEPTH + 24);
    while (from < count && stack[from] != caller)
        from++;
    while (from < count && owner_of(stack[from]) == OF_TOOL)
        from++;
    if (from == count)
        stack[0] = caller, from = 0, count = 1;
    if (owner_of(stack[from]) == OF_MPI4PY)
        find_python_frames(frames, depth);
    while (!frames->python && from < count && frames->count < depth)
        frames->key[frames->count++] = (uint64_t)(uintptr_t)stack[from++];
}

void pse_profile_find_frames(struct profile_frames *frames, void *caller, int depth)
{
    frames->count = 0, frames->python = false;
    if (owner_of(caller) == OF_MPI4PY)
        find_python_frames(frames, depth);
    if (!frames->count)
        find_native_frames(frames, caller, depth);
}

/* Name an address for another process: "@object offset symbol". */
static char *name_native(uintptr_t address)
{
    Dl_info info;
    struct link_map *map;
    char self[4096] = "?", *name;
    if (!dladdr1((void *)address, &info, (void **)&map, RTLD_DL_LINKMAP))
        return asprintf(&name, "@? %#lx ?", (unsigned long)address) < 0 ? NULL : name;
    const char *object = map->l_name;
    if (!*object) {
        ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
        self[length > 0 ? length : 1] = '\0', object = self;
    }
    int done = asprintf(&name, "@%s %#lx %s", object, (unsigned long)(address - map->l_addr),
                        info.dli_sname ? info.dli_sname : "?");
    return done < 0 ? NULL : name;
}

void pse_profile_name_frames(struct profile_frames *frames)
{
    const struct pse_python_api *python = frames->python ? pse_python_api() : NULL;
    int state = python ? python->ensure() : 0;
    for (int i = 0; i < frames->count; i++) {
        frames->name[i] = python ? name_python(python, frames->code[i], frames->line[i])
                                 : name_native((uintptr_t)frames->key[i]);
        if (python)
            python->keep(frames->code[i]); /* or its address might be another's one day */
    }
    if (python)
        python->release(state);
}
