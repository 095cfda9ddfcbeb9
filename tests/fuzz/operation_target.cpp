/// Operations that travel as requests of a session: an accepted request stays within its region, has all of
/// its operands, and packs into the same data, kind and number of runs again.
#include <algorithm>
#include <array>
#include <vector>

#include "nam/protocol/operation_request.hpp"
#include "tests/fuzz/targets.hpp"

namespace mpixrma::fuzz {

namespace {

using namespace mpixrma::nam;

constexpr std::array kinds{"put", "get", "update", "other"};

/// The first bytes of an input are the fields of the head. Target "messages", which reads the head as
/// text, covers fields that are absent or of other types.
Json head_of(Reader& reader) {
  Json head{{"kind", kinds[reader.byte() % kinds.size()]}};
  head["operation"] = reader.byte();
  head["type"] = reader.byte();
  head["fetch"] = reader.byte() % 2 != 0;
  unsigned const low = reader.byte();
  head["runs"] = low + 256 * reader.byte();
  return head;
}

}  // namespace

bool operation(Input input) {
  Reader reader(input);
  Json const head = head_of(reader);
  unsigned const low = reader.byte();
  std::uint64_t const region_bytes = low + 256 * reader.byte();
  std::vector<std::byte> const data(reader.rest().begin(), reader.rest().end());
  try {
    OperationRequest const request = unpack_operation(head, data, region_bytes);
    std::size_t bytes = 0;
    for (engine::LayoutRun const& run : request.runs) {
      require(run.offset >= 0 && static_cast<std::uint64_t>(run.offset) <= region_bytes &&
                  run.length <= region_bytes - static_cast<std::uint64_t>(run.offset),
              "a run outside of the region");
      bytes += run.length;
    }
    require(bytes == request.bytes() && bytes != 0 && bytes <= max_operation_bytes, "too many bytes");
    require(request.operand.size() == (request.operands() > 0 ? bytes : 0) &&
                request.operand2.size() == (request.operands() > 1 ? bytes : 0),
            "operands of another size");
    require(request.reads() || request.writes() || request.kind == OperationRequest::Kind::update,
            "an operation that does nothing");
    Json again = Json::object();
    require(pack(request, &again) == data, "other data");
    require(again.at("kind") == head.at("kind") && again.at("runs") == head.at("runs"), "another head");
    return true;
  } catch (Error const& error) {
    require(error.code() == ErrorCode::malformed || error.code() == ErrorCode::bad_request,
            "a refusal for another reason");
    return false;
  }
}

}  // namespace mpixrma::fuzz
