/// The floor between two hosts: round trip of a bare UCX active message with 8 bytes, both sides polling.
///
/// usage: bench_am    (2 ranks)
#include <mpi.h>
#include <ucp/api/ucp.h>

#include <vector>

#include "bench/support/harness.hpp"

namespace {

constexpr unsigned id = 1;
long arrived = 0;

ucs_status_t on_message(void*, void const*, std::size_t, void*, std::size_t, ucp_am_recv_param_t const*) {
  ++arrived;
  return UCS_OK;
}

void require_ok(ucs_status_t status) {
  if (status != UCS_OK) MPI_Abort(MPI_COMM_WORLD, 1);
}

void send(ucp_worker_h worker, ucp_ep_h endpoint) {
  long payload = 0;
  ucp_request_param_t param{};
  ucs_status_ptr_t const request =
      ucp_am_send_nbx(endpoint, id, nullptr, 0, &payload, sizeof payload, &param);
  if (!UCS_PTR_IS_PTR(request)) return;
  while (ucp_request_check_status(request) == UCS_INPROGRESS) ucp_worker_progress(worker);
  ucp_request_free(request);
}

void wait_for(ucp_worker_h worker, long count) {
  while (arrived < count) ucp_worker_progress(worker);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  ucp_params_t params{};
  params.field_mask = UCP_PARAM_FIELD_FEATURES;
  params.features = UCP_FEATURE_AM;
  ucp_context_h context = nullptr;
  require_ok(ucp_init(&params, nullptr, &context));
  ucp_worker_params_t worker_params{};
  ucp_worker_h worker = nullptr;
  require_ok(ucp_worker_create(context, &worker_params, &worker));
  ucp_am_handler_param_t handler{};
  handler.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB;
  handler.id = id;
  handler.cb = on_message;
  require_ok(ucp_worker_set_am_recv_handler(worker, &handler));

  ucp_address_t* address = nullptr;
  std::size_t length = 0;
  require_ok(ucp_worker_get_address(worker, &address, &length));
  int const peer = 1 - bench::rank();
  std::size_t peer_length = 0;
  MPI_Sendrecv(&length, sizeof length, MPI_BYTE, peer, 0, &peer_length, sizeof peer_length, MPI_BYTE, peer, 0,
               MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  std::vector<char> peer_address(peer_length);
  MPI_Sendrecv(address, static_cast<int>(length), MPI_BYTE, peer, 1, peer_address.data(),
               static_cast<int>(peer_length), MPI_BYTE, peer, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  ucp_ep_params_t ep_params{};
  ep_params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS;
  ep_params.address = reinterpret_cast<ucp_address_t const*>(peer_address.data());
  ucp_ep_h endpoint = nullptr;
  require_ok(ucp_ep_create(worker, &ep_params, &endpoint));

  constexpr int batches = 41;
  constexpr int rounds = 200;
  std::vector<double> times;
  for (int batch = 0; batch < batches; ++batch) {
    double const start = MPI_Wtime();
    for (int i = 0; i < rounds; ++i) {
      long const next = arrived + 1;
      if (bench::rank() == 0) {
        send(worker, endpoint);
        wait_for(worker, next);
      } else {
        wait_for(worker, next);
        send(worker, endpoint);
      }
    }
    times.push_back((MPI_Wtime() - start) / rounds * 1e6);
  }
  if (bench::rank() == 0) {
    std::nth_element(times.begin(), times.begin() + batches / 2, times.end());
    std::printf("am,ucx,round_trip,none,1,8,%.5f\n", times[batches / 2]);
    std::fflush(stdout);
  }
  // The other side may still need this one's progress.
  MPI_Request barrier = MPI_REQUEST_NULL;
  int done = 0;
  MPI_Ibarrier(MPI_COMM_WORLD, &barrier);
  while (done == 0) {
    ucp_worker_progress(worker);
    MPI_Test(&barrier, &done, MPI_STATUS_IGNORE);
  }
  MPI_Finalize();
  return 0;
}
