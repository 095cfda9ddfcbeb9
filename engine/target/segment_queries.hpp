/// Replies to queries for segments and exposures of this process and, before memory is freed, revokes the
/// keys that other processes hold. Under the channel's lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <utility>
#include <vector>

#include "engine/memory/segment_table.hpp"
#include "engine/net/session.hpp"
#include "engine/net/wire.hpp"
#include "engine/target/key_holders.hpp"
#include "engine/target/origin.hpp"
#include "engine/target/origin_table.hpp"
#include "engine/target/replies.hpp"

namespace mpixrma::engine {

class SegmentQueries {
 public:
  /// Returns the packed remote key of a segment; empty if the segment has none, or none yet.
  using KeyProvider = std::function<std::vector<std::byte>(OwnSegment const&)>;

  SegmentQueries(SegmentTable const& segments, Credentials const& credentials, OriginTable const& origins,
                 Replies& replies)
      : segments_(segments), credentials_(credentials), origins_(origins), replies_(replies) {}

  void set_key_provider(KeyProvider provider) { provide_key_ = std::move(provider); }

  void reply(Origin& origin, wire::CheckedRequest const& request);

  /// Requests every peer that has a key of the segment or exposure with this number, at `base`, to drop the
  /// key.
  void revoke(std::uint64_t number, RemoteAddress base);
  /// Whether all peers have dropped their keys.
  bool revoked(std::uint64_t number) const { return holders_.is_unknown(number); }
  /// The process has dropped its key.
  void note_dropped(std::uint64_t number, std::uint64_t process) { holders_.remove(number, process); }

  /// Forgets the keys of a process that has disconnected. With Credentials::exposed_only, the process may
  /// have copied them.
  void forget_process(std::uint64_t process) noexcept;
  /// As KeyHolders::find_departed(): copies of the keys of these segments and exposures may still be in use.
  void find_departed(std::set<std::uint64_t>* numbers) const { holders_.find_departed(numbers); }
  void forget_departed() noexcept { holders_.forget_departed(); }

 private:
  SegmentTable const& segments_;  ///< does not change while this channel is locked
  Credentials const& credentials_;
  OriginTable const& origins_;
  Replies& replies_;
  KeyProvider provide_key_;
  KeyHolders holders_;
};

}  // namespace mpixrma::engine
