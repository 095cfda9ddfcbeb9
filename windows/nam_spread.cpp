#include "windows/nam_spread.hpp"

#include <algorithm>
#include <exception>
#include <string>
#include <utility>

#include "nam/client/spread.hpp"
#include "windows/nam_part.hpp"

namespace mpix::windows {

namespace {

using Parts = std::vector<std::unique_ptr<NamWindow>>;

/// Calls `call` with each part that is there; throws the first of what it throws, when all were called.
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
  explicit SpreadNamWindow(Parts parts) : parts_(std::move(parts)), spread_(parts_.size()) {
    for (auto const& part : parts_) ranks_ += part->ranks();
  }

  std::string description() const override {
    nam::Json told = nam::Json::array();
    for (auto const& part : parts_) told.push_back(nam::Json::parse(part->description()));
    return told.dump();
  }
  void release() override {
    for_all(parts_, [](NamWindow& part) { part.release(); });
  }
  void persist() override {
    for_all(parts_, [](NamWindow& part) { part.persist(); });
  }

  std::string const& port() const noexcept override { return parts_.front()->port(); }
  int ranks() const noexcept override { return ranks_; }
  std::uint64_t size(int rank) const noexcept override { return part(rank).size(place(rank)); }
  int disp_unit(int rank) const noexcept override { return part(rank).disp_unit(place(rank)); }

  bool is_mapped(int rank) const noexcept override { return part(rank).is_mapped(place(rank)); }
  engine::ExposedView view(int rank) const noexcept override { return part(rank).view(place(rank)); }
  engine::StripeTable* stripes(int rank) const noexcept override { return part(rank).stripes(place(rank)); }
  engine::Peer* peer(int rank, engine::Engine& engine) const override {
    return part(rank).peer(place(rank), engine);
  }
  engine::ExposureId exposure(int rank) const noexcept override { return part(rank).exposure(place(rank)); }
  std::uint64_t offset(int rank) const noexcept override { return part(rank).offset(place(rank)); }

  bool try_lock(int rank, engine::LockMode mode, bool* has_turn) const override {
    return part(rank).try_lock(place(rank), mode, has_turn);
  }
  void unlock(int rank) const noexcept override { part(rank).unlock(place(rank)); }

 private:
  NamWindow const& part(int rank) const noexcept {
    return *parts_[spread_.part_of(static_cast<std::uint64_t>(rank))];
  }
  int place(int rank) const noexcept {
    return static_cast<int>(spread_.place_of(static_cast<std::uint64_t>(rank)));
  }

  Parts parts_;
  nam::Spread spread_;
  int ranks_ = 0;
};

/// What `call` returns; which part it was is in the error.
template <typename Call>
auto for_part(std::size_t part, std::size_t parts, Call call) {
  try {
    return call();
  } catch (nam::Error const& error) {
    if (parts == 1) throw;
    throw nam::Error(error.code(), "grant " + std::to_string(part + 1) + " of " + std::to_string(parts) +
                                       ": " + error.what());
  }
}

/// Also where the servers of some have ended.
void release_quietly(Parts const& parts) noexcept {
  try {
    for_all(parts, [](NamWindow& part) { part.release(); });
  } catch (std::exception const&) {
  }
}

}  // namespace

std::unique_ptr<NamWindow> allocate_over(std::vector<nam::Locator> const& grants,
                                         std::vector<std::uint64_t> const& sizes,
                                         std::vector<std::uint64_t> const& units, nam::WindowWishes wishes) {
  nam::Spread const spread(std::min(grants.size(), sizes.size()));
  Parts parts(spread.parts());
  std::vector<std::string> others;
  try {
    // The first one last: it is told of the others.
    for (std::size_t i = spread.parts(); i-- > 0;) {
      if (i == 0) wishes.other_parts = others;
      parts[i] = for_part(i, spread.parts(), [&] {
        return allocate_in(grants[i], spread.share(sizes, i), spread.share(units, i), wishes);
      });
      if (wishes.persistent) others.insert(others.begin(), parts[i]->port());
    }
  } catch (...) {
    release_quietly(parts);
    throw;
  }
  return join_parts(std::move(parts));
}

std::unique_ptr<NamWindow> join_parts(Parts parts) {
  if (parts.size() == 1) return std::move(parts.front());
  return std::make_unique<SpreadNamWindow>(std::move(parts));
}

}  // namespace mpix::windows
