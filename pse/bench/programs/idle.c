/* Modules for waiting: one computes for a while, the others wait for what it makes. */
#include "stamps.h"

#include <fcntl.h>
#include <unistd.h>

const char *coven_error(int code)
{
    (void)code;
    return "the file that says that computing has begun can't be made";
}

//@ coven module compute(in string begun, in f64 seconds, out f64 x)
int compute(const char *begun, double seconds, double *x)
{
    int64_t until = stamp() + (int64_t)(seconds * 1e9);
    int file = open(begun, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    if (file < 0)
        return 1;
    close(file);
    compute_until(until);
    *x = seconds;
    return 0;
}

//@ coven module use(in f64 x)
int use(double x)
{
    (void)x;
    return 0;
}
