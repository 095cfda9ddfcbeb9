/**
 * ARMCI's message-passing helpers: what Global Arrays needs besides one-sided operations.
 *
 * n is in elements, len in bytes. op is one of "+", "*", "max", "min", "absmax", "absmin", and for
 * integers "&&" or "land", "||" or "lor" (logical: 0 or 1), "&" or "band", "|" or "bor" or "or" (of bits);
 * what follows the name, as the blanks of a Fortran string, does not count. "absmax" and "absmin" give
 * magnitudes. The result replaces x at every process. Wrong arguments end the program through ARMCI_Error.
 * A scope is all processes, the processes of the caller's domain, or the first process of each domain; a
 * domain is one process (see armci_domain_e).
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

int armci_msg_me(void);
int armci_msg_nproc(void);
void armci_msg_abort(int code);
double armci_timer(void);

void armci_msg_snd(int tag, void *buffer, int len, int to);
void armci_msg_rcv(int tag, void *buffer, int buflen, int *msglen, int from);
/** Returns the sender. */
int armci_msg_rcvany(int tag, void *buffer, int buflen, int *msglen);

void armci_msg_barrier(void);
void armci_msg_group_barrier(ARMCI_Group *group);
/** Neighbours in a binary tree of the scope's processes; -1 where there is none. */
void armci_msg_bintree(int scope, int *Root, int *Up, int *Left, int *Right);

void armci_msg_bcast(void *buffer, int len, int root);
void armci_msg_bcast_scope(int scope, void *buffer, int len, int root);
void armci_msg_brdcst(void *buffer, int len, int root);
/** root is an id in the world group. */
void armci_msg_group_bcast_scope(int scope, void *buf, int len, int root, ARMCI_Group *group);

/** x is n bytes that begin with a value of `type`; everybody receives the x of the contributing process
 *  whose value is the "min" or the "max". */
void armci_msg_sel(void *x, int n, char *op, int type, int contribute);
void armci_msg_sel_scope(int scope, void *x, int n, char *op, int type, int contribute);

void armci_msg_gop_scope(int scope, void *x, int n, char *op, int type);
/** As the global operations; only process 0 may rely on the result. */
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
