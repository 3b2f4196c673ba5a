// A histogram in C++: the standard library is at hand, and an exception becomes the module's error.
//
// `bins` is a parameter and a size at once, so it is passed only once.  A scalar that is only read comes by
// value.

#include <algorithm>
#include <cstdint>
#include <stdexcept>

//@ coven module histogram(in f64 x[n], in f64 lower, in f64 upper, in i64 bins,
//@                        out i64 counts[bins], out i64 outside)
int histogram(const double *x, double lower, double upper, int64_t bins, int64_t *counts, int64_t *outside,
              int64_t n)
{
    if (!(lower < upper))
        throw std::invalid_argument("lower must be less than upper");
    std::fill(counts, counts + bins, 0);
    *outside = 0;
    const double scale = static_cast<double>(bins) / (upper - lower);
    for (const double *value = x; value != x + n; ++value) {
        if (!(*value >= lower && *value < upper)) {
            ++*outside;
            continue;
        }
        ++counts[std::min(static_cast<int64_t>((*value - lower) * scale), bins - 1)];
    }
    return 0;
}
