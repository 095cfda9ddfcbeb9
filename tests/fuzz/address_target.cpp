/// Addresses of processes: damaged ones are rejected or harmless, and a decoded address can be encoded again.
#include <vector>

#include "engine/net/address.hpp"
#include "tests/fuzz/targets.hpp"

namespace mpixrma::fuzz {

namespace {

// The first byte of an input: the rest is a whole address, or describes how to damage a valid one.
constexpr unsigned raw_bit = 1;

std::vector<std::byte> damaged(Reader& reader) {
  engine::ProcessAddress address;
  address.process = reader.byte();
  address.incarnation = address.process * 3;
  address.pid = static_cast<pid_t>(reader.byte());
  address.host = engine::HostIdentity::of_this_process();
  Input const worker = reader.take(reader.byte());
  address.workers.emplace_back(worker.begin(), worker.end());
  for (unsigned more = reader.byte() % engine::max_workers; more != 0; --more) {
    Input const other = reader.take(reader.byte());
    address.workers.emplace_back(other.begin(), other.end());
  }
  std::vector<std::byte> bytes = engine::encode(address);
  for (unsigned changes = reader.byte() % 8; changes != 0; --changes) {
    std::size_t const at = (reader.byte() * std::size_t{256} + reader.byte()) % bytes.size();
    bytes[at] = static_cast<std::byte>(reader.byte());
  }
  bytes.erase(bytes.end() - static_cast<std::ptrdiff_t>(reader.byte() % bytes.size()), bytes.end());
  return bytes;
}

}  // namespace

bool address(Input input) {
  Reader reader(input);
  bool const raw = (reader.byte() & raw_bit) != 0;
  Input const rest = reader.rest();
  std::vector<std::byte> const bytes =
      raw ? std::vector<std::byte>(rest.begin(), rest.end()) : damaged(reader);
  engine::ProcessAddress address;
  if (!engine::decode(bytes, &address)) return false;
  std::size_t workers = 0;
  for (auto const& worker : address.workers) workers += worker.size();
  require(workers <= bytes.size(), "worker addresses that are longer than the whole");
  engine::ProcessAddress again;
  require(engine::decode(engine::encode(address), &again), "an address that cannot be decoded again");
  require(again.process == address.process && again.incarnation == address.incarnation &&
              again.host == address.host && again.workers == address.workers,
          "an address that is another one after it was encoded");
  return true;
}

}  // namespace mpixrma::fuzz
