// A distributed work queue in C++20.
//
// Rank 0 holds a counter of items handed out, and an array for the results; every process draws items with
// fetch_add and puts each result into the array. There is no server: rank 0 works like the others. The memory
// is an object on the heap of rank 0: its address is all that the others need.
//
// Run: mpirun -np 4 ./cpp_work_queue
#include <mpix_rma.hpp>

#include <algorithm>
#include <cstdio>
#include <memory>

constexpr long items = 3000;

struct Queue {
    long next = 0; // items handed out so far
    long results[items]{};
    long done[items]{}; // how often each was done: must be once
};

long solve(long item)
{
    return item * item + 7;
}

// Works until no item is left; returns the number of items that this process has done.
long work(MPI_Comm comm, mpix::remote_ptr<Queue> queue)
{
    mpix::remote_ptr<long> const next = queue.member(&Queue::next);
    mpix::remote_ptr<long> const results = queue.member(&Queue::results).elements();
    mpix::remote_ptr<long> const done = queue.member(&Queue::done).elements();
    long mine = 0;
    for (long item; (item = mpix::fetch_add(comm, next, 1)) < items; ++mine) {
        mpix::put_value(comm, solve(item), results + item);
        mpix::rmw<mpix::rmw_op::inc>(comm, mpix::none, mpix::none, done + item);
    }
    mpix::complete(comm, 0);
    return mine;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm const world = MPI_COMM_WORLD;
    int rank = 0;
    MPI_Comm_rank(world, &rank);
    auto const queue = rank == 0 ? std::make_unique<Queue>() : nullptr;
    long const mine = work(world, mpix::gather_addresses(world, queue.get())[0]);
    long total = 0;
    MPI_Reduce(&mine, &total, 1, MPI_LONG, MPI_SUM, 0, world);
    bool right = true;
    if (rank == 0) {
        right = total == items && std::ranges::all_of(queue->done, [](long times) { return times == 1; });
        for (long item = 0; item < items; ++item)
            right = right && queue->results[item] == solve(item);
        std::printf("%ld items: %s\n", total, right ? "result correct" : "RESULT WRONG");
    }
    MPI_Finalize();
    return right ? 0 : 1;
}
