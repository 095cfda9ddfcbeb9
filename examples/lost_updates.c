/*
 * 4. Lost updates. All ranks accumulate into one array of rank 0.
 *
 * Without ATOMICITY it breaks because an accumulate is a read, an addition and a write: two ranks that read
 * the same value write the same sum, and one addition is lost. To see it break: mpirun -np 4 ./lost_updates
 * --without. On few cores it may print 0 wrong by chance: run it again.
 */
#include "course.h"

enum {
    count = 64,
    rounds = 20000
};

int main(int argc, char **argv)
{
    course_begin(argc, argv);
    void **bases = course_allocate(count * sizeof(long));
    long ones[count];
    for (int i = 0; i < count; ++i) {
        ones[i] = 1;
    }
    const MPIX_RMA_Attributes atomicity = {.set = without ? 0 : MPIX_RMA_ATTR_ATOMICITY};
    for (int round = 0; round < rounds; ++round) {
        MPIX_RMA_xfer(MPIX_RMA_ACCUMULATE, ones, count, MPI_LONG, 0, bases[0], count, MPI_LONG, NULL, &world,
                      &atomicity);
    }
    MPIX_RMA_Complete(&world, 0);
    MPI_Barrier(world);
    long wrong = 0;
    for (int i = 0; rank == 0 && i < count; ++i) {
        wrong += ((long *) bases[0])[i] != (long) rounds * size;
    }
    course_free(bases);
    return course_end("lost_updates", wrong);
}
