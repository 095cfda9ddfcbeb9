#include "tests/stress/requests.hpp"

#include <utility>

namespace mpixrma::stress {

namespace {

/// Attributes that an object must not bring into another operation.
constexpr std::uint64_t once = MPIX_RMA_ATTR_ACCUMULATE_SCALE | MPIX_RMA_ATTR_NOTIFY |
                               MPIX_RMA_ATTR_ORIGIN_COMMUNICATABLE | MPIX_RMA_ATTR_TARGET_COMMUNICATABLE;

template <typename Request>
Request* push(std::vector<Request>& requests, std::vector<bool>& again, Request first, bool reusable) {
  requests.push_back(first);
  again.push_back(reusable);
  return &requests.back();
}

template <typename Request>
Request take_spare(std::vector<Request>& spare, Request none) {
  if (spare.empty()) return none;
  Request const taken = spare.back();
  spare.pop_back();
  return taken;
}

}  // namespace

Requests::Requests(Random& random, std::size_t most, Require require)
    : random_(random), require_(std::move(require)) {
  native_.reserve(most);  // addresses stay
  own_.reserve(most);
}

Requests::~Requests() {
  for (MPI_Request& request : spare_native_) MPI_Request_free(&request);
  for (MPIX_Rma_request& request : spare_own_) MPIX_Rma_request_free(&request);
}

MPI_Request* Requests::native() { return push<MPI_Request>(native_, native_again_, MPI_REQUEST_NULL, false); }
MPIX_Rma_request* Requests::own() {
  return push<MPIX_Rma_request>(own_, own_again_, MPIX_RMA_REQUEST_NULL, false);
}

template <typename Request, typename Set>
void Requests::set_all(Request* request, MPIX_RMA_Attributes const& attributes, Set set) {
  auto const on = [&](std::uint64_t bit, int key, void* value) {
    if ((attributes.set & bit) != 0) require_(set(request, key, value), "set attribute");
  };
  on(MPIX_RMA_ATTR_ATOMICITY, MPIX_RMA_KEY_ATOMICITY, MPIX_RMA_ON);
  on(MPIX_RMA_ATTR_ORDERING, MPIX_RMA_KEY_ORDERING, MPIX_RMA_ON);
  on(MPIX_RMA_ATTR_BLOCKING, MPIX_RMA_KEY_BLOCKING, MPIX_RMA_ON);
  on(MPIX_RMA_ATTR_REMOTE_COMPLETION, MPIX_RMA_KEY_REMOTE_COMPLETION, MPIX_RMA_ON);
  on(MPIX_RMA_ATTR_ACCUMULATE_OP, MPIX_RMA_KEY_ACCUMULATE_OP, MPIX_RMA_OP_VALUE(attributes.accumulate_op));
  on(MPIX_RMA_ATTR_ACCUMULATE_SCALE, MPIX_RMA_KEY_ACCUMULATE_SCALE, const_cast<void*>(attributes.accumulate_scale));
  on(MPIX_RMA_ATTR_NOTIFY, MPIX_RMA_KEY_NOTIFY, MPIX_RMA_INDEX_VALUE(attributes.notify_index));
  bool const origin = (attributes.set & MPIX_RMA_ATTR_ORIGIN_COMMUNICATABLE) != 0;
  bool const target = (attributes.set & MPIX_RMA_ATTR_TARGET_COMMUNICATABLE) != 0;
  if (origin || target) {
    void* const value = origin && target ? MPIX_RMA_BOTH : origin ? MPIX_RMA_ORIGIN : MPIX_RMA_TARGET;
    require_(set(request, MPIX_RMA_KEY_COMMUNICATABLE, value), "set attribute");
  }
}

MPI_Request* Requests::native_with(MPIX_RMA_Attributes const& attributes) {
  bool const reusable = (attributes.set & once) == 0 && attributes.set != 0;
  MPI_Request const first = take_spare<MPI_Request>(spare_native_, MPI_REQUEST_NULL);
  MPI_Request* const request = push(native_, native_again_, first, reusable);
  set_all(request, attributes, &MPIX_Req_set_attr);
  return request;
}

MPIX_Rma_request* Requests::own_with(MPIX_RMA_Attributes const& attributes) {
  bool const reusable = (attributes.set & once) == 0 && attributes.set != 0;
  MPIX_Rma_request const first = take_spare<MPIX_Rma_request>(spare_own_, MPIX_RMA_REQUEST_NULL);
  MPIX_Rma_request* const request = push(own_, own_again_, first, reusable);
  set_all(request, attributes, &MPIX_Rma_request_set_attr);
  return request;
}

void Requests::finish_native() {
  int const count = static_cast<int>(native_.size());
  int flag = 0;
  int index = 0;
  switch (random_() % 4) {
    case 0: require_(MPI_Waitall(count, native_.data(), MPI_STATUSES_IGNORE), "MPI_Waitall"); break;
    case 1:
      while (flag == 0)
        require_(MPI_Testall(count, native_.data(), &flag, MPI_STATUSES_IGNORE), "MPI_Testall");
      break;
    case 2:
      while (index != MPI_UNDEFINED)
        require_(MPI_Waitany(count, native_.data(), &index, MPI_STATUS_IGNORE), "MPI_Waitany");
      break;
    default:
      for (auto it = native_.rbegin(); it != native_.rend(); ++it)
        require_(MPI_Wait(&*it, MPI_STATUS_IGNORE), "MPI_Wait");
      break;
  }
}

bool Requests::finish_own() {
  int const count = static_cast<int>(own_.size());
  int flag = 0;
  int index = 0;
  switch (random_() % 5) {
    case 0: require_(MPIX_Rma_request_waitall(count, own_.data()), "MPIX_Rma_request_waitall"); break;
    case 1:
      while (flag == 0) require_(MPIX_Rma_request_testall(count, own_.data(), &flag), "MPIX_Rma_request_testall");
      break;
    case 2:
      while (index != MPI_UNDEFINED)
        require_(MPIX_Rma_request_waitany(count, own_.data(), &index), "MPIX_Rma_request_waitany");
      break;
    case 3:
      for (MPIX_Rma_request& request : own_) {
        for (flag = 0; flag == 0;) require_(MPIX_Rma_request_test(&request, &flag), "MPIX_Rma_request_test");
      }
      break;
    default: return false;  // freed while they are active: the communicator completes them
  }
  return true;
}

void Requests::finish() {
  finish_native();
  bool const waited = finish_own();
  constexpr std::size_t max_spare = 8;
  for (std::size_t i = 0; i < native_.size(); ++i) {
    if (native_[i] == MPI_REQUEST_NULL) continue;
    if (native_again_[i] && spare_native_.size() < max_spare) {
      spare_native_.push_back(native_[i]);
    } else {
      require_(MPI_Request_free(&native_[i]), "MPI_Request_free");
    }
  }
  for (std::size_t i = 0; i < own_.size(); ++i) {
    if (own_[i] == MPIX_RMA_REQUEST_NULL) continue;
    if (waited && own_again_[i] && spare_own_.size() < max_spare) {
      spare_own_.push_back(own_[i]);
    } else {
      require_(MPIX_Rma_request_free(&own_[i]), "MPIX_Rma_request_free");
    }
  }
  native_.clear();
  own_.clear();
  native_again_.clear();
  own_again_.clear();
}

}  // namespace mpixrma::stress
