#include "tests/nam/soak/client.hpp"

#include <chrono>
#include <optional>
#include <random>
#include <span>
#include <thread>
#include <vector>

#include "nam/client/session.hpp"

namespace mpixrma::nam::soak {

namespace {

constexpr auto pause_after_refusal = std::chrono::milliseconds(20);

class SoakClient {
 public:
  SoakClient(Ledger& ledger, ClientSetting const& setting)
      : ledger_(ledger),
        record_(ledger.clients[setting.number]),
        setting_(setting),
        random_(setting.seed) {}

  void run() {
    while (!ledger_.ends) {
      try {
        connect();
        while (!ledger_.ends) step();
      } catch (Error const& error) {
        record_.refusals++;
        // A window whose creation was acknowledged is never absent.
        if (error.code() == ErrorCode::not_found)
          ledger_.fail("client " + std::to_string(setting_.number) + ": " + error.what());
        mapping_.reset();
        session_.reset();
        std::this_thread::sleep_for(pause_after_refusal);
      }
    }
  }

 private:
  void connect() {
    session_.emplace(Session::connect(record_.port.data(), &window_));
    if (setting_.maps_memory) mapping_.emplace(session_->map());
  }

  void step() {
    if (std::uint64_t const round = ledger_.round; record_.last_round != round) {
      for (std::size_t block = 0; block < block_count; ++block) check(block);
      record_.last_round = round;
    }
    std::size_t const block = random_() % block_count;
    switch (random_() % 16) {
      case 0: return persist();
      case 1:
      case 2:
      case 3: return check(block);
      default: return write(block);
    }
  }

  std::uint64_t word(std::size_t block, std::uint64_t number) const noexcept {
    return number | std::uint64_t{block} << 48 | std::uint64_t{setting_.number} << 56;
  }

  void write(std::size_t block) {
    Block& known = record_.blocks[block];
    std::uint64_t const deaths = ledger_.deaths;
    std::uint64_t const number = known.attempted + 1;
    known.attempted = number;
    std::vector<std::uint64_t> const words(words_of_block, word(block, number));
    std::span const bytes = std::as_bytes(std::span(words));
    if (mapping_) {
      std::copy(bytes.begin(), bytes.end(), mapping_->at(window_.regions[0]) + block * block_bytes);
      if (!session_->is_open()) throw Error(ErrorCode::unavailable, "the data process has ended");
    } else {
      session_->write(window_, 0, block * block_bytes, bytes);
    }
    acknowledge(known, number, deaths);
    record_.writes++;
  }

  /// Counts a write as acknowledged, unless all processes of the server were killed during the write: its
  /// data may then be lost.
  void acknowledge(Block& known, std::uint64_t number, std::uint64_t deaths) {
    if (deaths % 2 == 0) known.acknowledged = number;
    if (ledger_.deaths != deaths) known.forget_unpersisted();
  }

  void persist() {
    std::uint64_t const deaths = ledger_.deaths;
    std::array<std::uint64_t, block_count> numbers;
    for (std::size_t i = 0; i < block_count; ++i) numbers[i] = record_.blocks[i].acknowledged;
    session_->persist(window_);
    if (deaths % 2 != 0 || ledger_.deaths != deaths) return;
    for (std::size_t i = 0; i < block_count; ++i) record_.blocks[i].persisted = numbers[i];
    record_.persists++;
  }

  void check(std::size_t block) {
    std::uint64_t const deaths = ledger_.deaths;
    std::uint64_t const least = record_.blocks[block].acknowledged;
    std::vector<std::uint64_t> words(words_of_block);
    session_->read(window_, 0, block * block_bytes, std::as_writable_bytes(std::span(words)));
    if (deaths % 2 != 0 || ledger_.deaths != deaths) return;
    std::uint64_t const most = record_.blocks[block].attempted;
    for (std::uint64_t const found : words) {
      bool const untouched = found == 0 && least == 0;
      if (!untouched && (found < word(block, least) || found > word(block, most)))
        return ledger_.fail("client " + std::to_string(setting_.number) + ", block " + std::to_string(block) + ": found " +
                            std::to_string(found & 0xffffffffffff) + ", acknowledged " + std::to_string(least) +
                            ", attempted " + std::to_string(most));
    }
    record_.checks++;
  }

  Ledger& ledger_;
  ClientRecord& record_;
  ClientSetting setting_;
  std::mt19937_64 random_;
  std::optional<Session> session_;
  std::optional<GrantMapping> mapping_;
  WindowInfo window_;
};

}  // namespace

void run_client(Ledger& ledger, ClientSetting const& setting) noexcept {
  try {
    SoakClient(ledger, setting).run();
  } catch (std::exception const& error) {
    ledger.fail("client " + std::to_string(setting.number) + ": " + error.what());
  }
}

}  // namespace mpixrma::nam::soak
