/// Delayed answers: an object is absent or hidden from the user, or a proof has failed.
#pragma once

#include <map>

#include "nam/process/event_loop.hpp"
#include "nam/protocol/error.hpp"
#include "nam/server/clients.hpp"
#include "nam/server/request.hpp"
#include "nam/server/retry.hpp"

namespace mpixrma::nam {

struct Refusal {
  ClientId client;
  Retry::Clock::time_point due;  ///< at first when the request came; add() delays it
  Error error;
  bool is_quiet;
};

class Refusals {
 public:
  Refusals(EventLoop& loop, Clients& clients) noexcept : loop_(loop), clients_(clients) {}
  Refusals(Refusals const&) = delete;
  Refusals& operator=(Refusals const&) = delete;

  void add(Refusal refusal);

 private:
  void send();

  EventLoop& loop_;
  Clients& clients_;
  std::multimap<Retry::Clock::time_point, Refusal> refusals_;  ///< by the time when they are due
  int timer_ = -1;
};

}  // namespace mpixrma::nam
