/// The processes that send requests to this one, and those that have ended. Under the channel's lock.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "engine/target/origin.hpp"

namespace mpixrma::engine {

/// The tokens of recently ended sessions, whose late messages are expected.
class RecentTokens {
 public:
  void add(std::uint64_t token) noexcept { tokens_[next_++ % tokens_.size()] = token; }
  bool contain(std::uint64_t token) const noexcept {
    return token != 0 && std::find(tokens_.begin(), tokens_.end(), token) != tokens_.end();
  }

 private:
  std::array<std::uint64_t, 64> tokens_{};
  std::size_t next_ = 0;
};

/// The most recently ended origins: enough of them to recognise handshakes that are still in flight. No
/// message of an origin that ended earlier can still arrive.
class EndedOrigins {
 public:
  /// For a process whose incarnation is unknown.
  static constexpr std::uint64_t any_incarnation = UINT64_MAX;

  void add(std::uint64_t process, std::uint64_t incarnation, std::uint64_t messages) {
    std::size_t const place = place_of(process);
    if (place == ended_.size()) return add_new({process, incarnation, messages});
    if (incarnation != any_incarnation) ended_[place].incarnation = incarnation;
    ended_[place].messages += messages;
  }
  /// Whether this incarnation of the process, or a later one, has ended.
  bool contain(std::uint64_t process, std::uint64_t incarnation) const noexcept {
    std::size_t const place = place_of(process);
    return place != ended_.size() && incarnation <= ended_[place].incarnation;
  }
  /// Returns the number of executed messages of the process.
  std::uint64_t messages_of(std::uint64_t process) const noexcept {
    std::size_t const place = place_of(process);
    return place != ended_.size() ? ended_[place].messages : 0;
  }

 private:
  static constexpr std::size_t most = 256;
  struct Ended {
    std::uint64_t process;
    std::uint64_t incarnation;
    std::uint64_t messages;
  };

  std::size_t place_of(std::uint64_t process) const noexcept {
    auto const found = std::find_if(ended_.begin(), ended_.end(),
                                    [&](Ended const& ended) { return ended.process == process; });
    return static_cast<std::size_t>(found - ended_.begin());
  }
  void add_new(Ended const& ended) {
    if (ended_.size() < most) {
      ended_.push_back(ended);
    } else {
      ended_[next_++ % most] = ended;
    }
  }

  std::vector<Ended> ended_;
  std::size_t next_ = 0;  ///< the oldest one, once there are `most`
};

/// The known origins, by process and by session.
class OriginTable {
 public:
  /// Returns nullptr if the process is no origin.
  Origin* find(std::uint64_t process) const noexcept;
  /// Returns the origin whose session has this token for requests, or nullptr.
  Origin* of_session(std::uint64_t token) const noexcept;
  std::size_t size() const noexcept { return origins_.size(); }
  /// Calls `visit(origin)` for each origin.
  template <typename Function>
  void for_each(Function visit) const {
    for (auto const& [process, origin] : origins_) visit(*origin);
  }
  /// Number of origins that know this process under the identity `target`.
  std::size_t count_of(std::uint64_t target) const noexcept;

  /// The table must not contain the origin's process. Returns false if another origin has the same session.
  bool add(std::unique_ptr<Origin> origin);
  /// Destroys the origin, and records that its process has ended.
  void remove(Origin& origin);
  /// Records the end of a process that is not in the table.
  void note_ended(std::uint64_t process) { gone_.add(process, EndedOrigins::any_incarnation, 0); }

  /// Whether this incarnation of the process, or a later one, has ended.
  bool has_ended(std::uint64_t process, std::uint64_t incarnation) const noexcept {
    return gone_.contain(process, incarnation);
  }
  /// Whether messages with the token are left behind by an ended process.
  bool is_ended_session(std::uint64_t token) const noexcept { return ended_.contain(token); }

  /// Returns the process whose session has this token for requests; nothing for an unauthenticated peer.
  std::optional<std::uint64_t> process_of(std::uint64_t token) const noexcept;
  /// Returns the token for replies of the process's session; 0: none.
  std::uint64_t session_with(std::uint64_t process) const noexcept;
  /// Value of Origin::last_use; 0: the process is no origin.
  std::uint64_t last_use(std::uint64_t process) const noexcept;
  /// Number of requests of one process that were executed or rejected; also for recently ended processes.
  std::uint64_t messages_of(std::uint64_t process) const noexcept;

 private:
  std::unordered_map<std::uint64_t, std::unique_ptr<Origin>> origins_;  ///< by process
  std::unordered_map<std::uint64_t, Origin*> sessions_;                 ///< by SessionTokens::request
  EndedOrigins gone_;
  RecentTokens ended_;  ///< tokens of ended sessions
};

}  // namespace mpixrma::engine
