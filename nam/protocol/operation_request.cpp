#include "nam/protocol/operation_request.hpp"

#include <array>
#include <cstring>
#include <string>

#include "engine/op/kernel/whole_elements.hpp"

namespace mpixrma::nam {

namespace {

using engine::LayoutRun;

constexpr std::array<char const*, 3> kinds{"put", "get", "update"};

[[noreturn]] void refuse(char const* reason) {
  throw Error(ErrorCode::malformed, std::string("malformed operation: ") + reason);
}

OperationRequest::Kind kind_from(std::string const& name) {
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    if (name == kinds[i]) return static_cast<OperationRequest::Kind>(i);
  }
  refuse("unknown kind");
}

void check_runs(std::span<LayoutRun const> runs, std::uint64_t region_bytes) {
  std::size_t bytes = 0;
  for (LayoutRun const& run : runs) {
    if (run.offset < 0 || static_cast<std::uint64_t>(run.offset) > region_bytes ||
        run.length > region_bytes - static_cast<std::uint64_t>(run.offset))
      throw Error(ErrorCode::bad_request, "the region has " + std::to_string(region_bytes) + " bytes");
    if (run.length == 0 || run.length > max_operation_bytes - bytes) refuse("empty run, or too many bytes");
    bytes += run.length;
  }
}

void check_update(OperationRequest const& request) {
  using engine::ElementType;
  if (request.operation >= engine::ReduceOp::count_ || request.type >= ElementType::count_ ||
      !engine::is_defined(request.operation, request.type))
    refuse("undefined operation");
  std::size_t const element = engine::element_size(request.type);
  engine::Layout const layout{request.bytes(), {}, request.runs};
  if (element > 1 && (request.bytes() % element != 0 || !engine::has_whole_elements(layout, request.type)))
    refuse("partial element");
}

}  // namespace

std::size_t OperationRequest::bytes() const noexcept {
  std::size_t bytes = 0;
  for (LayoutRun const& run : runs) bytes += run.length;
  return bytes;
}

std::vector<std::byte> pack(OperationRequest const& request, Json* head) {
  (*head)["kind"] = kinds[static_cast<std::size_t>(request.kind)];
  (*head)["runs"] = request.runs.size();
  if (request.kind == OperationRequest::Kind::update) {
    (*head)["operation"] = static_cast<unsigned>(request.operation);
    (*head)["type"] = static_cast<unsigned>(request.type);
    (*head)["fetch"] = request.fetches_previous;
  }
  auto const runs = std::as_bytes(request.runs);
  std::vector<std::byte> data(runs.begin(), runs.end());
  data.insert(data.end(), request.operand.begin(), request.operand.end());
  data.insert(data.end(), request.operand2.begin(), request.operand2.end());
  return data;
}

OperationRequest unpack_operation(Json const& head, std::span<std::byte const> data,
                                  std::uint64_t region_bytes) {
  OperationRequest request;
  request.kind = kind_from(field<std::string>(head, "kind"));
  auto const runs = field<std::uint64_t>(head, "runs");
  if (runs == 0 || runs > max_operation_runs || data.size() / sizeof(LayoutRun) < runs)
    refuse("the runs exceed the message");
  request.runs = {reinterpret_cast<LayoutRun const*>(data.data()), static_cast<std::size_t>(runs)};
  check_runs(request.runs, region_bytes);
  if (request.kind == OperationRequest::Kind::update) {
    request.operation = static_cast<engine::ReduceOp>(field<std::uint8_t>(head, "operation"));
    request.type = static_cast<engine::ElementType>(field<std::uint8_t>(head, "type"));
    request.fetches_previous = field<bool>(head, "fetch");
    check_update(request);
  }
  auto const rest = data.subspan(runs * sizeof(LayoutRun));
  std::size_t const bytes = request.bytes();
  if (bytes == 0 || rest.size() != request.operands() * bytes)
    refuse("the data size does not match the runs");
  if (request.operands() > 0) request.operand = rest.first(bytes);
  if (request.operands() > 1) request.operand2 = rest.subspan(bytes);
  return request;
}

}  // namespace mpixrma::nam
