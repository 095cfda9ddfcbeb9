/// Parts of the state of the messages to a peer, each with its own rules. Under the channel's lock.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "engine/net/wire.hpp"
#include "engine/op/late_error.hpp"

namespace mpixrma::engine {

/// The credit of a stream: how much of the cost of its messages the peer has not processed yet.
class Credit {
 public:
  void charge(std::uint64_t cost) noexcept { sent_ += cost; }
  /// The peer has processed messages of the cost `processed`, and permits `limit` to be in flight. Returns
  /// false if that much was never sent.
  bool update(std::uint64_t processed, std::uint64_t limit) noexcept {
    if (processed > sent_) return false;
    processed_ = std::max(processed_, processed);
    limit_ = limit;
    return true;
  }
  /// Permits one message beyond the limit, so that a large message always gets through.
  bool permits_another() const noexcept { return sent_ == processed_ || sent_ - processed_ < limit_; }

 private:
  std::uint64_t sent_ = 0;
  std::uint64_t processed_ = 0;
  std::uint64_t limit_ = wire::initial_credit;
};

/// The newest messages whose acknowledgement the peer delays.
class DelayedAcknowledgements {
 public:
  void note(std::uint64_t sequence) noexcept {
    bool const follows = sequence == last_ + 1 && requested_ == 0;
    if (!follows || run_ != max_run) run_ = (follows ? run_ + 1 : 1) & max_run;
    last_ = sequence;
    requested_ = 0;
  }
  /// An empty message, whose acknowledgement is not delayed and covers the earlier ones.
  void note_request(std::uint64_t sequence) noexcept {
    note(sequence);
    requested_ = 1;
  }
  /// The acknowledgements of a batch that ends with the last noted message are delayed too. Which messages
  /// before the batch are acknowledged is not kept: all count as delayed.
  void note_batch() noexcept {
    run_ = static_cast<std::uint32_t>(std::min<std::uint64_t>(last_, max_run)) & max_run;
  }
  /// Returns the last message up to `newest` whose acknowledgement is not delayed.
  std::uint64_t newest_undelayed(std::uint64_t newest) const noexcept {
    return newest == last_ && requested_ != 0 ? newest : newest_operation(newest);
  }
  /// As the other newest_operation(), but passes over a request for the acknowledgement too: nothing is lost
  /// with it.
  std::uint64_t newest_operation(std::uint64_t newest) const noexcept {
    return newest == last_ ? last_ - run_ : newest;
  }

 private:
  static constexpr std::uint32_t max_run = INT32_MAX;
  std::uint64_t last_ = 0;
  std::uint32_t run_ : 31 = 0;       ///< number of consecutive such messages up to `last_`
  std::uint32_t requested_ : 1 = 0;  ///< `last_` requests the acknowledgement
};

/// Whether small operations to the peer come in series, and a thread waits after each series. The first
/// operation of such a series is not sent alone: it waits for the others.
class SeriesPrediction {
 public:
  bool expects_series() const noexcept { return series_ == enough; }
  /// A thread waited for several operations.
  void note_series() noexcept { series_ = std::min<std::uint8_t>(series_ + 1, enough); }
  /// An operation waited, and none followed.
  void note_single() noexcept { series_ = 0; }

 private:
  static constexpr std::uint8_t enough = 2;
  std::uint8_t series_ = 0;  ///< number of series in succession
};

/// Operations without a TrackedOperation object: the newest message of each context.
class UntrackedOperations {
 public:
  /// Lets a later failure find the context that must report it.
  void note(std::uint32_t context, std::uint64_t sequence) {
    auto const known = std::ranges::find(newest_, context, &std::pair<std::uint32_t, std::uint64_t>::first);
    if (known == newest_.end()) {
      newest_.emplace_back(context, sequence);
    } else {
      known->second = std::max(known->second, sequence);
    }
  }
  /// Messages up to `executed` are executed.
  void drop(std::uint64_t executed) noexcept {
    std::erase_if(newest_, [=](auto const& known) { return known.second <= executed; });
  }
  /// Nobody needs to know failures of the context's operations so far.
  void forget(std::uint32_t context) noexcept {
    std::erase_if(newest_, [=](auto const& known) { return known.first == context; });
  }
  /// The connection is lost: keeps a failure for each context with messages beyond `executed`.
  void fail(std::uint64_t executed, LateErrors& errors) const noexcept {
    for (auto const& [context, newest] : newest_) {
      if (newest <= executed) continue;
      // The mark of the first message that may be lost, so that a request for any of them reports the
      // failure.
      errors.keep(context, {.status = Status::transport, .memory = {}, .issued = {executed + 1, 0}});
    }
  }

 private:
  std::vector<std::pair<std::uint32_t, std::uint64_t>> newest_;
};

}  // namespace mpixrma::engine
