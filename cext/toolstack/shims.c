/* Large counts: the archive's half of the shims.  What follows from mpi.h is generated
 * (pse/toolstack/_shims.py).
 *
 * A layer gets a shim for X_c where its tool defines X alone.  Arrays that were converted for a call which
 * MPI goes on with after the return are kept until the request is complete; the layer's completion routines
 * are watched for that. The list of kept arrays has a lock of its own, under which nothing is called.
 */
#include "wrap.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

__thread const struct pse_shim *pse_shim_layer;

/* Thunks jump here: tell the shim its layer, and go there with all arguments in place. */
__asm__(".text\n"
        ".hidden pse_shim_enter\n"
        ".globl pse_shim_enter\n"
        ".type pse_shim_enter, %function\n"
        "pse_shim_enter:\n"
#if defined(__x86_64__)
        "movq pse_shim_layer@gottpoff(%rip), %r11\n"
        "movq 8(%r10), %r10\n"
        "movq %r10, %fs:(%r11)\n"
        "jmpq *(%r10)\n"
#elif defined(__aarch64__)
        "ldr x16, [x17, #8]\n"
        "mrs x9, tpidr_el0\n"
        "adrp x10, :gottprel:pse_shim_layer\n"
        "ldr x10, [x10, #:gottprel_lo12:pse_shim_layer]\n"
        "str x16, [x9, x10]\n"
        "ldr x17, [x16]\n"
        "br x17\n"
#endif
        ".size pse_shim_enter, . - pse_shim_enter\n");
extern void pse_shim_enter(void) PSE_HIDDEN;

/* Arrays ------------------------------------------------------------------------------------------------- */

struct pse_copy {
    struct pse_copy *next;
    uintptr_t request; /* whose completion it is kept for */
    int values[];
};

static struct pse_copy *kept;
static atomic_int kept_count;
static pthread_mutex_t kept_lock = PTHREAD_MUTEX_INITIALIZER;

const int *pse_ints(struct pse_narrow *narrow, const void *values, int64_t count)
{
    const char *source = values;
    if (!values || count <= 0 || narrow->refused)
        return values;
    struct pse_copy *copy = malloc(sizeof *copy + (size_t)count * sizeof copy->values[0]);
    if (!copy) {
        narrow->refused = true;
        return NULL;
    }
    copy->next = narrow->copies;
    narrow->copies = copy;
    for (int64_t i = 0; i < count; i++) {
        int64_t value;
        memcpy(&value, source + i * (int64_t)sizeof value, sizeof value);
        copy->values[i] = pse_int(narrow, value);
    }
    return copy->values;
}

static void free_copies(struct pse_copy *copies)
{
    while (copies) {
        struct pse_copy *next = copies->next;
        free(copies);
        copies = next;
    }
}

void pse_narrow_end(struct pse_narrow *narrow)
{
    free_copies(narrow->copies);
}

void pse_narrow_keep(struct pse_narrow *narrow, uintptr_t key)
{
    pthread_mutex_lock(&kept_lock);
    while (narrow->copies) {
        struct pse_copy *copy = narrow->copies;
        narrow->copies = copy->next;
        copy->request = key;
        copy->next = kept;
        kept = copy;
        atomic_fetch_add(&kept_count, 1);
    }
    pthread_mutex_unlock(&kept_lock);
}

int pse_narrow_kept(void)
{
    return atomic_load_explicit(&kept_count, memory_order_relaxed);
}

/* If a tool has completed a request out of our sight, its handle may be another's by now.  Then arrays of
 * both are kept under it, and all can go when the other one is complete. */
void pse_narrow_release(uintptr_t key)
{
    struct pse_copy *released = NULL;
    pthread_mutex_lock(&kept_lock);
    for (struct pse_copy **at = &kept; *at;) {
        struct pse_copy *copy = *at;
        if (copy->request == key) {
            *at = copy->next;
            copy->next = released;
            released = copy;
            atomic_fetch_sub(&kept_count, 1);
        } else {
            at = &copy->next;
        }
    }
    pthread_mutex_unlock(&kept_lock);
    free_copies(released);
}

/* The MPI library ---------------------------------------------------------------------------------------- */

pse_function pse_library(const char *routine)
{
    const int number = pse_find(routine);
    return number < 0 ? NULL : pse_library_routine(number);
}

/* A program that isn't position-independent has copies of the library's variables, which then are the ones.
 */
void *pse_library_symbol(const char *name)
{
    Dl_info info;
    void *symbol = dlsym(RTLD_DEFAULT, name), *library;
    if (symbol || !dladdr((void *)pse_library("MPI_Finalize"), &info))
        return symbol;
    library = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    symbol = library ? dlsym(library, name) : NULL;
    if (library)
        dlclose(library);
    return symbol;
}

/* Layers ------------------------------------------------------------------------------------------------- */

static int compare_names(const void *name, const void *signature)
{
    return strcmp(name, ((const struct pse_signature *)signature)->name);
}

const struct pse_signature *pse_signature_of(const char *name)
{
    if (!pse_signatures)
        return NULL;
    return bsearch(name, pse_signatures, (size_t)pse_signature_count, sizeof *pse_signatures, compare_names);
}

static bool put_shim(pse_function *place, pse_function function, pse_function upper, pse_function below)
{
    struct pse_shim *shim = malloc(sizeof *shim);
    if (!shim)
        return false;
    *shim = (struct pse_shim){function, upper, below};
    pse_function thunk = pse_make_thunk(pse_shim_enter, shim);
    if (thunk)
        *place = thunk;
    else
        free(shim);
    return thunk != NULL;
}

struct pair { /* routine numbers of X and X_c */
    const struct pse_signature *signature;
    int small, large;
};

/* X_c's number in `*pair` and X's; false if there is no shim between them. */
static bool find_pair(struct pair *pair, const struct pse_signature *large)
{
    char name[80];
    const size_t length = strlen(large->name) - 2;
    if (!large->shim || length >= sizeof name)
        return false;
    memcpy(name, large->name, length);
    name[length] = 0;
    *pair = (struct pair){large, pse_find(name), pse_find(large->name)};
    return pair->small >= 0 && pair->large >= 0;
}

/* All pairs, looked up once; the stack is bound under a lock. */
static const struct pair *all_pairs(int *count)
{
    static struct pair *pairs;
    static int found;
    if (!pairs && pse_signatures && (pairs = malloc((size_t)pse_signature_count * sizeof *pairs)))
        for (int i = 0; i < pse_signature_count; i++)
            found += find_pair(&pairs[found], &pse_signatures[i]);
    *count = found;
    return pairs;
}

bool pse_watch_completions(pse_function *entry)
{
    bool all = true;
    for (const struct pse_completion *each = pse_completions; each->name; each++) {
        int routine = pse_find(each->name);
        if (routine >= 0)
            all &= put_shim(&entry[routine], each->function, NULL, entry[routine]);
    }
    return all;
}

bool pse_add_shims(pse_function *entry, const pse_function *below, bool *lasting)
{
    int count;
    bool all = true;
    const struct pair *pairs = all_pairs(&count);
    for (const struct pair *pair = pairs; pair < pairs + count; pair++) {
        if (entry[pair->small] == below[pair->small] || entry[pair->large] != below[pair->large])
            continue;
        all &= put_shim(&entry[pair->large], pair->signature->shim, entry[pair->small], below[pair->large]);
        *lasting |= pair->signature->lasting;
    }
    return all;
}
