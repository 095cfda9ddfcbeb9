/// A client of the soak test, in a process of its own.
#pragma once

#include <string>

#include "tests/nam/soak/ledger.hpp"

namespace mpixrma::nam::soak {

struct ClientSetting {
  std::size_t number = 0;
  bool maps_memory = false;  ///< writes by stores into the grant's mapping; otherwise by requests
  unsigned seed = 0;
};

/// Writes and checks blocks of the client's window until the ledger ends the test. Reconnects after each loss
/// of the server. Failures go to the ledger.
void run_client(Ledger& ledger, ClientSetting const& setting) noexcept;

}  // namespace mpixrma::nam::soak
