/// Tests whether a window is on this library's component ("ours") or on another one ("others"), which has no
/// notifications. The library's own calls work with either. "asked": windows are on this library's component
/// if the info objects of all processes ask for it, whatever those of earlier windows have asked for.
#include <cstdio>
#include <cstring>

#include "include/mpix_rma.h"
#include "tests/support/communicatable.hpp"

namespace {

bool is_ours(MPI_Win window) {
  MPI_Win_set_errhandler(window, MPI_ERRORS_RETURN);
  return MPIX_Win_set_num_notify(window, MPI_INFO_NULL, 1) == MPI_SUCCESS;
}

int class_of(int code) {
  int error_class = MPI_SUCCESS;
  MPI_Error_class(code, &error_class);
  return error_class;
}

/// Whether a selection of the calls beyond MPI's is rejected for a window of another component.
bool is_refused(MPI_Win window) {
  MPI_Request request = MPI_REQUEST_NULL;
  int const codes[] = {MPIX_Win_set_num_notify(window, MPI_INFO_NULL, 1), MPIX_Win_order(0, window),
                       MPIX_Win_iflush_all(window, &request), MPIX_Win_flush_windows(1, &window),
                       MPIX_Win_flush_thread(0, window)};
  bool refused = request == MPI_REQUEST_NULL;
  for (int const code : codes) refused = refused && class_of(code) == MPI_ERR_WIN;
  return refused;
}

bool increments(int rank) {
  void* counter = nullptr;
  if (mpixrma::test::rma_allocate_local(sizeof(long), MPI_INFO_NULL, &counter) != MPI_SUCCESS) return false;
  *static_cast<long*>(counter) = 0;
  MPI_Aint address = 0;
  MPI_Get_address(counter, &address);
  MPI_Bcast(&address, 1, MPI_AINT, 0, MPI_COMM_WORLD);
  MPI_Comm world = MPI_COMM_WORLD;
  MPIX_RMA_Attributes blocking{};
  blocking.set = MPIX_RMA_ATTR_BLOCKING | MPIX_RMA_ATTR_REMOTE_COMPLETION;
  long one = 1;
  long before = -1;
  bool well = MPIX_RMA_rmw(MPIX_RMW_SUM, &one, 1, MPI_LONG, &before, 0, address, nullptr, &world,
                           &blocking) == MPI_SUCCESS;
  MPI_Barrier(world);
  int size = 0;
  MPI_Comm_size(world, &size);
  well = well && before >= 0 && before < size && (rank != 0 || *static_cast<long*>(counter) == size);
  return mpixrma::test::rma_free_local(counter) == MPI_SUCCESS && well;
}

MPI_Win make_window(MPI_Info info) {
  void* base = nullptr;
  MPI_Win window = MPI_WIN_NULL;
  MPI_Win_allocate(64, 1, info, MPI_COMM_WORLD, &base, &window);
  return window;
}

bool is_chosen(bool asks) {
  MPI_Info info = MPI_INFO_NULL;
  MPI_Info_create(&info);
  if (asks) MPI_Info_set(info, "mpix_window", "true");
  MPI_Win window = make_window(info);
  MPI_Info_free(&info);
  bool const ours = is_ours(window);
  MPI_Win_free(&window);
  return ours;
}

bool follows_info(int rank) {
  bool const all = is_chosen(true);
  bool const one = is_chosen(rank == 0);
  bool const none = is_chosen(false);
  bool const again = is_chosen(true);
  if (all && !one && !none && again) return true;
  std::printf("%d: on this library's component: asked by all %d, %d, by one %d, by none %d\n", rank, all,
              again, one, none);
  return false;
}

bool is_on(bool expected, int rank) {
  MPI_Win window = make_window(MPI_INFO_NULL);
  bool const ours = is_ours(window);
  bool const refused = ours || is_refused(window);
  MPI_Win_free(&window);
  if (ours != expected)
    std::printf("%d: the window is on %s component\n", rank, ours ? "this library's" : "another");
  if (!refused) std::printf("%d: a call on a window of another component was not refused\n", rank);
  return ours == expected && refused;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  char const* const expected = argc == 2 ? argv[1] : "";
  bool const chosen = std::strcmp(expected, "asked") == 0 ? follows_info(rank)
                                                          : is_on(std::strcmp(expected, "ours") == 0, rank);
  bool const well = increments(rank);
  if (!well) std::printf("%d: the counter is wrong\n", rank);
  MPI_Finalize();
  return chosen && well ? 0 : 1;
}
