#include "mpi-windows/nam/spread.hpp"

#include <algorithm>
#include <exception>
#include <string>
#include <utility>

#include "mpi-windows/nam/description.hpp"
#include "mpi-windows/nam/part.hpp"
#include "nam/client/spread_allocation.hpp"

namespace mpixrma::windows {

namespace {

using Parts = std::vector<std::unique_ptr<NamWindow>>;

/// Calls `call` with each part that exists; throws the first exception after all calls.
template <typename Call>
void for_all(Parts const& parts, Call call) {
  std::exception_ptr failure;
  for (auto const& part : parts) {
    try {
      if (part != nullptr) call(*part);
    } catch (...) {
      if (failure == nullptr) failure = std::current_exception();
    }
  }
  if (failure != nullptr) std::rethrow_exception(failure);
}

class SpreadNamWindow final : public NamWindow {
 public:
  SpreadNamWindow(Parts parts, nam::Spread const& spread) : parts_(std::move(parts)), spread_(spread) {
    for (auto const& part : parts_) ranks_ += part->ranks();
    if (chunk_bytes() != 0) ranks_ = parts_.front()->ranks();
  }

  void describe(NamDescription* description) const override {
    for (auto const& part : parts_) part->describe(description);
  }
  std::uint32_t mapping_id() const noexcept override {
    std::uint32_t id = 0;
    for (auto const& part : parts_) {
      if (part->mapping_id() == 0) return 0;
      id = id * 31 + part->mapping_id();
    }
    return id;
  }
  void release() override {
    for_all(parts_, [](NamWindow& part) { part.release(); });
  }
  void persist() override {
    for_all(parts_, [](NamWindow& part) { part.persist(); });
  }

  std::string const& port() const noexcept override { return parts_.front()->port(); }
  int ranks() const noexcept override { return ranks_; }
  std::uint64_t chunk_bytes() const noexcept override { return spread_.chunk_bytes(); }
  std::uint64_t size(int rank) const noexcept override {
    if (chunk_bytes() == 0) return part(rank).size(rank_in_part(rank));
    std::uint64_t bytes = 0;
    for (auto const& part : parts_) bytes += part->size(rank);
    return bytes;
  }
  int disp_unit(int rank) const noexcept override { return part(rank).disp_unit(rank_in_part(rank)); }

  std::vector<NamPiece> pieces(int rank) const override {
    std::vector<NamPiece> found = part(rank).pieces(rank_in_part(rank));
    std::size_t const first = spread_.part_of(static_cast<std::uint64_t>(rank));
    for (std::size_t i = 1; chunk_bytes() != 0 && i < parts_.size(); ++i) {
      NamPiece const piece = parts_[(first + i) % parts_.size()]->pieces(rank).front();
      if (piece.bytes != 0) found.push_back(piece);
    }
    return found;
  }

  bool try_lock(int rank, engine::LockMode mode, bool* has_turn) const override {
    return part(rank).try_lock(rank_in_part(rank), mode, has_turn);
  }
  void unlock(int rank) const noexcept override { part(rank).unlock(rank_in_part(rank)); }

 private:
  NamWindow const& part(int rank) const noexcept {
    return *parts_[spread_.part_of(static_cast<std::uint64_t>(rank))];
  }
  int rank_in_part(int rank) const noexcept {
    return static_cast<int>(spread_.place_of(static_cast<std::uint64_t>(rank)));
  }

  Parts parts_;
  nam::Spread spread_;
  int ranks_ = 0;
};

/// Creates the parts of a new window, and owns them.
struct ServedParts {
  std::vector<nam::Locator> const& grants;
  Parts all;
  std::vector<ServedWindow*> served;

  ServedParts(std::vector<nam::Locator> const& known, std::size_t parts)
      : grants(known), all(parts), served(parts) {}

  void allocate(std::size_t part, std::vector<std::uint64_t> const& sizes,
                std::vector<std::uint64_t> const& units, nam::WindowOptions const& options) {
    auto made = allocate_in(grants[part], sizes, units, options);
    served[part] = made.get();
    all[part] = std::move(made);
  }
  std::string port(std::size_t part) const { return served[part]->future_port(grants[part]); }
  void make_persistent(std::size_t part) { served[part]->make_persistent(); }
};

/// Ignores errors, because the servers of some parts may have ended.
void release_quietly(Parts const& parts) noexcept {
  try {
    for_all(parts, [](NamWindow& part) { part.release(); });
  } catch (std::exception const&) {
  }
}

}  // namespace

std::unique_ptr<NamWindow> allocate_over(std::vector<nam::Locator> const& grants,
                                         std::vector<std::uint64_t> const& sizes,
                                         std::vector<std::uint64_t> const& units,
                                         nam::WindowOptions const& options) {
  nam::Spread const spread = nam::spread_over(grants, sizes.size(), options.chunk_bytes);
  ServedParts parts(grants, spread.parts());
  try {
    nam::make_parts(spread, sizes, units, options, parts);
  } catch (...) {
    release_quietly(parts.all);
    throw;
  }
  return combine_parts(std::move(parts.all), spread);
}

std::unique_ptr<NamWindow> combine_parts(Parts parts, nam::Spread const& spread) {
  if (parts.size() == 1) return std::move(parts.front());
  return std::make_unique<SpreadNamWindow>(std::move(parts), spread);
}

std::unique_ptr<NamWindow> join_window(NamDescription const& description, NamJoinOptions how) {
  Parts parts;
  for (NamGrantPart const& part : description.parts) parts.push_back(join_part(part, how));
  nam::Spread const spread(parts.size(), description.chunk_bytes);
  return combine_parts(std::move(parts), spread);
}

}  // namespace mpixrma::windows
