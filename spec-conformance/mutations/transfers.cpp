/// Transfers that break a promise.
#include <unistd.h>

#include <cstdint>

#include "spec-conformance/mutations/broken.hpp"

namespace mpixrma::broken {

namespace {

constexpr std::uint64_t blocking_remote = MPIX_RMA_ATTR_BLOCKING | MPIX_RMA_ATTR_REMOTE_COMPLETION;

/// Issues half of the elements at a time, with a pause for other processes in between.
int issue_in_halves(Transfer transfer) {
  MPI_Count const all = transfer.origin_count;
  Transfer first = transfer;
  first.drop(MPIX_RMA_ATTR_ATOMICITY);
  first.origin_count = first.target_count = all / 2;
  first.request = nullptr;
  if (int const code = first.issue(); code != MPI_SUCCESS) return code;
  ::usleep(100);
  std::size_t const offset = bytes_of(all / 2, transfer.origin_type);
  transfer.drop(MPIX_RMA_ATTR_ATOMICITY);
  transfer.origin = static_cast<char*>(transfer.origin) + offset;
  transfer.target = static_cast<char*>(transfer.target) + offset;
  transfer.origin_count = transfer.target_count = all - all / 2;
  return transfer.issue();
}

/// Issues a word of eight bytes in two parts.
int issue_torn(Transfer transfer) {
  transfer.origin_type = transfer.target_type = MPI_UINT32_T;
  transfer.origin_count = transfer.target_count = 2;
  return issue_in_halves(transfer);
}

/// Issues a transfer to every second int of the target, half of the ints at a time.
int issue_strided_in_halves(Transfer transfer) {
  int const half = static_cast<int>(transfer.origin_count) / 2;
  MPI_Datatype strided = MPI_DATATYPE_NULL;
  PMPI_Type_vector(half, 1, 2, MPI_INT, &strided);
  PMPI_Type_commit(&strided);
  transfer.drop(MPIX_RMA_ATTR_ATOMICITY);
  transfer.origin_count = half;
  transfer.target_type = strided;
  int code = transfer.issue();
  ::usleep(100);
  transfer.origin = static_cast<int*>(transfer.origin) + half;
  transfer.target = static_cast<int*>(transfer.target) + 2 * half;
  if (code == MPI_SUCCESS) code = transfer.issue();
  PMPI_Type_free(&strided);
  return code;
}

bool is_derived(MPI_Datatype type) {
  int integers = 0, addresses = 0, types = 0, combiner = 0;
  PMPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner);
  return combiner != MPI_COMBINER_NAMED;
}

MPI_Aint lower_bound(MPI_Datatype type) {
  MPI_Aint lower = 0, extent = 0;
  PMPI_Type_get_extent(type, &lower, &extent);
  return lower;
}

bool section_4(Transfer& t, int* code) {
  if (is("X4_01") && t.is_accumulate()) return *code = MPI_ERR_OTHER, true;
  if (is("X4_02") && t.is_of(MPI_INT) && ++outstanding > 1000) return *code = MPI_ERR_OTHER, true;
  if (is("X4_03") && t.is_get() && t.is_of(MPI_INT) && t.origin_count == 1) t.op = MPIX_RMA_PUT;
  if (is("X4_04") && lower_bound(t.target_type) < 0)
    t.target = static_cast<char*>(t.target) - lower_bound(t.target_type);
  if (is("X4_05") && t.is_get() && t.request != nullptr) return *code = WithheldTransfers::leave_out(t), true;
  if (is("X4_06") && t.is_put() && t.is_of(MPI_LONG)) return *code = withheld().keep_copy(t), true;
  if (is("X4_07") && t.is_of(MPI_UINT64_T)) return *code = issue_torn(t), true;
  if (is("X4_08") && t.has(MPIX_RMA_ATTR_ATOMICITY)) return *code = issue_in_halves(t), true;
  return false;
}

bool section_5_1(Transfer& t, int* code) {
  bool const is_kind = t.op >= MPIX_RMA_PUT && t.op <= MPIX_RMA_ACCUMULATE;
  if (is("X51_01") && !is_kind) return *code = MPI_SUCCESS, true;
  if (is("X51_02") && t.is_put() && t.is_of(MPI_CHAR)) {
    *code = t.issue();
    return *static_cast<char*>(t.origin) = 0, true;
  }
  if (is("X51_03") && t.is_accumulate() && t.is_of(MPI_DOUBLE)) t.op = MPIX_RMA_PUT;
  if (is("X51_04") && t.is_put() && t.is_of(MPI_LONG)) return *code = withheld().keep_copy(t), true;
  return false;
}

/// Attributes that are lost, or that stay.
bool section_5_1_1_attributes(Transfer& t, int* code) {
  static MPI_Op kept = MPI_OP_NULL;
  if (is("X511_01") && t.is_accumulate() && t.has(MPIX_RMA_ATTR_ORIGIN_COMMUNICATABLE)) t.op = MPIX_RMA_PUT;
  if (is("X511_04") && !t.has(MPIX_RMA_ATTR_ACCUMULATE_OP)) t.drop(MPIX_RMA_ATTR_ACCUMULATE_SCALE);
  if (is("X511_05") && t.is_accumulate() && t.is_of(MPI_INT)) {
    if (t.has(MPIX_RMA_ATTR_ACCUMULATE_OP | blocking_remote)) kept = t.attributes.accumulate_op;
    if (t.attributes.set == blocking_remote && kept != MPI_OP_NULL) {
      t.attributes.set |= MPIX_RMA_ATTR_ACCUMULATE_OP;
      t.attributes.accumulate_op = kept;
    }
  }
  if (is("X511_06") && !t.is_on_world() && t.request == nullptr && t.is_of(MPI_INT)) t.comm = MPI_COMM_WORLD;
  if (is("X511_07") && t.request != nullptr && *t.request != MPI_REQUEST_NULL) {
    MPI_Request other = MPI_REQUEST_NULL;
    t.request = &other;
    *code = t.issue();
    return PMPI_Wait(&other, MPI_STATUS_IGNORE), true;
  }
  return false;
}

bool section_5_1_1(Transfer& t, int* code) {
  if (section_5_1_1_attributes(t, code)) return true;
  bool const waits = t.request != nullptr && t.attributes.set == 0;
  if (is("X511_03") && t.is_put() && waits) return *code = withheld().keep(t), true;
  if (is("X511_08") && is_derived(t.target_type) && t.origin_count > 1)
    return *code = issue_strided_in_halves(t), true;
  if (is("X511_09") && t.has(MPIX_RMA_ATTR_ATOMICITY) && t.is_of(MPI_BYTE)) {
    std::vector<char> const old(static_cast<char*>(t.origin), static_cast<char*>(t.origin) + t.origin_count);
    ::usleep(2000);
    Transfer put = t;
    put.op = MPIX_RMA_PUT;
    put.origin = const_cast<char*>(old.data());
    put.drop(MPIX_RMA_ATTR_ATOMICITY);
    put.attributes.set |= MPIX_RMA_ATTR_BLOCKING;
    return *code = put.issue(), true;
  }
  bool const ordered = t.has(MPIX_RMA_ATTR_ORDERING);
  if (is("X511_12") && ordered && t.is_of(MPI_INT64_T) && !t.is_get() && t.origin_count == 3)
    return *code = withheld().keep_copy(t), true;
  if (is("X511_13") && ordered && t.is_of(MPI_LONG) && t.is_put())
    return *code = withheld().keep_copy(t), true;
  if (is("X511_15") && t.is_get() && waits) return *code = WithheldTransfers::leave_out(t), true;
  bool const blocks = t.attributes.set == MPIX_RMA_ATTR_BLOCKING;
  if (is("X511_16") && blocks && t.is_get() && t.request != nullptr)
    return *code = WithheldTransfers::leave_out(t), true;
  if (is("X511_17") && blocks && !t.is_get() && t.is_of(MPI_DOUBLE)) return *code = withheld().keep(t), true;
  bool const remote = t.has(MPIX_RMA_ATTR_REMOTE_COMPLETION) && t.is_of(MPI_DOUBLE) && t.origin_count == 6000;
  if (is("X511_18") && remote) return *code = withheld().keep_copy(t), true;
  return false;
}

bool section_5_1_2(Transfer& t, int* code) {
  if (is("X512_02") && t.is_put() && t.is_of(MPI_INT)) return *code = withheld().keep_copy(t), true;
  if (is("X512_03") && is_derived(t.origin_type)) {
    t.origin = static_cast<char*>(t.origin) - 5 * sizeof(double);  // in the order of the addresses
    t.origin_count *= 6;
    t.origin_type = MPI_DOUBLE;
  }
  int size = 0;
  PMPI_Comm_size(t.comm, &size);
  if (is("X512_04") && size == 1 && !t.is_on_world()) return *code = MPI_SUCCESS, true;
  return false;
}

bool section_5_2(Transfer& t, int* code) {
  if (is("X52_01") && t.has(MPIX_RMA_ATTR_ORDERING)) return *code = withheld().keep_copy(t), true;
  if (is("X52_02") && t.is_of(MPI_INT) && t.origin_count == 1000)
    return *code = withheld().keep_copy(t), true;
  int own = -1;
  if (is("X52_03")) PMPI_Comm_rank(t.comm, &own);
  if (t.rank == own && t.is_of(MPI_LONG) && t.attributes.set == 0)
    return *code = withheld().keep_copy(t), true;
  if (is("X52_04") && t.is_of(MPI_INT) && t.origin_count <= 10)
    return *code = WithheldTransfers::leave_out(t), true;
  bool const data = t.is_of(MPI_INT64_T) && t.origin_count > 1;
  if ((is("X52_06") || is("X52_07")) && data) return *code = withheld().keep_copy(t), true;
  return false;
}

bool section_5_3(Transfer& t, int* code) {
  bool const requested = t.request != nullptr && !t.is_accumulate();
  if (is("X53_01") && requested && t.attributes.set != 0) return *code = MPI_SUCCESS, true;
  if (is("X53_02") && requested && t.attributes.set == 0 && t.is_put()) return *code = MPI_SUCCESS, true;
  if (is("X53_06") && t.origin_count < 0) return *code = MPI_SUCCESS, true;
  return false;
}

bool section_5_4(Transfer& t, int* code) {
  if (is("X54_03")) {
    int found = 0;
    PMPIX_RMA_Query(t.comm, t.rank, t.target, &found, nullptr, nullptr);
    if (found == 0) return *code = MPI_ERR_OTHER, true;
  }
  bool const vouched =
      (t.attributes.set & (MPIX_RMA_ATTR_ORIGIN_COMMUNICATABLE | MPIX_RMA_ATTR_TARGET_COMMUNICATABLE)) != 0;
  if (is("X54_04") && vouched) return *code = MPI_SUCCESS, true;
  return false;
}

bool gaps(Transfer& t, int* code) {
  bool const is_requested = t.request != nullptr && t.attributes.set == 0;
  if (is("G_08") && t.is_put() && t.is_of(MPI_CHAR) && is_requested && !t.is_on_world())
    return *code = withheld().keep_copy(t), true;
  if (is("G_04") && t.is_get() && t.is_of(MPI_CHAR) && t.request == nullptr && t.attributes.set == 0)
    return *code = WithheldTransfers::leave_out(t), true;
  int ranks = 0;
  if (is("G_07")) PMPI_Comm_size(t.comm, &ranks);
  if (ranks != 0 && t.rank >= ranks) return *code = MPI_SUCCESS, true;
  int inter = 0;
  PMPI_Comm_test_inter(t.comm, &inter);
  if (is("G_09") && inter != 0) return *code = MPI_SUCCESS, true;
  if (is("G_10") && bytes_of(t.origin_count, t.origin_type) >> 31 != 0) return *code = MPI_ERR_COUNT, true;
  if (is("G_11") && t.is_accumulate() && t.origin_type != t.target_type && t.is_of(MPI_DOUBLE) &&
      t.target_type == MPI_LONG)
    return *code = MPI_SUCCESS, true;
  if (is("G_13") && t.has(MPIX_RMA_ATTR_NOTIFY) && t.is_put() && t.is_of(MPI_CHAR)) {
    Transfer early = t;
    early.origin_count = early.target_count = 0;
    *code = early.issue();
    t.drop(MPIX_RMA_ATTR_NOTIFY);
    return *code == MPI_SUCCESS ? *code = withheld().keep_copy(t), true : true;
  }
  if (is("G_15") && t.rank == MPI_PROC_NULL) return *code = MPI_ERR_RANK, true;
  if (is("G_16") && t.is_accumulate() && t.is_of(MPI_DOUBLE) && t.origin_count == 1) {
    double sum = 0;
    Transfer part = t;
    part.op = MPIX_RMA_GET;
    part.origin = &sum;
    part.attributes.set = MPIX_RMA_ATTR_BLOCKING;
    *code = part.issue();
    let_others_in();
    sum += *static_cast<double const*>(t.origin);
    part.op = MPIX_RMA_PUT;
    part.attributes.set = blocking_remote;
    return *code = part.issue(), true;
  }
  return false;
}

}  // namespace

bool transfer_broken(Transfer& transfer, int* code) {
  for (auto const section : {&section_4, &section_5_1, &section_5_1_1, &section_5_1_2, &section_5_2,
                             &section_5_3, &section_5_4, &gaps}) {
    if (section(transfer, code)) return true;
  }
  return false;
}

}  // namespace mpixrma::broken
