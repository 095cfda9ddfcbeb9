// A halo exchange in C++20: a strided layout for the columns of a matrix, and notification in the place of a
// barrier.
//
// Each rank has a block of columns of a periodic grid, with one more column on either side for the
// neighbours' values. It averages each element with its neighbours to the left and right; the sum of all
// elements does not change.
//
// Run: mpirun -np 4 ./cpp_halo_exchange
#include <mpix_rma.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>

constexpr std::ptrdiff_t rows = 40;
constexpr std::ptrdiff_t columns = 30; // of a rank, without the halo
constexpr std::ptrdiff_t width = columns + 2;
constexpr int steps = 100;
enum Counter {
    from_left,
    from_right,
    counters
};

struct Block {
    MPI_Comm comm;
    mpix::allocation<double> grids[2]; // by parity of the step
    mpix::strided_layout<double> column{rows, 1, width};
    int left;
    int right;

    // Puts the outermost columns into the halos of the neighbours, and waits until they have done the same.
    void exchange(int step)
    {
        mpix::allocation<double> &grid = grids[step % 2];
        mpix::put(comm, column(grid.data() + 1), column(grid.at(left) + (width - 1)), {.notify = from_right});
        mpix::put(comm, column(grid.data() + columns), column(grid.at(right)), {.notify = from_left});
        mpix::wait_notify_value(comm, from_left, step + 1).wait();
        mpix::wait_notify_value(comm, from_right, step + 1).wait();
        mpix::complete_local(comm); // the next step changes these columns
    }
    // Computes the other grid from the one whose halos have been exchanged.
    void average(int step)
    {
        double const *const old = grids[step % 2].data();
        double *const young = grids[(step + 1) % 2].data();
        for (std::ptrdiff_t i = 0; i < rows * width; ++i) {
            bool const halo = i % width == 0 || i % width == width - 1;
            if (!halo)
                young[i] = 0.5 * old[i] + 0.25 * (old[i - 1] + old[i + 1]);
        }
    }
    double sum() const
    {
        double total = 0;
        for (std::ptrdiff_t row = 0; row < rows; ++row) {
            double const *const first = grids[steps % 2].data() + row * width + 1;
            total = std::accumulate(first, first + columns, total);
        }
        return total;
    }
};

bool run(MPI_Comm comm)
{
    int rank = 0;
    int size = 0;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    mpix::set_num_notify(comm, counters);
    auto const allocate = [comm] { return mpix::allocate<double>(comm, rows * width); };
    Block block{.comm = comm,
                .grids = {allocate(), allocate()},
                .left = (rank + size - 1) % size,
                .right = (rank + 1) % size};
    std::ranges::fill(block.grids[0], rank);
    std::ranges::fill(block.grids[1], 0.0);
    MPI_Barrier(comm);
    for (int step = 0; step < steps; ++step) {
        block.exchange(step);
        block.average(step);
    }
    mpix::complete(comm);
    double total = block.sum();
    MPI_Allreduce(MPI_IN_PLACE, &total, 1, MPI_DOUBLE, MPI_SUM, comm);
    double const expected = static_cast<double>(rows * columns) * size * (size - 1) / 2;
    if (rank == 0)
        std::printf("sum %.6f, expected %.6f\n", total, expected);
    return std::abs(total - expected) <= 1e-9 * (expected + 1);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    bool const right = run(MPI_COMM_WORLD);
    MPI_Finalize();
    return right ? 0 : 1;
}
