/// The lower bound between two hosts: round trip of a bare UCX active message with 8 bytes, both sides
/// polling, and UCX's own puts of 8 bytes, from both sides at once, without waiting for each put.
///
/// usage: bench_am    (2 ranks)
#include <mpi.h>
#include <ucp/api/ucp.h>

#include <cstdint>
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

void finish(ucp_worker_h worker, ucs_status_ptr_t request) {
  if (!UCS_PTR_IS_PTR(request)) return require_ok(UCS_PTR_STATUS(request));
  while (ucp_request_check_status(request) == UCS_INPROGRESS) ucp_worker_progress(worker);
  ucp_request_free(request);
}

/// Synchronises both sides; each drives UCX for the other meanwhile.
void meet(ucp_worker_h worker) {
  MPI_Request barrier = MPI_REQUEST_NULL;
  int done = 0;
  MPI_Ibarrier(MPI_COMM_WORLD, &barrier);
  while (done == 0) {
    ucp_worker_progress(worker);
    MPI_Test(&barrier, &done, MPI_STATUS_IGNORE);
  }
}

/// Memory of this process that the other one puts to, and the other process's memory.
class Memory {
 public:
  Memory(ucp_context_h context, ucp_ep_h endpoint) {
    ucp_mem_map_params_t params{};
    params.field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS | UCP_MEM_MAP_PARAM_FIELD_LENGTH;
    params.address = &word_;
    params.length = sizeof word_;
    ucp_mem_h memory = nullptr;
    require_ok(ucp_mem_map(context, &params, &memory));
    void* packed = nullptr;
    std::size_t bytes = 0;
    require_ok(ucp_rkey_pack(context, memory, &packed, &bytes));
    int const peer = 1 - bench::rank();
    std::vector<char> key(bytes);  // same length, because both use the same networks
    MPI_Sendrecv(packed, static_cast<int>(bytes), MPI_BYTE, peer, 2, key.data(), static_cast<int>(bytes),
                 MPI_BYTE, peer, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    auto const own = reinterpret_cast<std::uint64_t>(&word_);
    MPI_Sendrecv(&own, sizeof own, MPI_BYTE, peer, 3, &address_, sizeof address_, MPI_BYTE, peer, 3,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    require_ok(ucp_ep_rkey_unpack(endpoint, key.data(), &key_));
  }
  Memory(Memory const&) = delete;
  Memory& operator=(Memory const&) = delete;

  void put(ucp_ep_h endpoint) {
    static long const value = 1;
    ucp_request_param_t const param{};
    ucs_status_ptr_t const request = ucp_put_nbx(endpoint, &value, sizeof value, address_, key_, &param);
    if (UCS_PTR_IS_PTR(request)) return ucp_request_free(request);  // the flush waits for it
    require_ok(UCS_PTR_STATUS(request));
  }

 private:
  long word_ = 0;
  std::uint64_t address_ = 0;
  ucp_rkey_h key_ = nullptr;
};

/// Measures a stream of puts as bench_streams does.
void stream(ucp_worker_h worker, ucp_context_h context, ucp_ep_h endpoint) {
  Memory memory(context, endpoint);
  constexpr int operations = 2000;
  constexpr int repetitions = 7;
  std::vector<double> times;
  for (int repetition = 0; repetition < repetitions; ++repetition) {
    meet(worker);
    double const start = MPI_Wtime();
    for (int i = 0; i < operations; ++i) {
      memory.put(endpoint);
      ucp_worker_progress(worker);
    }
    ucp_request_param_t const param{};
    finish(worker, ucp_ep_flush_nbx(endpoint, &param));
    double const mine = (MPI_Wtime() - start) / operations * 1e6;
    meet(worker);
    double slower = 0;
    MPI_Allreduce(&mine, &slower, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    times.push_back(slower);
  }
  std::nth_element(times.begin(), times.begin() + repetitions / 2, times.end());
  if (bench::rank() == 0) std::printf("stream,ucx,put,alone,1,8,%.5f\n", times[repetitions / 2]);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  ucp_params_t params{};
  params.field_mask = UCP_PARAM_FIELD_FEATURES;
  params.features = UCP_FEATURE_AM | UCP_FEATURE_RMA;
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
  meet(worker);  // the other side may still need this one's progress
  stream(worker, context, endpoint);
  MPI_Finalize();
  return 0;
}
