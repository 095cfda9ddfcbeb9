/** Types and constants of ARMCI. Included by armci.h. */
#ifndef ARMCI_TYPES_H
#define ARMCI_TYPES_H

#include <mpix_rma/no_cxx_bindings.h>

#include <mpi.h>


#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

#define ARMCI_MPI 3

/** Element types of accumulate: target += scale * source. */
enum ARMCI_Acc_e {
    ARMCI_ACC_INT, /**< int */
    ARMCI_ACC_LNG, /**< long */
    ARMCI_ACC_FLT, /**< float */
    ARMCI_ACC_DBL, /**< double */
    ARMCI_ACC_CPL, /**< float complex */
    ARMCI_ACC_DCP, /**< double complex */
    ARMCI_ACC_DCPL = ARMCI_ACC_DCP /**< the name in the text of ARMCI 1.1 */
};

typedef long armci_size_t;
#define ARMCII_MPI_SIZE_T MPI_LONG

/** A set of equally long segments: segment i is copied from src_ptr_array[i] to dst_ptr_array[i]. A
 *  member's second name is that of the text of ARMCI 1.1. */
typedef struct {
    union {
        void **src_ptr_array;
        void *src_ptr_ar;
    };
    union {
        void **dst_ptr_array;
        void *dst_ptr_ar;
    };
    int bytes; /**< length of each segment */
    union {
        int ptr_array_len; /**< number of segments */
        int ptr_ar_len;
    };
} armci_giov_t;

/** Refers to one or several non-blocking operations. Opaque. The layout is that of ARMCI-MPI; the library
 *  reads and writes `target` alone, so that an int serves as well. */
typedef struct armci_hdl_s {
    int target;
    int aggregate;
} armci_hdl_t;

/** A group of processes. Opaque; comm may be used for MPI calls. */
typedef struct {
    MPI_Comm comm;
    MPI_Comm noncoll_pgroup_comm;
    int *grp_to_abs;
    int *abs_to_grp;
    int rank;
    int size;
} ARMCI_Group;

/** Operations of ARMCI_Rmw; `ploc` receives the previous value of `*prem`. */
enum ARMCI_Rmw_e {
    ARMCI_FETCH_AND_ADD,      /**< int:  *prem += value */
    ARMCI_FETCH_AND_ADD_LONG, /**< long: *prem += value */
    ARMCI_SWAP,               /**< int:  *prem and *ploc change places */
    ARMCI_SWAP_LONG           /**< long: likewise */
};

/** Kinds of domains: sets of processes on one node, see armci_domain_id(3). */
enum armci_domain_e {
    ARMCI_DOMAIN_SMP
};
typedef int armci_domain_t;

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
