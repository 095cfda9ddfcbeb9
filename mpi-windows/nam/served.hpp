/// The common base of windows at memory servers, mapped or not.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "mpi-windows/nam/description.hpp"
#include "mpi-windows/nam/window.hpp"
#include "nam/client/secrets.hpp"
#include "nam/client/session.hpp"

namespace mpixrma::windows {

class ServedWindow : public NamWindow, public NamMemory {
 public:
  std::string const& port() const noexcept override { return info_.port; }
  int ranks() const noexcept override { return static_cast<int>(info_.regions.size()); }
  std::uint64_t size(int rank) const noexcept override { return region(rank).bytes; }
  int disp_unit(int rank) const noexcept override { return static_cast<int>(region(rank).unit); }
  /// Returns the port name that the window will have once it is persistent. `locator` is the grant's, from
  /// the server.
  std::string future_port(nam::Locator locator) const {
    locator.window = info_.id;
    return nam::format(locator);
  }
  /// Makes the window persistent. Called by the process that has allocated it as non-persistent.
  virtual void make_persistent() = 0;
  std::vector<NamPiece> pieces(int rank) const override { return {{this, rank, region(rank).bytes}}; }

 protected:
  explicit ServedWindow(nam::WindowInfo info) : info_(std::move(info)) {
    for (nam::WindowRegion const& region : info_.regions) {
      if (region.unit > INT32_MAX)
        throw NamError(MPI_ERR_INTERN, "the server sent a displacement unit that is too large");
    }
  }
  nam::WindowRegion const& region(int rank) const noexcept {
    return info_.regions[static_cast<std::size_t>(rank)];
  }
  void add_part(NamDescription* description, nam::Locator const& grant, std::uint64_t control) const {
    auto const secret = nam::given_secret(grant.address);
    description->parts.push_back({grant, control, secret ? nam::to_hex(*secret) : "", info_});
  }
  /// Evicts the window through the grant's server, because a persistent window belongs to the grant.
  void evict(nam::Locator const& grant) const {
    (void)nam::Client(grant.address).request({{"op", "evict"}, {"port", info_.port}});
  }

  nam::WindowInfo info_;
};

}  // namespace mpixrma::windows
