/* Regions and functions that are entered and left in all ways that C++ has. */
#include <csetjmp>
#include <mpi.h>
#include <pse_regions.h>
#include <stdexcept>

static jmp_buf back;

namespace grid
{
struct Solver {
    void exchange(int depth)
    {
        MPI_Barrier(MPI_COMM_WORLD);
        if (depth)
            exchange(depth - 1);
    }
    void fail()
    {
        PSE_REGION("failing");
        MPI_Barrier(MPI_COMM_WORLD);
        throw std::runtime_error("as intended");
    }
};
} // namespace grid

__attribute__((noinline)) static void jump()
{
    longjmp(back, 1);
}
static void finish()
{
    MPI_Finalize();
}

int main(int argc, char **argv)
{
    PSE_REGION_BEGIN("setup");
    MPI_Init(&argc, &argv);
    PSE_REGION_END("setup");
    grid::Solver solver;
    for (int i = 0; i < 2; i++) {
        PSE_REGION("iteration");
        solver.exchange(1);
    }
    try {
        solver.fail();
    } catch (const std::runtime_error &) {
    }
    if (!setjmp(back)) {
        for (int i = 0; i < 2; i++)
            PSE_REGION_BEGIN("never ended");
        jump();
    }
    PSE_REGION_END("never begun");
    MPI_Barrier(MPI_COMM_WORLD);
    finish();
}
