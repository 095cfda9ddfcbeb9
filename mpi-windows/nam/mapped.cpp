#include "mpi-windows/nam/mapped.hpp"

#include <mpi.h>

#include <functional>
#include <string>

#include "engine/base/kept_from_children.hpp"
#include "mpi-windows/nam/error.hpp"
#include "mpi-windows/nam/served.hpp"

namespace mpixrma::windows {

namespace {

class MappedNamWindow final : public ServedWindow {
 public:
  MappedNamWindow(std::shared_ptr<NamGrant> grant, nam::WindowInfo info)
      : ServedWindow(std::move(info)), grant_(std::move(grant)) {
    convert_server_errors([this] { grant_->memory().check(info_); });
    locks_ = grant_->locks_for(info_.slot);
    locks_kept_ = engine::KeptFromChildren(locks_->descriptor().get());
  }
  ~MappedNamWindow() override { grant_->give_back_locks(info_.slot); }

  void describe(NamDescription* description) const override {
    add_part(description, grant_->locator(), grant_->control());
  }
  std::uint32_t mapping_id() const noexcept override {
    auto const name = grant_->locator().grant + '/' + std::to_string(grant_->control());
    return static_cast<std::uint32_t>(std::hash<std::string>{}(name)) | 1;
  }
  void release() override {
    convert_server_errors([this] { info_.port.empty() ? grant_->release(info_) : evict(grant_->locator()); });
  }
  void make_persistent() override {
    convert_server_errors([this] { grant_->make_persistent(&info_); });
  }
  void persist() override {
    convert_server_errors([this] { grant_->persist(info_); });
  }

  bool is_mapped() const noexcept override { return true; }
  engine::ExposedView view(int rank) const noexcept override {
    engine::ExposedView view;
    view.local = grant_->memory().at(region(rank));
    view.exposure = {region(rank).offset, region(rank).bytes, engine::Rights::all};
    view.owner_generation = &grant_->memory().control().generation(info_.slot);
    view.generation = info_.generation;
    return view;
  }
  engine::StripeTable* stripes() const noexcept override { return &grant_->memory().control().stripes(); }

  bool try_lock(int rank, engine::LockMode mode, bool* has_turn) const override {
    return convert_server_errors(
        [&] { return locks_->try_lock(info_.slot, static_cast<std::uint32_t>(rank), mode, has_turn); });
  }
  void unlock(int rank) const noexcept override {
    locks_->unlock(info_.slot, static_cast<std::uint32_t>(rank));
  }

 private:
  std::shared_ptr<NamGrant> grant_;
  std::shared_ptr<nam::SharedControl const> locks_;
  engine::KeptFromChildren locks_kept_;
};

}  // namespace

std::unique_ptr<ServedWindow> make_mapped(std::shared_ptr<NamGrant> grant, nam::WindowInfo window) {
  return std::make_unique<MappedNamWindow>(std::move(grant), std::move(window));
}

}  // namespace mpixrma::windows
