/// Batches: records are read within the received bytes, and writing them again yields the same content.
#include <cstring>
#include <memory>
#include <vector>

#include "engine/net/batch.hpp"
#include "tests/fuzz/targets.hpp"

namespace mpixrma::fuzz {

namespace {

using namespace mpixrma::engine;

constexpr unsigned replies_bit = 1;
constexpr std::uint64_t session = 0x5e55104;

/// Reads all records, and returns whether they end with the message.
template <typename Header>
bool read_records(Input records) {
  wire::BatchReader<Header> reader(session, records);
  // The writer may divide the records into other runs; at most each record gets a header of its own.
  std::size_t const room = 4 * records.size() + sizeof(Header);
  auto const again = std::make_unique<std::byte[]>(room);
  wire::BatchWriter<Header> writer(session, {again.get(), room});
  std::vector<Header> headers;
  Header header;
  Input payload;
  while (reader.next(&header, &payload)) {
    require(header.session == session, "a record of another session");
    require(payload.data() >= records.data() &&
                payload.data() + payload.size() <= records.data() + records.size(),
            "a payload outside of the message");
    std::byte* const out = writer.append(header, payload.size());
    require(out != nullptr, "a record that has grown too much");
    if (!payload.empty()) std::memcpy(out, payload.data(), payload.size());
    headers.push_back(header);
  }
  wire::BatchReader<Header> second(session, {again.get(), writer.bytes()});
  for (Header const& expected : headers) {
    require(second.next(&header, &payload), "a record that is not there any more");
    require(std::memcmp(&header, &expected, sizeof header) == 0, "a record that has changed");
  }
  require(!second.next(&header, &payload) && !second.is_malformed(), "a record too many");
  return !reader.is_malformed() && !headers.empty();
}

}  // namespace

bool batch(Input input) {
  Reader reader(input);
  unsigned const mode = reader.byte();
  Input const rest = reader.rest();
  auto const records = std::make_unique<std::byte[]>(rest.size());  // aligned, as received ones
  if (!rest.empty()) std::memcpy(records.get(), rest.data(), rest.size());
  Input const given(records.get(), rest.size());
  return (mode & replies_bit) != 0 ? read_records<wire::ReplyHeader>(given)
                                   : read_records<wire::RequestHeader>(given);
}

}  // namespace mpixrma::fuzz
