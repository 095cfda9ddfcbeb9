/**
 * ARMCI's message-passing helpers, which Global Arrays needs besides one-sided operations.
 *
 * n is in elements (armci_msg_sel: bytes), len in bytes. op is one of "+", "*", "max", "min", "absmax",
 * "absmin", and for integers "&&" or "land", "||" or "lor" (logical: 0 or 1), "&" or "band", "|" or "bor" or
 * "or" (bitwise); characters after the name, such as the blanks of a Fortran string, are ignored. "absmax"
 * and "absmin" give magnitudes. The result replaces x at every process. Wrong arguments end the program
 * through ARMCI_Error. A scope is all processes, the processes of the caller's domain, or the first process
 * of each domain; by default a domain is one process (see armci_domain_id(3)). A group has the scope
 * SCOPE_ALL only, unless each domain is one process.
 */
#ifndef HAVE_ARMCI_MSG_H
#define HAVE_ARMCI_MSG_H

#include <armci.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

enum armci_scope_e {
    SCOPE_ALL,
    SCOPE_NODE,
    SCOPE_MASTERS
};
enum armci_type_e {
    ARMCI_INT,
    ARMCI_LONG,
    ARMCI_LONG_LONG,
    ARMCI_FLOAT,
    ARMCI_DOUBLE
};

/** The caller's rank, the number of processes and the clock. Local. Before ARMCI_Init and after
 *  ARMCI_Finalize they refer to MPI_COMM_WORLD, and MPI must be initialised. (Not in ARMCI 1.1.)
 * @return the caller's rank, the number of processes, and seconds since some time in the past. */
int armci_msg_me(void);
int armci_msg_nproc(void);
double armci_timer(void);

/** Ends the program as ARMCI_Error, without a line. (Not in ARMCI 1.1.)
 * @param code  exit code; 0 is replaced by 1 */
void armci_msg_abort(int code);

/** Sends and receives a message, as MPI_Send and MPI_Recv on ARMCI's own communicator. Wrong arguments, and a
 *  message that is longer than the buffer, end the program through ARMCI_Error. (Not in ARMCI 1.1.)
 * @param tag     tag by which messages match, not negative
 * @param buffer  first byte of the message or of the receive buffer
 * @param len     bytes to send
 * @param to      receiver, a rank in the communicator of initialisation
 * @param buflen  size of the receive buffer in bytes
 * @param msglen  receives the length of the message in bytes; may be NULL
 * @param from    sender
 * @return armci_msg_rcvany: the sender. */
void armci_msg_snd(int tag, void *buffer, int len, int to);
void armci_msg_rcv(int tag, void *buffer, int buflen, int *msglen, int from);
int armci_msg_rcvany(int tag, void *buffer, int buflen, int *msglen);

/** Barrier of all processes or of a group. Collective. It completes no operations: see ARMCI_Barrier.
 *  (Not in ARMCI 1.1.)
 * @param group  group that the caller belongs to */
void armci_msg_barrier(void);
void armci_msg_group_barrier(ARMCI_Group *group);

/** Neighbours in a binary tree of the scope's processes. Local. (Not in ARMCI 1.1.)
 * @param scope  SCOPE_ALL, SCOPE_NODE or SCOPE_MASTERS
 * @param Root   receives the root
 * @param Up     receives the parent, -1 if there is none
 * @param Left   receives the first child, -1 if there is none
 * @param Right  receives the second child, -1 if there is none */
void armci_msg_bintree(int scope, int *Root, int *Up, int *Left, int *Right);

/** Broadcast. Collective over the scope or the group. Wrong arguments end the program through
 *  ARMCI_Error. (Not in ARMCI 1.1.)
 * @param scope        SCOPE_ALL, SCOPE_NODE or SCOPE_MASTERS; SCOPE_ALL in calls without it
 * @param buffer, buf  first byte
 * @param len          bytes, the same at all processes
 * @param root         process whose bytes are sent, a rank in the communicator of initialisation, also for a
 *  group
 * @param group        group that the caller belongs to */
void armci_msg_bcast(void *buffer, int len, int root);
void armci_msg_bcast_scope(int scope, void *buffer, int len, int root);
void armci_msg_brdcst(void *buffer, int len, int root);
void armci_msg_group_bcast_scope(int scope, void *buf, int len, int root, ARMCI_Group *group);

/** Every process receives the bytes of the contributing process with the minimum or maximum value. Collective
 *  over the scope. Wrong arguments end the program through ARMCI_Error. (Not in ARMCI 1.1.)
 * @param scope       SCOPE_ALL, SCOPE_NODE or SCOPE_MASTERS; SCOPE_ALL in calls without it
 * @param x           bytes that begin with a value of `type`
 * @param n           bytes
 * @param op          "min" or "max"
 * @param type        ARMCI_INT, ARMCI_LONG, ARMCI_LONG_LONG, ARMCI_FLOAT or ARMCI_DOUBLE
 * @param contribute  whether the caller's value counts; if no process contributes, nothing changes */
void armci_msg_sel(void *x, int n, char *op, int type, int contribute);
void armci_msg_sel_scope(int scope, void *x, int n, char *op, int type, int contribute);

/** Reductions, element by element; the result replaces x at every process, but for the reduce calls only
 *  process 0 may use it. Collective over the scope or the group. Wrong arguments end the program through
 *  ARMCI_Error. (Not in ARMCI 1.1.)
 * @param scope  SCOPE_ALL, SCOPE_NODE or SCOPE_MASTERS; SCOPE_ALL in calls without it
 * @param x      first element
 * @param n      elements, the same at all processes
 * @param op     name of the operation, see armci_msg(3)
 * @param type   ARMCI_INT, ARMCI_LONG, ARMCI_LONG_LONG, ARMCI_FLOAT or ARMCI_DOUBLE
 * @param group  group that the caller belongs to */
void armci_msg_gop_scope(int scope, void *x, int n, char *op, int type);
void armci_msg_reduce(void *x, int n, char *op, int type);
void armci_msg_reduce_scope(int scope, void *x, int n, char *op, int type);
void armci_msg_igop(int *x, int n, char *op);
void armci_msg_lgop(long *x, int n, char *op);
void armci_msg_llgop(long long *x, int n, char *op);
void armci_msg_fgop(float *x, int n, char *op);
void armci_msg_dgop(double *x, int n, char *op);
void armci_msg_group_gop_scope(int scope, void *x, int n, char *op, int type, ARMCI_Group *group);
void armci_msg_group_igop(int *x, int n, char *op, ARMCI_Group *group);
void armci_msg_group_lgop(long *x, int n, char *op, ARMCI_Group *group);
void armci_msg_group_llgop(long long *x, int n, char *op, ARMCI_Group *group);
void armci_msg_group_fgop(float *x, int n, char *op, ARMCI_Group *group);
void armci_msg_group_dgop(double *x, int n, char *op, ARMCI_Group *group);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif /* HAVE_ARMCI_MSG_H */
