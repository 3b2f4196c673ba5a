#include "match_ends.h"

uint64_t pse_recorder_match_ends(const pse_recorder_ends *a, const pse_recorder_ends *b, int64_t *left,
                                 int64_t *right)
{
    uint64_t i = 0, j = 0, found = 0;
    while (i < a->count && j < b->count) {
        if (a->way[i] == b->way[j] && a->number[i] == b->number[j]) {
            left[found] = (int64_t)i++;
            right[found++] = (int64_t)j++;
        } else if (a->way[i] < b->way[j] || (a->way[i] == b->way[j] && a->number[i] < b->number[j])) {
            i++;
        } else {
            j++;
        }
    }
    return found;
}
