/// A window whose memory is at a memory server (docs/nam.md), as this process has it. The owner of its grant
/// maps it, where the server runs on this host, else it is that of the server's process, which is a peer.
/// Other users send each operation as a request. One process allocates it, or connects to it, for all; the
/// others join.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "engine/op/operation.hpp"
#include "engine/origin/exposed_view.hpp"
#include "engine/runtime/engine.hpp"
#include "engine/sync/lock.hpp"
#include "engine/sync/stripes.hpp"

namespace mpixrma::windows {

/// Why there is no such window, with MPI's error class.
class NamError : public std::runtime_error {
 public:
  NamError(int error_class, std::string const& text) : std::runtime_error(text), error_class_(error_class) {}
  int error_class() const noexcept { return error_class_; }

 private:
  int error_class_;
};

struct NamDescription;

struct NamWishes {
  bool persistent = false;
  std::string durability;  ///< as of mpix_nam_durability; empty: the server's default
  std::string mode;        ///< as of mpix_nam_mode; likewise
  std::string stripe;      ///< as of mpix_nam_stripe; empty: regions are not divided
  bool one_host = true;    ///< all processes are on one
  bool encrypt = false;    ///< data on networks has to be encrypted, or the window is refused
};

/// Of whoever connects to a persistent window.
struct NamDemands {
  bool encrypt = false;  ///< as of NamWishes
  bool follow = false;   ///< go to servers that only the window's owner has named as those of its parts
};

/// Where windows are allocated.
struct NamSettings {
  std::string allocation;                  ///< locators of grants; empty: those of MPIX_NAM_ALLOCATION
  std::uint64_t private_bytes = 1u << 30;  ///< of a server for the job alone, where there is no grant
  std::string interfaces;                  ///< on which processes of other hosts reach that
  std::string rdma = "never";              ///< whether they do by UCX put and get: never, auto, always
};
void set_nam(NamSettings const& given);

/// How the regions of a window are reached that one grant has.
class NamMemory {
 public:
  virtual ~NamMemory() = default;
  NamMemory(NamMemory const&) = delete;
  NamMemory& operator=(NamMemory const&) = delete;

  virtual bool is_mapped() const noexcept = 0;
  /// The region of a rank where it is mapped; addresses are offsets in the grant.
  virtual engine::ExposedView view(int) const noexcept { return {}; }
  virtual engine::StripeTable* stripes() const noexcept { return nullptr; }
  /// Where it is not: the process that has the memory, until it is released, which exposes it so, and where
  /// in that the region is. nullptr: it cannot be reached.
  virtual engine::Peer* peer(engine::Engine&) const { return nullptr; }
  virtual engine::ExposureId exposure() const noexcept { return engine::ExposureId::none; }
  virtual std::uint64_t offset(int) const noexcept { return 0; }
  /// Where it is neither: operations are requests to the server. execute() returns when one is complete, with
  /// its target counted from the begin of the rank's region. Throws NamError.
  virtual bool is_by_request() const noexcept { return false; }
  virtual void execute(int, engine::Transfer const&) const {}
  virtual void execute(int, engine::Update const&) const {}

 protected:
  NamMemory() = default;
};

/// A region, or what one grant has of it: that of a rank there.
struct NamPiece {
  NamMemory const* memory;
  int rank;
  std::uint64_t bytes;
};

/// Calls throw NamError; they are not for two threads at once, but for the locks.
class NamWindow {
 public:
  /// In the grants of the job, or, where it has none, of a server that is started for it; with a region for
  /// each rank.
  static std::unique_ptr<NamWindow> allocate(std::vector<std::uint64_t> const& sizes,
                                             std::vector<std::uint64_t> const& units,
                                             NamWishes const& wishes);
  /// The persistent window with this port name.
  static std::unique_ptr<NamWindow> connect(std::string const& port, NamDemands const& demands);
  /// What another process of the job has told by description(). `is_mapped`: mapped_before() of this process
  /// was what mapped_in() of the other's window is. `encrypt` as of NamWishes.
  static std::unique_ptr<NamWindow> join(std::string const& description, bool is_mapped, bool encrypt);

  /// mapped_in() of the newest window that all of its processes have joined.
  static std::uint32_t mapped_before() noexcept;
  static void note_mapped(std::uint32_t grants) noexcept;

  virtual ~NamWindow() = default;
  NamWindow(NamWindow const&) = delete;
  NamWindow& operator=(NamWindow const&) = delete;

  std::string description() const;
  /// Adds its parts to what is told.
  virtual void describe(NamDescription* told) const = 0;
  /// Tells the grants apart that have its memory; 0: this process does not map all of it.
  virtual std::uint32_t mapped_in() const noexcept = 0;
  /// The window ends, and its memory goes back to the grant. By who has allocated it.
  virtual void release() = 0;
  /// Returns when what was completed before is as durable as the window is to be.
  virtual void persist() = 0;

  /// Empty of one that is not persistent.
  virtual std::string const& port() const noexcept = 0;
  virtual int ranks() const noexcept = 0;
  virtual std::uint64_t size(int rank) const noexcept = 0;
  virtual int disp_unit(int rank) const noexcept = 0;
  /// Of the stripes in which regions are divided between their pieces; 0: they are not.
  virtual std::uint64_t stripe_bytes() const noexcept { return 0; }

  /// Where the region of a rank is. Of n pieces number i has every nth stripe from number i on.
  virtual std::vector<NamPiece> pieces(int rank) const = 0;

  /// An attempt to take the lock of a rank, from all processes that use the window; it goes with the memory
  /// of the first piece. `*has_turn` begins as false, or as true for whoever may overtake those who wait, and
  /// is kept from one attempt to the next.
  virtual bool try_lock(int rank, engine::LockMode mode, bool* has_turn) const = 0;
  virtual void unlock(int rank) const noexcept = 0;

 protected:
  NamWindow() = default;
};

// Names of persistent windows. They throw NamError: MPI_ERR_NAME where a name is taken, or there is none.
int nam_ranks(std::string const& port, bool follow);
void nam_publish(std::string const& name, std::string const& port);
void nam_unpublish(std::string const& name, std::string const& port);
/// Its port.
std::string nam_lookup(std::string const& name);

}  // namespace mpixrma::windows
