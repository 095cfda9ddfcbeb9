/** Transfers of ARMCI and the calls that wait for them. Included by armci.h. */
#ifndef ARMCI_TRANSFER_H
#define ARMCI_TRANSFER_H

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/** Puts and gets contiguous memory. ARMCI_Put returns when `src` may be reused, ARMCI_Get when the data has
 *  arrived. The remote side may be memory of ARMCI_Malloc, which is fastest, or any other; the local side may
 *  be any memory. Local calls: the application at `target` does not take part. A contiguous call of 0 bytes
 *  checks only the process. (ARMCI 1.1, operations 4.)
 * @param src     first byte to read, at the caller (Put) or at `target` (Get)
 * @param dst     first byte to write, at `target` (Put) or at the caller (Get); may not overlap src
 * @param size    bytes
 * @param target  process, a rank in the communicator of initialisation
 * @return 0; nonzero for a wrong process, a negative size, a null address, or unmapped memory. A put that the
 *  target rejects later is reported by the call that completes it, such as ARMCI_Fence. */
int ARMCI_Put(void *src, void *dst, int size, int target);
int ARMCI_Get(void *src, void *dst, int size, int target);

/** Adds contiguous memory: dst[i] += scale * src[i]. Each element is updated atomically with respect to other
 *  accumulates and, for integers at aligned addresses, to ARMCI_Rmw; not to put and get. Returns when `src`
 *  and `scale` may be reused. Local. (ARMCI 1.1, Atomic operations.)
 * @param datatype  type of the elements, an ARMCI_ACC_ constant
 * @param scale     factor, one element of that type
 * @param src       first element to add, at the caller
 * @param dst       first element to add to, at `proc`
 * @param bytes     bytes, a multiple of the element's size
 * @param proc      process, a rank in the communicator of initialisation
 * @return 0; nonzero as ARMCI_Put, for an unknown type, a null scale, and a part of an element. */
int ARMCI_Acc(int datatype, void *scale, void *src, void *dst, int bytes, int proc);

/** Strided transfers: count[0] contiguous bytes, repeated count[i] times at src_stride_ar[i-1] and
 *  dst_stride_ar[i-1]. A stride of 0 at the source repeats the row. Completion, memory and atomicity are
 *  those of ARMCI_Put, ARMCI_Get and ARMCI_Acc. Local. (ARMCI 1.1, operations 3 and 6.)
 * @param datatype       type of the elements, an ARMCI_ACC_ constant
 * @param scale          factor, one element of that type
 * @param src_ptr        first byte to read
 * @param src_stride_ar  stride_levels distances in bytes; may be NULL with stride_levels 0
 * @param dst_ptr        first byte to write
 * @param dst_stride_ar  as src_stride_ar
 * @param count          stride_levels + 1 numbers: count[0] in bytes, the others in repetitions
 * @param stride_levels  number of strides, 0 to 8
 * @param proc           process, a rank in the communicator of initialisation
 * @return 0; nonzero as the contiguous calls, for stride_levels out of range, a negative count, a null
 *  array or address (also if a count is 0), counts that give 2^63 bytes or more, and an innermost stride of a
 *  magnitude below count[0] that is used (count[1] above 1), except 0 at the source. */
int ARMCI_PutS(void *src_ptr, int src_stride_ar[], void *dst_ptr, int dst_stride_ar[], int count[],
               int stride_levels, int proc);
int ARMCI_GetS(void *src_ptr, int src_stride_ar[], void *dst_ptr, int dst_stride_ar[], int count[],
               int stride_levels, int proc);
int ARMCI_AccS(int datatype, void *scale, void *src_ptr, int src_stride_ar[], void *dst_ptr,
               int dst_stride_ar[], int count[], int stride_levels, int proc);

/** Puts data, then the int `value` into the int `flag` at the same process; the flag is visible after the
 *  data. Completes all earlier operations to the process. If the data or one of these is rejected, the flag
 *  is not written, and the call returns nonzero; if the flag's address is null, nothing is put.
 *  Waits for the target, which need not call anything. (Not in ARMCI 1.1.)
 * @param src, src_ptr   first byte to read, at the caller
 * @param dst, dst_ptr   first byte to write, at `proc`
 * @param size           bytes
 * @param src_stride_ar  stride_levels distances in bytes
 * @param dst_stride_ar  as src_stride_ar
 * @param count          as for ARMCI_PutS
 * @param stride_levels  number of strides, 0 to 8
 * @param flag           address of an int at `proc`
 * @param value          value to store
 * @param proc           process, a rank in the communicator of initialisation
 * @return 0; nonzero as ARMCI_Put and ARMCI_PutS. */
int ARMCI_Put_flag(void *src, void *dst, int size, int *flag, int value, int proc);
int ARMCI_PutS_flag(void *src_ptr, int src_stride_ar[], void *dst_ptr, int dst_stride_ar[], int count[],
                    int stride_levels, int *flag, int value, int proc);

/** Vector transfers: sets of equally long segments. Segments of 0 bytes are skipped; the addresses of others
 *  must not be null. Completion, memory and atomicity are those of ARMCI_Put, ARMCI_Get and ARMCI_Acc. Local.
 *  (ARMCI 1.1, operations 2 and 5.)
 * @param datatype  type of the elements, an ARMCI_ACC_ constant
 * @param scale     factor, one element of that type
 * @param iov       descriptors; bytes is the length of each segment, ptr_array_len the number of segments
 * @param iov_len   number of descriptors
 * @param proc      process, a rank in the communicator of initialisation
 * @return 0; nonzero as the contiguous calls, for negative numbers and null arrays. Segments before the wrong
 *  one may have been transferred. */
int ARMCI_PutV(armci_giov_t *iov, int iov_len, int proc);
int ARMCI_GetV(armci_giov_t *iov, int iov_len, int proc);
int ARMCI_AccV(int datatype, void *scale, armci_giov_t *iov, int iov_len, int proc);

/** Non-blocking transfers: as the calls without Nb, but the local memory belongs to the library until a
 *  wait. Local. (ARMCI 1.1, Data transfer operations.)
 * @param src, src_ptr    first byte to read
 * @param dst, dst_ptr    first byte to write
 * @param bytes           bytes
 * @param src_stride_ar   stride_levels distances in bytes
 * @param dst_stride_ar   as src_stride_ar
 * @param count           as for ARMCI_PutS
 * @param stride_levels   number of strides, 0 to 8
 * @param datatype        type of the elements, an ARMCI_ACC_ constant
 * @param scale           factor, one element of that type; may be reused on return
 * @param iov             descriptors, which may be reused on return
 * @param iov_len         number of descriptors
 * @param proc            process, a rank in the communicator of initialisation
 * @param hdl, handle     an armci_hdl_t, or an int as in the text of ARMCI 1.1; the operation is added to
 *             the handle. NULL: ARMCI_WaitProc and ARMCI_WaitAll wait for the operation
 * @return 0; nonzero as the calls without Nb. The wait reports a later failure, and also a failed transfer
 *  that this call has reported; not a wrong argument, which begins no operation. A put or accumulate that is
 *  so small that the library keeps a copy is complete for the wait at once: if the target rejects it later,
 *  the call that completes it there reports that, such as ARMCI_Fence or ARMCI_Finalize. */
int ARMCI_NbPut(void *src, void *dst, int bytes, int proc, void *hdl);
int ARMCI_NbGet(void *src, void *dst, int bytes, int proc, void *hdl);
int ARMCI_NbAcc(int datatype, void *scale, void *src, void *dst, int bytes, int proc, void *hdl);
int ARMCI_NbPutS(void *src_ptr, int src_stride_ar[], void *dst_ptr, int dst_stride_ar[], int count[],
                 int stride_levels, int proc, void *hdl);
int ARMCI_NbGetS(void *src_ptr, int src_stride_ar[], void *dst_ptr, int dst_stride_ar[], int count[],
                 int stride_levels, int proc, void *hdl);
int ARMCI_NbAccS(int datatype, void *scale, void *src_ptr, int src_stride_ar[], void *dst_ptr,
                 int dst_stride_ar[], int count[], int stride_levels, int proc, void *hdl);
int ARMCI_NbPutV(armci_giov_t *iov, int iov_len, int proc, void *handle);
int ARMCI_NbGetV(armci_giov_t *iov, int iov_len, int proc, void *handle);
int ARMCI_NbAccV(int datatype, void *scale, armci_giov_t *iov, int iov_len, int proc, void *handle);

/** Completes operations locally: those of a handle, the implicit ones to a process, or all. The calls wait
 *  for all these operations and then return nonzero if one of them has failed, even if the non-blocking call
 *  has reported it; the line on stderr names that operation. No later wait reports it again. ARMCI_Wait(NULL)
 *  is ARMCI_WaitAll, which covers the handles too. ARMCI_Test does not wait; for NULL it tests all implicit
 *  operations. A handle without operations is complete. Local. (ARMCI 1.1, Progress and ordering; names of
 *  later versions.)
 * @param hdl   the handle, an armci_hdl_t or an int; empty afterwards unless ARMCI_Test returns 1
 * @param proc  process, a rank in the communicator of initialisation
 * @return 0 if complete, nonzero if an operation has failed, for a wrong process, and before ARMCI_Init or
 *  after ARMCI_Finalize. ARMCI_Test: 0 complete, 1 not complete yet, 2 failed. */
int ARMCI_Wait(void *hdl);
int ARMCI_Test(void *hdl);
int ARMCI_WaitProc(int proc);
int ARMCI_WaitAll(void);

/** Initialises handles. ARMCI_INIT_HANDLE empties a handle; a handle of zeros is empty too. A handle with
 *  pending operations must not be initialised: only ARMCI_WaitAll would wait for them. A wait, or a test that
 *  does not return 1, empties the handle too, which is then ready for further operations. The operations of
 *  an aggregate handle are waited for together, as those of any handle. Local; a null handle ends the program
 *  through ARMCI_Error. (Not in ARMCI 1.1.)
 * @param hdl, handle  the handle, an armci_hdl_t or an int */
void ARMCI_INIT_HANDLE(void *hdl);
void ARMCI_SET_AGGREGATE_HANDLE(void *handle);
void ARMCI_UNSET_AGGREGATE_HANDLE(void *handle);

/** Transfers of one value. The value may be reused when a non-blocking put returns; no wait is needed. Local.
 *  (Not in ARMCI 1.1.)
 * @param src   the value to put, or the address at `proc` of the value to get
 * @param dst   address of the value at `proc`
 * @param proc  process, a rank in the communicator of initialisation
 * @param hdl   ignored
 * @return puts: 0, or nonzero as ARMCI_Put; gets: the value; a failure ends the program through ARMCI_Error.
 *  */
int ARMCI_PutValueInt(int src, void *dst, int proc);
int ARMCI_PutValueLong(long src, void *dst, int proc);
int ARMCI_PutValueFloat(float src, void *dst, int proc);
int ARMCI_PutValueDouble(double src, void *dst, int proc);
int ARMCI_NbPutValueInt(int src, void *dst, int proc, void *hdl);
int ARMCI_NbPutValueLong(long src, void *dst, int proc, void *hdl);
int ARMCI_NbPutValueFloat(float src, void *dst, int proc, void *hdl);
int ARMCI_NbPutValueDouble(double src, void *dst, int proc, void *hdl);
int ARMCI_GetValueInt(void *src, int proc);
long ARMCI_GetValueLong(void *src, int proc);
float ARMCI_GetValueFloat(void *src, int proc);
double ARMCI_GetValueDouble(void *src, int proc);

/** Atomic update of one int or long; see ARMCI_Rmw_e. Complete at both sides on return. Local. (ARMCI
 *  1.1, operations 7.)
 * @param op     ARMCI_FETCH_AND_ADD, ARMCI_SWAP for int; ARMCI_FETCH_AND_ADD_LONG, ARMCI_SWAP_LONG for
 *  long
 * @param ploc   int or long at the caller: receives the previous value; for a swap it holds the new value
 *  before
 * @param prem   address of the int or long at `proc`, a multiple of its size
 * @param value  the summand of fetch-and-add
 * @param proc   process, a rank in the communicator of initialisation
 * @return 0; nonzero for an unknown operation, a wrong process, a null or misaligned address, or unmapped
 *  memory. Nothing is changed on failure. */
int ARMCI_Rmw(int op, void *ploc, void *prem, int value, int proc);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
