/*
 * ARMCI's calls, each in a function of a few lines: the examples of the manual pages. `field` is what
 * ARMCI_Malloc returns: memory of every rank.
 */
#include <armci.h>
#include <armcix.h>
#include <message.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    rows = 4,
    columns = 8,
    count = rows * columns
};
static double **field;
static int me, size, next, previous;
static long wrong;

/* Completes the operations of all ranks, and clears the field. */
static void next_example(void)
{
    ARMCI_Barrier();
    memset(field[me], 0, count * sizeof(double));
    ARMCI_Barrier();
}

/* Contiguous transfers, and an accumulate with a scale. */
static void transfer(void)
{
    double value = 2, scale = 3, got = 0;
    ARMCI_Put(&value, field[next], sizeof(double), next);
    ARMCI_Acc(ARMCI_ACC_DBL, &scale, &value, field[next], sizeof(double), next);
    ARMCI_Fence(next);
    ARMCI_Get(field[next], &got, sizeof(double), next);
    wrong += got != 8;
}

/* A block of 3 rows of 2 doubles inside a matrix. */
static void transfer_block(void)
{
    double block[3][2] = {{1, 2}, {3, 4}, {5, 6}}, got[3][2];
    int here[1] = {2 * sizeof(double)}, there[1] = {columns * sizeof(double)};
    int shape[2] = {2 * sizeof(double), 3}; /* bytes, then rows */
    ARMCI_PutS(block, here, &field[next][1], there, shape, 1, next);
    ARMCI_Fence(next);
    ARMCI_GetS(&field[next][1], there, got, here, shape, 1, next);
    wrong += memcmp(block, got, sizeof(block)) != 0;
}

/* The same rows as a vector of segments. */
static void transfer_vector(void)
{
    double block[3][2] = {{1, 2}, {3, 4}, {5, 6}};
    void *from[3], *to[3];
    for (int i = 0; i < 3; ++i) {
        from[i] = block[i];
        to[i] = &field[next][i * columns];
    }
    armci_giov_t vector = {
        .src_ptr_array = from, .dst_ptr_array = to, .bytes = 2 * sizeof(double), .ptr_array_len = 3};
    ARMCI_PutV(&vector, 1, next);
    ARMCI_Barrier();
    wrong += field[me][0] != 1 || field[me][2 * columns + 1] != 6;
}

/* Two transfers that overlap computation. */
static void overlap(void)
{
    double values[2] = {7, 8};
    armci_hdl_t handles[2];
    for (int i = 0; i < 2; ++i) {
        ARMCI_INIT_HANDLE(&handles[i]);
        ARMCI_NbPut(&values[i], &field[next][i], sizeof(double), next, &handles[i]);
    }
    /* computation */
    ARMCI_Wait(&handles[0]);
    ARMCI_Wait(&handles[1]);
    ARMCI_Barrier();
    wrong += field[me][0] != 7 || field[me][1] != 8;
}

/* One value without a buffer; data with a flag behind it, for which the target waits. */
static void put_values(void)
{
    int *mine = (int *) field[me], *there = (int *) field[next];
    int data[4] = {1, 2, 3, 4};
    ARMCI_PutValueInt(9, &there[8], next);
    ARMCI_Put_flag(data, there, sizeof(data), &there[9], 1, next);
    while (ARMCI_GetValueInt(&mine[9], me) != 1) {
        ARMCIX_Progress();
    }
    wrong += mine[0] != 1 || mine[3] != 4;
    ARMCI_Barrier();
    wrong += mine[8] != 9;
}

/* A counter that hands out tasks. */
static void count_tasks(void)
{
    int task;
    ARMCI_Rmw(ARMCI_FETCH_AND_ADD, &task, field[0], 1, 0);
    wrong += task < 0 || task >= size;
}

/* A mutex at rank 0, for a value that only one rank at a time may change. */
static void exclude(void)
{
    int value;
    ARMCI_Create_mutexes(1);
    ARMCI_Lock(0, 0);
    ARMCI_Get(field[0], &value, sizeof(value), 0);
    value += 1;
    ARMCI_Put(&value, field[0], sizeof(value), 0);
    ARMCI_Fence(0);
    ARMCI_Unlock(0, 0);
    ARMCI_Barrier();
    ARMCI_Get(field[0], &value, sizeof(value), 0);
    wrong += value != size;
    ARMCI_Destroy_mutexes();
}

/* Mutexes of a group, by a handle. */
static void exclude_in_group(void)
{
    ARMCI_Group world;
    ARMCI_Group_get_world(&world);
    armcix_mutex_hdl_t mutexes = ARMCIX_Create_mutexes_hdl(1, &world);
    ARMCIX_Lock_hdl(mutexes, 0, 0);
    ARMCIX_Unlock_hdl(mutexes, 0, 0);
    ARMCIX_Destroy_mutexes_hdl(mutexes);
}

/* Groups: by a list of ranks, and by colours. */
static void make_groups(void)
{
    ARMCI_Group world, alone, halves;
    int rank, pid[1] = {me};
    ARMCI_Group_get_world(&world);
    ARMCI_Group_create_child(1, pid, &alone, &world);
    ARMCI_Group_rank(&alone, &rank);
    wrong += rank != 0 || ARMCI_Absolute_id(&alone, 0) != me;
    ARMCI_Group_free(&alone);

    ARMCIX_Group_split(&world, me % 2, me, &halves);
    ARMCI_Group_rank(&halves, &rank);
    wrong += rank != me / 2;
    ARMCI_Group_set_default(&halves);
    ARMCI_Group_set_default(&world);
    ARMCI_Group_free(&halves);
}

/* Memory of this process alone, for buffers; loads and stores to this process's part of the field between
 * transfers of other processes. */
static void use_own_memory(void)
{
    double *buffer = ARMCI_Malloc_local(count * sizeof(double));
    ARMCI_Access_begin(field[me]);
    field[me][0] = me;
    ARMCI_Access_end(field[me]);
    ARMCI_Barrier();
    ARMCI_Get(field[next], buffer, count * sizeof(double), next);
    wrong += buffer[0] != next;
    ARMCI_Copy(buffer, &buffer[1], sizeof(double));
    wrong += buffer[1] != next;
    ARMCI_Free_local(buffer);
}

/* Declares that in a phase of the program no process accesses memory to which another one accumulates. */
static void set_mode(void)
{
    ARMCI_Group world;
    ARMCI_Group_get_world(&world);
    ARMCIX_Mode_set(ARMCIX_MODE_CONFLICT_FREE, field[me], &world);
    wrong += ARMCIX_Mode_get(field[me]) != ARMCIX_MODE_CONFLICT_FREE;
    ARMCIX_Mode_set(ARMCIX_MODE_ALL, field[me], &world);
}

/* The processes of the caller's domain. */
static void ask_domains(void)
{
    const int mine = armci_domain_my_id(ARMCI_DOMAIN_SMP);
    int members = 0;
    for (int rank = 0; rank < size; ++rank) {
        members += armci_domain_same_id(ARMCI_DOMAIN_SMP, rank) != 0;
    }
    wrong += armci_domain_nprocs(ARMCI_DOMAIN_SMP, mine) != members;
    wrong += ARMCI_Uses_shm() && members == 0;
}

/* A block of a matrix as contiguous bytes, on this process alone. */
static void pack_block(void)
{
    double packed[3 * 2];
    int stride[1] = {columns * sizeof(double)}, shape[2] = {2 * sizeof(double), 3};
    field[me][1] = 3;
    armci_write_strided(&field[me][1], 1, stride, shape, (char *) packed);
    armci_read_strided(&field[me][3], 1, stride, shape, (char *) packed);
    wrong += field[me][3] != 3;
}

/* The messages that ARMCI programs use between their transfers. A send may wait for its receive: process 0
   receives first. */
static void exchange_messages(void)
{
    int value = armci_msg_me(), received = me, length = sizeof(received), root, up, left, right;
    if (me != 0) {
        armci_msg_snd(1, &value, sizeof(value), next);
    }
    if (size > 1) {
        armci_msg_rcv(1, &received, sizeof(received), &length, previous);
    }
    if (me == 0 && size > 1) {
        armci_msg_snd(1, &value, sizeof(value), next);
    }
    wrong += received != previous || length != sizeof(received);
    armci_msg_bcast(&value, sizeof(value), 0);
    wrong += value != 0;
    double sum = 1;
    armci_msg_gop_scope(SCOPE_ALL, &sum, 1, "+", ARMCI_DOUBLE);
    wrong += sum != size;
    double largest = me;
    armci_msg_sel(&largest, sizeof(largest), "max", ARMCI_DOUBLE, 1);
    wrong += largest != size - 1;
    armci_msg_bintree(SCOPE_ALL, &root, &up, &left, &right);
    wrong += root != 0;
    armci_msg_barrier();
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    ARMCI_Init();
    me = armci_msg_me();
    size = armci_msg_nproc();
    next = (me + 1) % size;
    previous = (me + size - 1) % size;
    field = malloc(sizeof(*field) * (size_t) size);
    if (ARMCI_Malloc((void **) field, count * sizeof(double)) != 0) {
        ARMCI_Error("no memory", 1);
    }
    void (*const all[])(void) = {transfer,    transfer_block,   transfer_vector, overlap,
                                 put_values,  count_tasks,      exclude,         exclude_in_group,
                                 make_groups, use_own_memory,   set_mode,        ask_domains,
                                 pack_block,  exchange_messages};
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); ++i) {
        next_example();
        all[i]();
    }
    armci_msg_lgop(&wrong, 1, "+");
    if (me == 0) {
        printf("armci: %ld wrong\n", wrong);
    }
    ARMCI_Free(field[me]);
    free(field);
    ARMCI_Finalize();
    MPI_Finalize();
    return wrong == 0 ? 0 : 1;
}
