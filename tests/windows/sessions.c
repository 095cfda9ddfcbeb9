/* Windows of programs that use sessions of MPI only: several threads use a window with MPI_THREAD_MULTIPLE, and
 * another session begins after the first has ended. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    rounds = 500
};

struct part {
    MPI_Win window;
    int first; /* of the targets */
    int ranks;
    int rank;
    int failures;
};

static void require(int holds, const char *text)
{
    if (!holds) {
        fprintf(stderr, "not so: %s\n", text);
        exit(1);
    }
}

static void *put_and_flush(void *argument)
{
    struct part *part = argument;
    for (int round = 1; round <= rounds; ++round) {
        for (int target = part->first; target < part->ranks; target += 2) {
            const long value = round;
            part->failures += MPI_SUCCESS != MPI_Put(&value, 1, MPI_LONG, target, part->rank, 1, MPI_LONG,
                                                     part->window);
            part->failures += MPI_SUCCESS != MPI_Win_flush(target, part->window);
        }
    }
    return NULL;
}

static void use_window_by_threads(MPI_Win window, int rank, int ranks)
{
    struct part parts[2];
    pthread_t threads[2];
    MPI_Win_lock_all(0, window);
    for (int i = 0; i < 2; ++i) {
        parts[i] = (struct part){window, i, ranks, rank, 0};
        pthread_create(&threads[i], NULL, put_and_flush, &parts[i]);
    }
    for (int i = 0; i < 2; ++i) {
        pthread_join(threads[i], NULL);
        require(0 == parts[i].failures, "the puts of a thread succeed");
    }
    MPI_Win_unlock_all(window);
}

/* Every second element of the target's memory. */
static void put_strided(MPI_Win window, const long *memory, int rank, int ranks)
{
    MPI_Datatype type;
    long values[4] = {rank, rank + 1, rank + 2, rank + 3};
    MPI_Type_vector(4, 1, 2, MPI_LONG, &type);
    MPI_Type_commit(&type);
    MPI_Win_fence(0, window);
    MPI_Put(values, 4, MPI_LONG, (rank + 1) % ranks, 0, 1, type, window);
    MPI_Win_fence(0, window);
    MPI_Type_free(&type);
    const int previous = (rank + ranks - 1) % ranks;
    for (int i = 0; i < 4; ++i) {
        require(previous + i == memory[2 * i], "the elements of the derived type arrive");
    }
}

static void use_session(int cycle)
{
    MPI_Session session;
    MPI_Info info;
    MPI_Group group;
    MPI_Comm comm;
    int rank, ranks, key, found;
    long *memory, *value;
    MPI_Win window;
    MPI_Info_create(&info);
    MPI_Info_set(info, "thread_level", "MPI_THREAD_MULTIPLE");
    MPI_Session_init(info, MPI_ERRORS_ARE_FATAL, &session);
    MPI_Info_free(&info);
    MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
    MPI_Comm_create_from_group(group, "sessions", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
    MPI_Group_free(&group);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);

    /* The program's keys may have the numbers of keys that the component had in the earlier session. */
    long own = 100 + rank;
    for (int i = 0; i < 4; ++i) {
        MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &key, NULL);
        MPI_Comm_set_attr(comm, key, &own);
    }
    MPI_Win_allocate((ranks + 8) * (MPI_Aint) sizeof(long), sizeof(long), MPI_INFO_NULL, comm, &memory, &window);
    put_strided(window, memory, rank, ranks);
    MPI_Barrier(comm);
    use_window_by_threads(window, rank, ranks);
    MPI_Barrier(comm);
    MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, window);
    for (int origin = 0; origin < ranks; ++origin) {
        require(rounds == memory[origin], "the last put of every origin arrives");
    }
    MPI_Win_unlock(rank, window);
    MPI_Win_free(&window);
    MPI_Comm_get_attr(comm, key, &value, &found);
    require(found && value == &own, "the attribute of the program is unchanged");
    MPI_Comm_free(&comm);
    MPI_Session_finalize(&session);
    if (0 == rank) {
        printf("session %d has ended\n", cycle);
        fflush(stdout);
    }
}

int main(void)
{
    use_session(1);
    use_session(2);
    return 0;
}
