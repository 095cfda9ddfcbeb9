#include "tool/copies.hpp"

#include <sys/mman.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "engine/op/kernel/copy_methods.hpp"
#include "engine/tuning/copy_cache.hpp"
#include "engine/tuning/copy_measurement.hpp"
#include "engine/tuning/host_fingerprint.hpp"
#include "tool/cache_holder.hpp"
#include "tool/error.hpp"

namespace mpixrma::tool {

namespace {

using engine::CopyCache;
using engine::CopyMethod;
using engine::CopyShift;
using engine::CopyTable;

/// The variables in which Open MPI, and the host on public MPI, find the parameter.
constexpr char const* copy_variables[] = {"OMPI_MCA_osc_mpix_copy", "MPIX_COPY"};

void print_methods(CopyTable const& table) {
  std::printf("  %-9s", "from size");
  for (std::size_t shift = 0; shift < engine::copy_shift_count; ++shift)
    std::printf("%9s", engine::name_of(static_cast<CopyShift>(shift)));
  engine::for_every_copy_decision([&](std::size_t size_class, CopyShift shift) {
    if (shift == CopyShift::alike) std::printf("\n  %-9s", engine::name_of_copy_size(size_class));
    auto const method = table.at(size_class, shift);
    std::printf("%9s", method ? engine::name_of(*method) : "-");
  });
  std::printf("\n");
}

/// A variable of the environment takes precedence, as in a job. An invalid value is not used.
CopyTable set_by_environment() {
  CopyTable table;
  for (char const* const name : copy_variables) {
    char const* const value = std::getenv(name);
    if (value == nullptr) continue;
    CopyTable set;
    std::string_view const wrong = engine::read_copy_methods(value, set);
    std::printf("  set by %s=%s%s\n", name, value, wrong.empty() ? "" : ", which is not valid");
    if (wrong.empty()) table = merge(set, table);
  }
  return table;
}

CopyCache cache_of_user() { return {engine::cache_directory(), engine::host_fingerprint()}; }

/// Memory of both buffers. The target buffer is shared with the process that holds this buffer in its cache.
class CopyBuffers {
 public:
  explicit CopyBuffers(std::size_t bytes)
      : bytes_(bytes), target_(map(MAP_SHARED)), origin_(map(MAP_PRIVATE)) {}
  ~CopyBuffers() {
    ::munmap(target_, bytes_);
    ::munmap(origin_, bytes_);
  }
  CopyBuffers(CopyBuffers const&) = delete;
  CopyBuffers& operator=(CopyBuffers const&) = delete;
  std::byte* target() const noexcept { return target_; }
  std::byte* origin() const noexcept { return origin_; }

 private:
  std::byte* map(int kind) const {
    void* const memory = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, kind | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw Error("no memory for the measurement");
    return static_cast<std::byte*>(memory);
  }

  std::size_t bytes_;
  std::byte* target_;
  std::byte* origin_;
};

/// Disturbed decisions are measured again, a few times.
CopyTable measure_all() {
  constexpr int max_measurement_rounds = 10;
  CopyBuffers const buffers(engine::copy_measurement_bytes(engine::copy_size_count));
  CacheHolder holder(buffers.target());
  CopyTable table;
  for (int turn = 0; turn < max_measurement_rounds && !is_complete({}, table, engine::copy_size_count);
       ++turn) {
    measure_copies({.target = buffers.target(),
                    .origin = buffers.origin(),
                    .sizes = engine::copy_size_count,
                    .budget = std::chrono::minutes(1),
                    .stops = {},
                    .before = [&](std::size_t bytes) { holder.take(bytes); }},
                   {}, table);
  }
  return table;
}

}  // namespace

void show_copies() {
  CopyCache const cache = cache_of_user();
  auto const measured = cache.read();
  std::printf("copies: %s\n", engine::host_fingerprint().c_str());
  if (cache.path().empty())
    std::printf("  no directory for the user's cache: each process measures for itself\n");
  else
    std::printf("  %s in %s\n", measured ? "measured, cached" : "not measured: no valid file",
                cache.path().c_str());
  CopyTable const table = merge(set_by_environment(), measured.value_or(CopyTable{}));
  print_methods(table);
  if (!is_complete({}, table, engine::copy_size_count))
    std::printf("  -: not measured, memcpy is used; 'mpix-rma tune' measures all sizes\n");
}

bool tune_copies() {
  CopyCache const cache = cache_of_user();
  CopyTable const found = measure_all();
  CopyTable const table = merge(found, cache.read().value_or(CopyTable{}));
  bool const kept = cache.write(table);
  print_methods(table);
  if (!is_complete({}, found, engine::copy_size_count))
    std::printf("  Other processes disturbed a part of the measurement. Repeat it on an idle machine\n");
  if (kept)
    std::printf("kept in %s\n", cache.path().c_str());
  else
    std::fprintf(stderr, "mpix-rma: %s cannot be written; use parameter osc_mpix_copy=%s\n",
                 cache.path().empty() ? "the user's cache" : cache.path().c_str(), to_text(table).c_str());
  return kept;
}

}  // namespace mpixrma::tool
