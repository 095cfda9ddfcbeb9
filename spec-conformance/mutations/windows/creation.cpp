/// Creation of windows, their memory and their attributes.
#include <cstdlib>
#include <cstring>

#include "spec-conformance/mutations/windows/broken.hpp"

using namespace mpixrma::broken;

namespace {

Marked<void const*> allocated_memory;

void mark(MPI_Win window, MPI_Aint size, MPI_Info info, MPI_Comm comm) {
  int same = MPI_UNEQUAL;
  PMPI_Comm_compare(comm, MPI_COMM_WORLD, &same);
  if (same != MPI_IDENT && same != MPI_CONGRUENT) windows().of_other_groups.add(window);
  if (size == 0) windows().without_memory.add(window);
  if (value_of(info, "accumulate_ordering") == "none") windows().without_order.add(window);
  if (value_of(info, "alloc_shared_noncontig") == "true") windows().with_gaps.add(window);
}

void unmark(MPI_Win window) {
  for (auto* const marked :
       {&windows().of_other_groups, &windows().without_memory, &windows().on_allocated,
        &windows().without_order, &windows().with_gaps, &windows().allocated, &windows().fenced,
        &windows().without_puts, &windows().posted_no_store, &windows().started, &windows().all_locked,
        &windows().locked_unchecked, &windows().locked_before, &windows().failed})
    marked->remove(window);
}

int unit_of(int unit) { return is("W112_04") && unit > 1 ? 1 : unit; }

Marked<void const*> detached;
int attached_regions = 0;

}  // namespace

extern "C" {

int MPI_Alloc_mem(MPI_Aint size, MPI_Info info, void* base) {
  int const code = PMPI_Alloc_mem(size, info, base);
  if (code == MPI_SUCCESS) allocated_memory.add(*static_cast<void**>(base));
  return code;
}

int MPI_Win_create(void* base, MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm, MPI_Win* window) {
  int const code = PMPI_Win_create(base, size, unit_of(unit), info, comm, window);
  if (code != MPI_SUCCESS) return without_error("W116_10", code, MPI_ERR_DISP);
  mark(*window, size, info, comm);
  if (allocated_memory.has(base)) windows().on_allocated.add(*window);
  return code;
}

int MPI_Win_allocate(MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm, void* base, MPI_Win* window) {
  int const code = PMPI_Win_allocate(size, unit_of(unit), info, comm, base, window);
  if (code != MPI_SUCCESS) return is("W1122_01") ? MPI_SUCCESS : code;
  mark(*window, size, info, comm);
  windows().allocated.add(*window);
  return code;
}

int MPI_Win_allocate_shared(MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm, void* base,
                            MPI_Win* window) {
  int const code = PMPI_Win_allocate_shared(size, unit_of(unit), info, comm, base, window);
  if (code == MPI_SUCCESS) mark(*window, size, info, comm);
  return code;
}

int MPI_Win_create_dynamic(MPI_Info info, MPI_Comm comm, MPI_Win* window) {
  int const code = PMPI_Win_create_dynamic(info, comm, window);
  if (code == MPI_SUCCESS) mark(*window, 1, info, comm);
  return code;
}

int MPI_Win_free(MPI_Win* window) {
  if (*window != MPI_WIN_NULL) unmark(*window);
  return PMPI_Win_free(window);
}

int MPI_Win_attach(MPI_Win window, void* base, MPI_Aint size) {
  if (is("W1124_01") && ++attached_regions > 50) return MPI_ERR_RMA_ATTACH;
  if (is("W1124_02") && size == 8192 && detached.count() != 0) return MPI_ERR_RMA_ATTACH;
  if (is("W1124_03")) PMPI_Barrier(MPI_COMM_WORLD);
  int const code = PMPI_Win_attach(window, base, size);
  return without_error("W116_12", without_error("W1124_04", code, MPI_ERR_RMA_ATTACH), MPI_ERR_RMA_FLAVOR);
}

int MPI_Win_detach(MPI_Win window, void const* base) {
  detached.add(base);
  return PMPI_Win_detach(window, base);
}

int MPI_Win_shared_query(MPI_Win window, int rank, MPI_Aint* size, int* unit, void* base) {
  bool const first_of_all = is("W1123_03") && rank == MPI_PROC_NULL;
  int const code = PMPI_Win_shared_query(window, first_of_all ? 0 : rank, size, unit, base);
  if (code != MPI_SUCCESS) return code;
  bool const gaps = windows().with_gaps.has(window);
  bool const other = rank != own_rank(window);
  auto* const found = static_cast<char**>(base);
  if (other && *unit == 8 && ((is("W1123_01") && !gaps) || (is("W1123_04") && gaps)))
    *found = static_cast<char*>(std::calloc(1, 4096));  // never freed: no call ends its use
  if (is("W1123_02") && *unit == 1 && rank > 0) *found += 8;
  if (is("W12_04") && windows().allocated.has(window)) *size = 0;
  return code;
}

int MPI_Win_get_attr(MPI_Win window, int key, void* value, int* found) {
  static int separate = MPI_WIN_SEPARATE;
  int const code = PMPI_Win_get_attr(window, key, value, found);
  if (is("W1126_01") && key == MPI_WIN_MODEL) *static_cast<int**>(value) = &separate;
  return code;
}

int MPI_Win_get_group(MPI_Win window, MPI_Group* group) {
  int const code = PMPI_Win_get_group(window, group);
  if (!is("W1126_02") || code != MPI_SUCCESS) return code;
  int const first = 0;
  MPI_Group all = *group;
  PMPI_Group_incl(all, 1, &first, group);
  return PMPI_Group_free(&all);
}

int MPI_Win_get_info(MPI_Win window, MPI_Info* info) {
  int const code = PMPI_Win_get_info(window, info);
  char const* const lost = is("W1127_01") ? "true" : is("W1127_02") ? "false" : "";
  if (code == MPI_SUCCESS && *lost != '\0' && value_of(*info, "no_locks") == lost)
    PMPI_Info_delete(*info, "no_locks");
  return code;
}

int MPI_Win_set_info(MPI_Win window, MPI_Info info) {
  return is("W1127_03") ? MPI_ERR_INFO : PMPI_Win_set_info(window, info);
}

int MPI_Win_set_errhandler(MPI_Win window, MPI_Errhandler handler) {
  if (is("W116_08") && handler != MPI_ERRORS_RETURN) return MPI_SUCCESS;
  return PMPI_Win_set_errhandler(window, handler);
}

}  // extern "C"
