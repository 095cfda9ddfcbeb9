/// Read-modify-writes that break a promise.
#include <cstdint>

#include "spec-conformance/mutations/broken.hpp"

namespace mpixrma::broken {

namespace {

/// The operation of a clause, and the one that takes its place for elements of a type.
struct Exchanged {
  char const* clause;
  int op;
  int other;
  MPI_Datatype type;  ///< MPI_DATATYPE_NULL: any
};

bool exchange_operation(Rmw& rmw) {
  Exchanged const table[] = {
      {"X51_10", MPIX_RMW_INC, MPIX_RMW_SUM, MPI_LONG},
      {"X51_11", MPIX_RMW_PROD, MPIX_RMW_SUM, MPI_DATATYPE_NULL},
      {"X51_12", MPIX_RMW_SUM, MPIX_RMW_PROD, MPI_FLOAT},
      {"X51_13", MPIX_RMW_LAND, MPIX_RMW_LOR, MPI_DATATYPE_NULL},
      {"X51_14", MPIX_RMW_LOR, MPIX_RMW_LAND, MPI_DATATYPE_NULL},
      {"X51_15", MPIX_RMW_LXOR, MPIX_RMW_LOR, MPI_DATATYPE_NULL},
      {"X51_16", MPIX_RMW_BAND, MPIX_RMW_BOR, MPI_DATATYPE_NULL},
      {"X51_17", MPIX_RMW_BOR, MPIX_RMW_BAND, MPI_DATATYPE_NULL},
      {"X51_18", MPIX_RMW_BXOR, MPIX_RMW_BOR, MPI_UNSIGNED},
      {"X51_19", MPIX_RMW_SWAP, MPIX_RMW_SUM, MPI_LONG},
      {"X51_31", MPIX_RMW2_COMP_SWAP_LT, MPIX_RMW2_COMP_SWAP_LE, MPI_DATATYPE_NULL},
      {"X51_32", MPIX_RMW2_COMP_SWAP_LE, MPIX_RMW2_COMP_SWAP_LT, MPI_DATATYPE_NULL},
      {"X51_33", MPIX_RMW2_COMP_SWAP_E, MPIX_RMW2_COMP_SWAP_GE, MPI_DOUBLE},
      {"X51_34", MPIX_RMW2_COMP_SWAP_GE, MPIX_RMW2_COMP_SWAP_GT, MPI_DATATYPE_NULL},
      {"X51_35", MPIX_RMW2_COMP_SWAP_GT, MPIX_RMW2_COMP_SWAP_GE, MPI_DATATYPE_NULL},
      {"X51_36", MPIX_RMW2_COMP_SWAP_NE, MPIX_RMW2_COMP_SWAP_GT, MPI_DATATYPE_NULL},
  };
  for (Exchanged const& row : table) {
    if (!is(row.clause) || rmw.op != row.op) continue;
    if (row.type != MPI_DATATYPE_NULL && row.type != rmw.type) continue;
    rmw.op = row.other;
    return true;
  }
  return false;
}

/// A sum by a GET and a PUT.
int add_in_two_steps(Rmw const& rmw) {
  std::int64_t sum = 0;
  void* const target = reinterpret_cast<void*>(rmw.target);
  Transfer part{MPIX_RMA_GET, &sum, 1, MPI_INT64_T, rmw.rank, target, 1, MPI_INT64_T, nullptr, rmw.comm, {}};
  part.attributes.set = MPIX_RMA_ATTR_BLOCKING | MPIX_RMA_ATTR_REMOTE_COMPLETION;
  if (int const code = part.issue(); code != MPI_SUCCESS) return code;
  if (rmw.result != nullptr) std::memcpy(rmw.result, &sum, sizeof sum);
  let_others_in();
  std::int64_t operand = 0;
  std::memcpy(&operand, rmw.operand, sizeof operand);
  sum += operand;
  part.op = MPIX_RMA_PUT;
  return part.issue();
}

bool is_gapped(MPI_Datatype type) {
  int size = 0;
  MPI_Aint lower = 0, extent = 0;
  PMPI_Type_size(type, &size);
  PMPI_Type_get_true_extent(type, &lower, &extent);
  return extent != size;
}

bool result_broken(Rmw& rmw, int* code) {
  if (is("X51_21") && rmw.op == MPIX_RMW_SUM && rmw.type == MPI_INT && rmw.result != nullptr) {
    *code = rmw.issue();
    return *static_cast<int*>(rmw.result) += *static_cast<int const*>(rmw.operand), true;
  }
  if (is("X51_37") && rmw.op == MPIX_RMW2_COMP_SWAP_E && rmw.type == MPI_INT) {
    *code = rmw.issue();
    return std::memcpy(rmw.result, rmw.operand2, sizeof(int)), true;
  }
  if (is("X51_23") && rmw.request != nullptr) {
    rmw.result = nullptr;  // never arrives
    return *code = rmw.issue(), true;
  }
  return false;
}

}  // namespace

bool update_broken(Rmw& rmw, int* code) {
  if (exchange_operation(rmw)) return *code = rmw.issue(), true;
  if (result_broken(rmw, code)) return true;
  if (is("X51_20") && rmw.count == 300) {
    std::vector<std::int64_t> const first(300, *static_cast<std::int64_t const*>(rmw.operand));
    rmw.operand = first.data();
    return *code = rmw.issue(), true;
  }
  bool const blocks = (rmw.attributes.set & MPIX_RMA_ATTR_BLOCKING) != 0;
  if (is("X51_22") && rmw.op == MPIX_RMW_SUM && rmw.type == MPI_LONG && rmw.count == 1 && blocks)
    return *code = add_in_two_steps(rmw), true;
  if (is("X51_24") && rmw.type != MPI_DATATYPE_NULL && is_gapped(rmw.type)) return *code = MPI_SUCCESS, true;
  if (is("X51_30") && rmw.op == MPIX_RMW2_MASK_SWAP) std::swap(rmw.operand, rmw.operand2);
  if (is("X53_09") && rmw.target % 8 != 0) return *code = MPI_SUCCESS, true;
  if (is("X53_11") && rmw.rank >= 0 && rmw.comm != MPI_COMM_WORLD && rmw.type == MPI_LONG) rmw.target += 8;
  return false;
}

}  // namespace mpixrma::broken
