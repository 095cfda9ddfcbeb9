/// Answers questions about segments and exposures of this process, and makes the processes that know them
/// drop them before their end. Under the channel's lock.
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
  /// Packs the remote key of a segment for a peer that wants to use it; empty if there is none.
  using KeyProvider = std::function<std::vector<std::byte>(OwnSegment const&)>;

  SegmentQueries(SegmentTable const& segments, Credentials const& credentials, OriginTable const& origins,
                 Replies& replies)
      : segments_(segments), credentials_(credentials), origins_(origins), replies_(replies) {}

  void set_key_provider(KeyProvider provider) { provide_key_ = std::move(provider); }

  void answer(Origin& origin, wire::CheckedRequest const& request);

  /// Makes every peer that knows the segment or exposure with this number, at `base`, drop it.
  void revoke(std::uint64_t number, RemoteAddress base);
  /// Whether all peers have done so.
  bool revoked(std::uint64_t number) const { return holders_.is_unknown(number); }
  /// The process has dropped it.
  void note_dropped(std::uint64_t number, std::uint64_t process) { holders_.remove(number, process); }

  /// The process knows nothing any more. The keys that it has seen may be copied where strangers connect.
  void forget_process(std::uint64_t process) noexcept;
  /// Adds to `numbers` the segments and exposures known to processes that have ended since the last
  /// forget_left(). Processes that copied their keys still have them.
  void find_left(std::set<std::uint64_t>* numbers) const { holders_.find_left(numbers); }
  void forget_left() noexcept { holders_.forget_left(); }

 private:
  SegmentTable const& segments_;  ///< does not change while this channel is locked
  Credentials const& credentials_;
  OriginTable const& origins_;
  Replies& replies_;
  KeyProvider provide_key_;
  KeyHolders holders_;
};

}  // namespace mpixrma::engine
