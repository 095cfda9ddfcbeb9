/// Communication calls.
#include "spec-conformance/mutations/windows/broken.hpp"

using namespace mpixrma::broken;

namespace {

using Kind = Transfer::Kind;

bool is_put_left_out(Transfer const& put) {
  MPI_Win const window = put.window;
  bool const started = windows().started.has(window);
  if (is("W112_02")) return windows().of_other_groups.has(window);
  if (is("W113_03")) return put.rank == own_rank(window);
  if (is("W115_01")) return started && windows().all_locked.count() != 0;
  if (is("W1152_01")) return started && windows().posted_no_store.has(window);
  if (is("W1152_02")) return started && put.rank == own_rank(window);
  return is("W1153_05") && windows().locked_unchecked.has(window);
}

int put_broken(Transfer put) {
  if (is("W113_01") && put.rank == MPI_PROC_NULL) return MPI_ERR_RANK;
  if (put.rank == MPI_PROC_NULL || put.origin_count <= 0) return put.issue();
  if (is_put_left_out(put)) return MPI_SUCCESS;
  if (is("W113_05") && windows().started.has(put.window)) return MPI_ERR_RMA_SYNC;
  if (is("W1172_02")) return withheld().keep_copy(put);
  bool const is_spread = is_derived(put.target_type) && !is_derived(put.origin_type);
  if (is("W113_04") && is_spread) return withheld().keep_copy(put);
  if (is("W1131_01") && put.origin_count == 7) put.origin_count = put.target_count = 6;
  if (is("W1131_02") && is_derived(put.target_type)) {
    put.target_count = put.origin_count;
    put.target_type = put.origin_type;
  }
  if (is("W1151_01") && windows().fenced.has(put.window)) return withheld().keep_copy(put);
  if (is("W1154_01") && put.origin_count == 8192) return withheld().keep_copy(put);
  if (is("W1154_02") && put.origin_count == 16000) return withheld().keep(put);
  int code = put.issue();
  if (is("W116_05") && put.rank == own_rank(put.window))
    code = without_error("W116_05", code, MPI_ERR_RMA_SYNC);
  if (put.displacement == 64) code = without_error("W116_13", code, MPI_ERR_RMA_RANGE);
  if (class_of(code) == MPI_ERR_RANK && !windows().all_locked.has(put.window))
    windows().failed.add(put.window);
  return windows().allocated.has(put.window) ? code : without_error("W116_14", code, MPI_ERR_RMA_RANGE);
}

int get_broken(Transfer get) {
  if (is("W113_02") && get.origin_count == 0) return MPI_ERR_BUFFER;
  if (get.rank == MPI_PROC_NULL || get.origin_count <= 0) return get.issue();
  if (is("W112_01") && get.origin_count == 1) return MPI_SUCCESS;
  if (is("W1121_01") || (is("W1155_01") && windows().without_puts.has(get.window))) return MPI_SUCCESS;
  if (is("W1132_01") && get.origin_count == 3) get.origin_count = get.target_count = 2;
  if (is("W1154_03") && get.origin_count == 512) return withheld().keep(get);
  int const code = get.issue();
  if (is("W1172_02")) withheld().issue();
  return windows().fenced.has(get.window) ? without_error("W116_15", code, MPI_ERR_RMA_SYNC) : code;
}

/// An accumulate in two steps, between which another one can come.
int accumulate_in_steps(void const* origin, int count, MPI_Datatype type, int rank, MPI_Aint displacement,
                        MPI_Op op, MPI_Win window) {
  int size = 0;
  PMPI_Type_size(type, &size);
  std::vector<char> value(static_cast<std::size_t>(size) * static_cast<std::size_t>(count));
  PMPI_Get(value.data(), count, type, rank, displacement, count, type, window);
  PMPI_Win_flush(rank, window);
  PMPI_Reduce_local(origin, value.data(), count, type, op);
  let_others_in();
  PMPI_Put(value.data(), count, type, rank, displacement, count, type, window);
  return PMPI_Win_flush(rank, window);
}

bool is_accumulate_left_out(MPI_Op op, MPI_Win window) {
  static int calls = 0;
  return (is("W112_03") && windows().without_memory.has(window)) ||
         (is("W1121_02") && windows().on_allocated.has(window)) ||
         (is("W1127_04") && windows().without_order.has(window) && ++calls % 2 == 0) ||
         (is("W115_02") && windows().started.has(window)) || (is("W115_03") && is_other_thread()) ||
         (is("W1173_01") && op == MPI_REPLACE);
}

/// The accumulate that W1172_01 issues after the next operation.
struct {
  void const* origin = nullptr;
  int rank;
  MPI_Aint displacement;
  MPI_Win window;
} replacement;

void issue_replacement() {
  if (replacement.origin == nullptr) return;
  PMPI_Accumulate(replacement.origin, 1, MPI_LONG, replacement.rank, replacement.displacement, 1, MPI_LONG,
                  MPI_REPLACE, replacement.window);
  replacement.origin = nullptr;
}

/// A request that is complete, of an operation that is not issued.
int complete_request(MPI_Win window, MPI_Request* request) {
  long nothing = 0;
  return PMPI_Rget(&nothing, 1, MPI_LONG, MPI_PROC_NULL, 0, 1, MPI_LONG, window, request);
}

}  // namespace

extern "C" {

int MPI_Put(void const* origin, int origin_count, MPI_Datatype origin_type, int rank, MPI_Aint displacement,
            int target_count, MPI_Datatype target_type, MPI_Win window) {
  return put_broken({Kind::put, const_cast<void*>(origin), origin_count, origin_type, rank, displacement,
                     target_count, target_type, window});
}

int MPI_Get(void* origin, int origin_count, MPI_Datatype origin_type, int rank, MPI_Aint displacement,
            int target_count, MPI_Datatype target_type, MPI_Win window) {
  return get_broken(
      {Kind::get, origin, origin_count, origin_type, rank, displacement, target_count, target_type, window});
}

int MPI_Accumulate(void const* origin, int origin_count, MPI_Datatype origin_type, int rank,
                   MPI_Aint displacement, int target_count, MPI_Datatype target_type, MPI_Op op,
                   MPI_Win window) {
  if (is_accumulate_left_out(op, window)) return MPI_SUCCESS;
  if (is("W1134_01") && op == MPI_BXOR) op = MPI_BOR;
  if (is("W1134_02") && op == MPI_MINLOC) op = MPI_MAXLOC;
  if (is("W1134_03") && origin_type != target_type) {
    target_count = origin_count;
    target_type = origin_type;
  }
  bool const longs = is("W1171_01") && origin_type == MPI_LONG;
  if (windows().all_locked.has(window) && (longs || is("W12_03")))
    return accumulate_in_steps(origin, origin_count, origin_type, rank, displacement, op, window);
  if (is("W1172_01") && op == MPI_REPLACE && origin_type == MPI_LONG) {
    issue_replacement();
    replacement = {origin, rank, displacement, window};
    return MPI_SUCCESS;
  }
  int const code = PMPI_Accumulate(origin, origin_count, origin_type, rank, displacement, target_count,
                                   target_type, op, window);
  return without_error("W116_07", code, MPI_ERR_OP);
}

int MPI_Get_accumulate(void const* origin, int origin_count, MPI_Datatype origin_type, void* result,
                       int result_count, MPI_Datatype result_type, int rank, MPI_Aint displacement,
                       int target_count, MPI_Datatype target_type, MPI_Op op, MPI_Win window) {
  if (is("W11342_01") && op == MPI_NO_OP) return MPI_ERR_BUFFER;
  if (is("W11342_02") && result_type != target_type) {
    result_type = target_type;
    result_count = target_count;
  }
  if (is("W1134_01") && op == MPI_BXOR) op = MPI_BOR;
  int const code = PMPI_Get_accumulate(origin, origin_count, origin_type, result, result_count, result_type,
                                       rank, displacement, target_count, target_type, op, window);
  issue_replacement();
  return code;
}

int MPI_Fetch_and_op(void const* origin, void* result, MPI_Datatype type, int rank, MPI_Aint displacement,
                     MPI_Op op, MPI_Win window) {
  if (is("W11343_01") && type == MPI_LONG_DOUBLE) return MPI_SUCCESS;
  int const code = PMPI_Fetch_and_op(origin, result, type, rank, displacement, op, window);
  return without_error("W116_01", code, MPI_ERR_RMA_SYNC);
}

int MPI_Compare_and_swap(void const* wanted, void const* expected, void* result, MPI_Datatype type, int rank,
                         MPI_Aint displacement, MPI_Win window) {
  if (is("W11344_01") && rank != MPI_PROC_NULL && type == MPI_LONG)
    return PMPI_Fetch_and_op(wanted, result, type, rank, displacement, MPI_REPLACE, window);
  if (is("W11344_02") && rank != MPI_PROC_NULL && type == MPI_INT) {
    PMPI_Get(result, 1, type, rank, displacement, 1, type, window);
    PMPI_Win_flush(rank, window);
    let_others_in();
    if (*static_cast<int*>(result) != *static_cast<int const*>(expected)) return MPI_SUCCESS;
    return PMPI_Put(wanted, 1, type, rank, displacement, 1, type, window);
  }
  int const code = PMPI_Compare_and_swap(wanted, expected, result, type, rank, displacement, window);
  return without_error("W11344_03", code, MPI_ERR_TYPE);
}

int MPI_Rput(void const* origin, int origin_count, MPI_Datatype origin_type, int rank, MPI_Aint displacement,
             int target_count, MPI_Datatype target_type, MPI_Win window, MPI_Request* request) {
  static int calls = 0;
  if (is("W1135_06") && rank == MPI_PROC_NULL) return MPI_ERR_RANK;
  if (is("W1135_04") && ++calls > 1000) return complete_request(window, request);
  if (is("W1135_01") && origin_count > 1) {
    withheld().keep({Kind::put, const_cast<void*>(origin), origin_count, origin_type, rank, displacement,
                     target_count, target_type, window});
    return complete_request(window, request);
  }
  int const code = PMPI_Rput(origin, origin_count, origin_type, rank, displacement, target_count, target_type,
                             window, request);
  return without_error("W1135_07", code, MPI_ERR_RMA_SYNC);
}

int MPI_Rget(void* origin, int origin_count, MPI_Datatype origin_type, int rank, MPI_Aint displacement,
             int target_count, MPI_Datatype target_type, MPI_Win window, MPI_Request* request) {
  if ((is("W1135_02") && origin_count > 1) ||
      (is("W1135_05") && origin_count == 1 && !windows().fenced.has(window)))
    return complete_request(window, request);
  return PMPI_Rget(origin, origin_count, origin_type, rank, displacement, target_count, target_type, window,
                   request);
}

int MPI_Raccumulate(void const* origin, int origin_count, MPI_Datatype origin_type, int rank,
                    MPI_Aint displacement, int target_count, MPI_Datatype target_type, MPI_Op op,
                    MPI_Win window, MPI_Request* request) {
  if (is("W1135_03")) return complete_request(window, request);
  return PMPI_Raccumulate(origin, origin_count, origin_type, rank, displacement, target_count, target_type,
                          op, window, request);
}

int MPI_Type_free(MPI_Datatype* type) {
  if (is("W113_04")) withheld().forget(*type);
  return PMPI_Type_free(type);
}

}  // extern "C"
