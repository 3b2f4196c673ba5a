/* Shims in layers, and the arrays that they have converted. */
#include "calls/large_counts.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "calls/thunk.h"
#include "mpi/routine_table.h"
#include "shims.h"

__thread const struct layer_shim *pse_toolstack_shim;

/* Thunks jump here: tell the shim its layer, and go there with all arguments in place. */
__asm__(".text\n"
        ".hidden pse_toolstack_shim_entry\n"
        ".globl pse_toolstack_shim_entry\n"
        ".type pse_toolstack_shim_entry, %function\n"
        "pse_toolstack_shim_entry:\n"
#if defined(__x86_64__)
        "movq pse_toolstack_shim@gottpoff(%rip), %r11\n"
        "movq 8(%r10), %r10\n"
        "movq %r10, %fs:(%r11)\n"
        "jmpq *(%r10)\n"
#elif defined(__aarch64__)
        "ldr x16, [x17, #8]\n"
        "mrs x9, tpidr_el0\n"
        "adrp x10, :gottprel:pse_toolstack_shim\n"
        "ldr x10, [x10, #:gottprel_lo12:pse_toolstack_shim]\n"
        "str x16, [x9, x10]\n"
        "ldr x17, [x16]\n"
        "br x17\n"
#endif
        ".size pse_toolstack_shim_entry, . - pse_toolstack_shim_entry\n");
extern void pse_toolstack_shim_entry(void) __attribute__((visibility("hidden")));

/* Arrays ------------------------------------------------------------------------------------------------- */

struct narrowed_array {
    struct narrowed_array *next;
    uintptr_t request; /* whose completion it is kept for */
    int values[];
};

static struct narrowed_array *kept;
static atomic_int kept_count;
static pthread_mutex_t kept_lock = PTHREAD_MUTEX_INITIALIZER;

const int *pse_toolstack_ints(struct narrowed_call *narrow, const void *values, int64_t count)
{
    const char *source = values;
    if (!values || count <= 0 || narrow->refused)
        return values;
    struct narrowed_array *copy = malloc(sizeof *copy + (size_t)count * sizeof copy->values[0]);
    if (!copy) {
        narrow->refused = true;
        return NULL;
    }
    copy->next = narrow->copies;
    narrow->copies = copy;
    for (int64_t i = 0; i < count; i++) {
        int64_t value;
        memcpy(&value, source + i * (int64_t)sizeof value, sizeof value);
        copy->values[i] = pse_toolstack_int(narrow, value);
    }
    return copy->values;
}

static void free_copies(struct narrowed_array *copies)
{
    while (copies) {
        struct narrowed_array *next = copies->next;
        free(copies);
        copies = next;
    }
}

void pse_toolstack_narrow_end(struct narrowed_call *narrow)
{
    free_copies(narrow->copies);
}

void pse_toolstack_narrow_keep(struct narrowed_call *narrow, uintptr_t key)
{
    pthread_mutex_lock(&kept_lock);
    while (narrow->copies) {
        struct narrowed_array *copy = narrow->copies;
        narrow->copies = copy->next;
        copy->request = key;
        copy->next = kept;
        kept = copy;
        atomic_fetch_add(&kept_count, 1);
    }
    pthread_mutex_unlock(&kept_lock);
}

int pse_toolstack_narrow_kept(void)
{
    return atomic_load_explicit(&kept_count, memory_order_relaxed);
}

/* If a tool has completed a request out of our sight, its handle may be another's by now.  Then arrays of
 * both are kept under it, and all can go when the other one is complete. */
void pse_toolstack_narrow_release(uintptr_t key)
{
    struct narrowed_array *released = NULL;
    pthread_mutex_lock(&kept_lock);
    for (struct narrowed_array **at = &kept; *at;) {
        struct narrowed_array *copy = *at;
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

/* Layers ------------------------------------------------------------------------------------------------- */

static bool put_shim(pse_function *place, pse_function function, pse_function upper, pse_function below)
{
    struct layer_shim *shim = malloc(sizeof *shim);
    if (!shim)
        return false;
    *shim = (struct layer_shim){function, upper, below};
    pse_function thunk = pse_toolstack_make_thunk(pse_toolstack_shim_entry, shim);
    if (thunk)
        *place = thunk;
    else
        free(shim);
    return thunk != NULL;
}

struct shim_pair { /* routine numbers of X and X_c */
    const struct routine_signature *signature;
    int small, large;
};

/* X_c's number in `*pair` and X's; false if there is no shim between them. */
static bool find_pair(struct shim_pair *pair, const struct routine_signature *large)
{
    char name[80];
    const size_t length = strlen(large->name) - 2;
    if (!large->shim || length >= sizeof name)
        return false;
    memcpy(name, large->name, length);
    name[length] = 0;
    *pair = (struct shim_pair){large, pse_toolstack_find(name), pse_toolstack_find(large->name)};
    return pair->small >= 0 && pair->large >= 0;
}

/* All pairs, looked up once; the stack is bound under a lock. */
static const struct shim_pair *all_pairs(int *count)
{
    static struct shim_pair *pairs;
    static int found;
    if (!pairs && pse_toolstack_signatures &&
        (pairs = malloc((size_t)pse_toolstack_signature_count * sizeof *pairs)))
        for (int i = 0; i < pse_toolstack_signature_count; i++)
            found += find_pair(&pairs[found], &pse_toolstack_signatures[i]);
    *count = found;
    return pairs;
}

bool pse_toolstack_watch_completions(pse_function *entry)
{
    bool all = true;
    for (const struct shim_completion *each = pse_toolstack_completions; each->name; each++) {
        int routine = pse_toolstack_find(each->name);
        if (routine >= 0)
            all &= put_shim(&entry[routine], each->function, NULL, entry[routine]);
    }
    return all;
}

bool pse_toolstack_add_shims(pse_function *entry, const pse_function *below, bool *lasting)
{
    int count;
    bool all = true;
    const struct shim_pair *pairs = all_pairs(&count);
    for (const struct shim_pair *pair = pairs; pair < pairs + count; pair++) {
        if (entry[pair->small] == below[pair->small] || entry[pair->large] != below[pair->large])
            continue;
        all &= put_shim(&entry[pair->large], pair->signature->shim, entry[pair->small], below[pair->large]);
        *lasting |= pair->signature->lasting;
    }
    return all;
}
