/// A man in the middle between a client and its data process: he repeats, leaves out, exchanges, changes,
/// cuts and reflects records of the session in both directions.
#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "nam/protocol/operation_request.hpp"
#include "tests/nam/attacks/network.hpp"
#include "tests/support/seed.hpp"

namespace mpixrma::nam {
namespace {

enum class Act { repeat, repeat_later, leave_out, exchange, change_length, change_text, cut, reflect };
constexpr std::array acts{Act::repeat,        Act::repeat_later, Act::leave_out, Act::exchange,
                          Act::change_length, Act::change_text,  Act::cut,       Act::reflect};

using Record = std::vector<char>;

/// The bytes of one direction, divided into the handshake, the header of the stream, and records.
class Direction {
 public:
  void add(std::vector<char> const& bytes) { input_.insert(input_.end(), bytes.begin(), bytes.end()); }
  /// Returns the next whole part; an empty one if there is none.
  Record next() {
    std::size_t const length = length_of_next();
    if (length == 0 || input_.size() < length) return {};
    auto const end = input_.begin() + static_cast<std::ptrdiff_t>(length);
    Record const part(input_.begin(), end);
    input_.erase(input_.begin(), end);
    ++parts_;
    return part;
  }
  /// Whether next() has returned a record.
  bool is_record() const { return parts_ > 2; }

 private:
  std::size_t length_of_next() const {
    constexpr std::size_t frame_header = 16;
    std::uint32_t length = 0;
    if (parts_ == 0) {
      if (input_.size() < frame_header) return 0;
      std::memcpy(&length, input_.data() + 4, sizeof length);
      return frame_header + length;
    }
    if (parts_ == 1) return 24;
    if (input_.size() < sizeof length) return 0;
    std::memcpy(&length, input_.data(), sizeof length);
    return sizeof length + length;
  }

  std::vector<char> input_;
  std::size_t parts_ = 0;
};

/// Meddles with one record of one direction, counted from arm() on.
class Meddler {
 public:
  Meddler(Act act, bool changes_requests, std::size_t position)
      : act_(act), changes_requests_(changes_requests), position_(position) {}
  void arm() { is_armed_ = true; }

  void operator()(bool from_client, std::vector<char>& bytes) {
    Direction& way = ways_[from_client ? 1 : 0];
    way.add(bytes);
    bytes.clear();
    for (Record part = way.next(); !part.empty(); part = way.next()) {
      bool const counts = is_armed_ && way.is_record();
      if (counts && from_client != changes_requests_) reflected_ = part;
      if (!counts || from_client != changes_requests_) {
        append(part, &bytes);
      } else {
        pass(count_++, part, &bytes);
      }
    }
  }

 private:
  static void append(Record const& part, std::vector<char>* bytes) {
    bytes->insert(bytes->end(), part.begin(), part.end());
  }
  void pass(std::size_t index, Record part, std::vector<char>* bytes) {
    if (index == position_) {
      kept_ = part;
      return meddle(std::move(part), bytes);
    }
    append(part, bytes);
    if (act_ == Act::exchange && index == position_ + 1) append(kept_, bytes);
    if (act_ == Act::repeat_later && index == position_ + 1) append(kept_, bytes);
  }
  void meddle(Record part, std::vector<char>* bytes) const {
    switch (act_) {
      case Act::leave_out:
      case Act::exchange: return;
      case Act::repeat: append(part, bytes); break;
      case Act::repeat_later: break;
      case Act::change_length: part[0] = static_cast<char>(part[0] ^ 1); break;
      case Act::change_text: part.back() = static_cast<char>(part.back() ^ 0x40); break;
      case Act::cut: part.resize(part.size() / 2); break;
      case Act::reflect: part = reflected_.empty() ? Record(part.size(), 'x') : reflected_; break;
    }
    append(part, bytes);
  }

  Act act_;
  bool changes_requests_;
  std::size_t position_;
  std::atomic<bool> is_armed_ = false;
  std::array<Direction, 2> ways_;
  std::size_t count_ = 0;
  Record kept_;
  Record reflected_;
};

/// A guest's session that counts in a window.
class Proxy : public Network {
 protected:
  static constexpr std::size_t operations = 12;

  void begin_counting() {
    start();
    grant_ = server_.grant(1u << 20);
    window_ = Session::open(grant_).allocate({64}, {8}, {.persistent = true, .mode = 0666});
  }
  Channel session_through(Address const& proxy) {
    std::uint16_t const direct = std::exchange(address_.port, proxy.port);
    Channel channel = session({{"op", "connect"}, {"port", window_.port}});
    address_.port = direct;
    return channel;
  }
  /// Sends all requests, each of which adds 1, at once. Returns the number of answers, and expects that they
  /// have consecutive values from `first` on.
  std::size_t count(Channel& channel, std::int64_t first) const {
    std::int64_t const one = 1;
    engine::LayoutRun const run{0, sizeof one};
    OperationRequest add;
    add.kind = OperationRequest::Kind::update;
    add.operation = engine::ReduceOp::sum;
    add.type = engine::ElementType::int64;
    add.fetches_previous = true;
    add.runs = {&run, 1};
    add.operand = std::as_bytes(std::span(&one, 1));
    for (std::size_t i = 0; i < operations; ++i) {
      Json head{{"op", "operate"}, {"window", window_.id}, {"rank", 0}};
      std::vector<std::byte> data = pack(add, &head);
      channel.post(head, std::move(data));
    }
    std::size_t answers = 0;
    try {
      for (; answers < operations; ++answers) {
        auto const answer = await_message(channel);
        if (!answer || answer->head.contains("error")) break;
        std::int64_t before = -1;
        EXPECT_EQ(answer->data.size(), sizeof before) << answer->head;
        if (answer->data.size() == sizeof before) std::memcpy(&before, answer->data.data(), sizeof before);
        EXPECT_EQ(before, first + static_cast<std::int64_t>(answers));
      }
    } catch (Error const& error) {
      EXPECT_EQ(error.code(), ErrorCode::malformed) << error.what();
    }
    return answers;
  }
  std::int64_t counted() const {
    Session session = Session::open(grant_);
    std::int64_t value = -1;
    session.read(session.join(window_.id), 0, 0, std::as_writable_bytes(std::span(&value, 1)));
    return value;
  }
  /// Meddles with a record of the requests or of the answers, and checks which requests were executed.
  void expect_prefix(Act act, bool changes_requests, std::size_t position) {
    std::int64_t const before = counted();
    std::size_t const sound = position + (act == Act::repeat ? 1 : act == Act::repeat_later ? 2 : 0);
    Meddler meddler(act, changes_requests, position);
    TcpProxy const between(address_,
                           [&](bool from_client, std::vector<char>& bytes) { meddler(from_client, bytes); });
    Channel channel = session_through(between.address());
    meddler.arm();
    std::size_t const answers = count(channel, before);
    // Answers before an error may be lost with the connection.
    if (changes_requests) {
      EXPECT_LE(answers, sound);
    } else {
      EXPECT_EQ(answers, sound);
    }
    std::int64_t const expected = before + static_cast<std::int64_t>(changes_requests ? sound : operations);
    EXPECT_TRUE(eventually([&] { return counted() >= expected; })) << counted();
    EXPECT_EQ(counted(), expected);
  }

  Locator grant_;
  WindowInfo window_;
};

TEST_F(Proxy, PassesUnchangedRecords) {
  begin_counting();
  TcpProxy const between(address_);
  Channel channel = session_through(between.address());
  EXPECT_EQ(count(channel, 0), operations);
  EXPECT_EQ(counted(), static_cast<std::int64_t>(operations));
}

/// Requests before a modified record are executed once, later ones not at all. Answers before a modified
/// record are accepted.
TEST_F(Proxy, EndsSessionAtModifiedRecord) {
  std::mt19937_64 random(test::seed());
  begin_counting();
  for (Act const act : acts) {
    for (bool const changes_requests : {true, false}) {
      std::size_t const position = random() % (operations - 3);
      SCOPED_TRACE("act " + std::to_string(static_cast<int>(act)) +
                   (changes_requests ? ", request " : ", answer ") + std::to_string(position));
      expect_prefix(act, changes_requests, position);
    }
  }
  EXPECT_TRUE(server_.answers());
}

/// A guest's session that copies more bytes in a message than a record has.
class LargeMessages : public Proxy {
 protected:
  static constexpr std::size_t bytes = 9 * SecureStream::record_bytes + 5000;
  static constexpr std::size_t last_record = bytes / SecureStream::record_bytes;

  void begin_copying() {
    start();
    grant_ = server_.grant(1u << 20);
    Session session = Session::open(grant_);
    window_ = session.allocate({bytes}, {1}, {.persistent = true, .mode = 0666});
    session.write(window_, 0, 0, former_);
  }
  /// Sends a request, meddles with a record of it or of its answer, and returns the answer, if there is one.
  std::optional<Message> copy(OperationRequest::Kind kind, Act act, std::size_t record) {
    bool const puts = kind == OperationRequest::Kind::put;
    Meddler meddler(act, puts, record);
    TcpProxy const between(address_,
                           [&](bool from_client, std::vector<char>& bytes) { meddler(from_client, bytes); });
    Channel channel = session_through(between.address());
    meddler.arm();
    engine::LayoutRun const run{0, bytes};
    OperationRequest request;
    request.kind = kind;
    request.runs = {&run, 1};
    if (puts) request.operand = fresh_;
    Json head{{"op", "operate"}, {"window", window_.id}, {"rank", 0}};
    std::vector<std::byte> data = pack(request, &head);
    channel.post(head, std::move(data));
    try {
      return await_message(channel);
    } catch (Error const& error) {
      EXPECT_EQ(error.code(), ErrorCode::malformed) << error.what();
      return std::nullopt;
    }
  }
  std::vector<std::byte> content() const {
    std::vector<std::byte> content(bytes);
    Session session = Session::open(grant_);
    session.read(session.join(window_.id), 0, 0, content);
    return content;
  }

  std::vector<std::byte> const former_ = std::vector<std::byte>(bytes, std::byte{3});
  std::vector<std::byte> const fresh_ = std::vector<std::byte>(bytes, std::byte{5});
};

/// Otherwise an attacker who changes a record would determine bytes of the window.
TEST_F(LargeMessages, PutWithChangedRecordStoresNoData) {
  begin_copying();
  for (Act const act : {Act::change_text, Act::repeat, Act::leave_out, Act::reflect}) {
    for (std::size_t const record : {last_record, last_record - 1}) {
      SCOPED_TRACE("act " + std::to_string(static_cast<int>(act)) + ", record " + std::to_string(record));
      // The repetition of the last record comes after the complete message, and the server would wait for a
      // record that is left out.
      if ((act == Act::repeat || act == Act::leave_out) && record == last_record) continue;
      auto const answer = copy(OperationRequest::Kind::put, act, record);
      EXPECT_FALSE(answer && answer->head.contains("executed")) << answer->head;
      EXPECT_TRUE(content() == former_);
    }
  }
}

TEST_F(LargeMessages, GetWithChangedRecordReturnsNoData) {
  begin_copying();
  for (Act const act : {Act::change_text, Act::reflect}) {
    auto const answer = copy(OperationRequest::Kind::get, act, last_record);
    EXPECT_FALSE(answer) << answer->head;
  }
}

}  // namespace
}  // namespace mpixrma::nam
