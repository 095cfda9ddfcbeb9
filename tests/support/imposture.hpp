/// Helpers for programs that communicate with an engine without being one: publications of its peers, and
/// messages.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <utility>
#include <vector>

#include "engine/net/address.hpp"
#include "engine/net/address_service.hpp"
#include "engine/net/session.hpp"
#include "engine/net/wire.hpp"
#include "tests/support/job.hpp"
#include "tests/support/rogue.hpp"

namespace mpixrma::test {

struct Text {
  std::vector<std::byte> header;
  std::vector<std::byte> payload;
};

template <typename Header>
std::vector<std::byte> bytes_of(Header const& header) {
  std::vector<std::byte> bytes(sizeof header);
  std::memcpy(bytes.data(), &header, sizeof header);
  return bytes;
}

/// The publication of a process of the job.
struct Target {
  engine::ProcessAddress address;
  engine::Secret secret{};

  /// Returns the worker for messages of `process`; the others drop its handshakes.
  std::vector<std::byte> const& worker_for(std::uint64_t process) const {
    return address.workers.at(engine::worker_for(process, address.workers.size()));
  }
};

inline Target published_by(Rank& rank, int of) {
  Target target;
  EXPECT_TRUE(engine::read_published(rank.address_of(of), &target.address, &target.secret));
  return target;
}

/// Returns the publication with the addresses of workers: deferred UCX starts.
inline Target target_of(Rank& rank, int of) {
  Target target = published_by(rank, of);
  if (!target.address.is_deferred) return target;
  auto const self = engine::Credentials::make(0);
  engine::AddressQueries queries(self);
  queries.ask(target.address.process, target.secret, target.address.workers.front());
  std::vector<engine::AddressQueries::Result> results;
  for (int ms = 0; results.empty() && ms < 20000 * slowness; ++ms) {
    queries.take_results([&](engine::AddressQueries::Result const& result) { results.push_back(result); });
    if (results.empty()) ::usleep(1000);
  }
  EXPECT_TRUE(!results.empty() && engine::decode(results.front().address, &target.address));
  return target;
}

/// The identity that a program claims.
struct Identity {
  engine::ProcessAddress address;
  std::array<std::byte, 16> nonce{};

  engine::SessionOpening opening_to(Target const& target, std::uint64_t number) const {
    return {address.process, address.incarnation, target.address.process, number, 1, nonce};
  }
};

/// Returns the identity of `process`, on the host of `rank`, with the rogue's worker as address.
inline Identity identity_beside(Rank& rank, Rogue const& rogue, std::uint64_t process) {
  Identity self{published_by(rank, rank.rank()).address, {}};
  self.address.process = process;
  self.address.is_deferred = false;
  self.address.workers = {rogue.worker_address()};
  self.nonce.fill(std::byte{7});
  return self;
}

inline Text handshake_message(std::vector<std::byte> payload) {
  auto header = engine::wire::begin_header<engine::wire::RequestHeader>(engine::wire::RequestKind::handshake);
  header.block = header.bytes = header.total = payload.size();
  return {bytes_of(header), std::move(payload)};
}

/// Returns a put of one word.
inline Text put_of(std::uint64_t session, std::uint64_t sequence, engine::RemoteAddress address,
                   std::uint64_t value) {
  auto header = engine::wire::begin_header<engine::wire::RequestHeader>(engine::wire::RequestKind::put);
  header.session = session;
  header.sequence = sequence;
  header.address = address;
  header.block = header.bytes = header.total = sizeof value;
  return {bytes_of(header), bytes_of(value)};
}

}  // namespace mpixrma::test
