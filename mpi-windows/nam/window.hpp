/// A window whose memory is at a memory server (docs/nam.md), as this process sees it. In the
/// user's own grants this process maps the memory if the server runs on this host; otherwise the server's
/// data process is a peer. In other users' grants each operation is a request. One process allocates the
/// window, or connects to it, for all; the others join.
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

/// The error of a window operation, with MPI's error class.
class NamError : public std::runtime_error {
 public:
  NamError(int error_class, std::string const& text) : std::runtime_error(text), error_class_(error_class) {}
  int error_class() const noexcept { return error_class_; }

 private:
  int error_class_;
};

struct NamDescription;

struct NamHints {
  bool persistent = false;
  std::string durability;  ///< as in mpix_nam_durability; empty: the server's default
  std::string mode;        ///< as in mpix_nam_mode; empty: the server's default
  std::string chunk_size;  ///< as in mpix_nam_stripe; empty: regions are not striped
  bool one_host = true;    ///< all processes are on one host
  bool encrypt = false;    ///< reject the window if data on networks is not encrypted
};

/// Options for connecting to a persistent window.
struct NamConnectOptions {
  bool encrypt = false;  ///< as in NamHints
  bool follow = false;   ///< accept servers that only the window's owner has named
};

/// How a process joins a window that another process of the job has described.
struct NamJoinOptions {
  bool is_mapped;        ///< last_mapping_id() of every process equals mapping_id() of the described window
  bool encrypt = false;  ///< as in NamHints
};

/// The configuration of window allocation.
struct NamSettings {
  std::string allocation;                  ///< locators of grants; empty: those of MPIX_NAM_ALLOCATION
  std::uint64_t private_bytes = 1u << 30;  ///< size of a private server for the job, used without a grant
  std::string interfaces;      ///< interfaces on which processes of other hosts reach the private server
  std::string rdma = "never";  ///< UCX put and get by processes of other hosts: as in mpix-namd
};
void set_nam(NamSettings const& given);

/// Access to the regions of a window in one grant.
class NamMemory {
 public:
  virtual ~NamMemory() = default;
  NamMemory(NamMemory const&) = delete;
  NamMemory& operator=(NamMemory const&) = delete;

  virtual bool is_mapped() const noexcept = 0;
  /// The region of a rank if it is mapped; addresses are offsets in the grant.
  virtual engine::ExposedView view(int) const noexcept { return {}; }
  virtual engine::StripeTable* stripes() const noexcept { return nullptr; }
  /// If the region is not mapped: the process that exposes the memory, as a peer that the caller releases
  /// (nullptr: unreachable), and the exposure.
  virtual engine::Peer* peer(engine::Engine&) const { return nullptr; }
  virtual engine::ExposureId exposure() const noexcept { return engine::ExposureId::none; }
  virtual std::uint64_t offset(int) const noexcept { return 0; }
  /// If the region is neither mapped nor exposed: operations are requests to the server. execute() returns
  /// when the operation is complete; its target offsets are relative to the rank's region. Throws NamError.
  virtual bool is_by_request() const noexcept { return false; }
  virtual void execute(int, engine::RmaOp const&) const {}

 protected:
  NamMemory() = default;
};

/// A region, or its part in one grant, and the region's rank there.
struct NamPiece {
  NamMemory const* memory;
  int rank;
  std::uint64_t bytes;
};

/// Calls throw NamError. Only the lock calls are thread-safe.
class NamWindow {
 public:
  /// Allocates a region for each rank in the grants of the job, or in a private server that is started for
  /// the job.
  static std::unique_ptr<NamWindow> allocate(std::vector<std::uint64_t> const& sizes,
                                             std::vector<std::uint64_t> const& units, NamHints const& hints);
  /// Connects to the persistent window with this port name.
  static std::unique_ptr<NamWindow> connect(std::string const& port, NamConnectOptions const& options);
  /// Joins the window that another process of the job has serialised by description().
  static std::unique_ptr<NamWindow> join(std::string const& description, NamJoinOptions how);

  /// mapping_id() of the most recent window that all of its processes have joined; 0 after a failed creation.
  static std::uint32_t last_mapping_id() noexcept;
  static void note_mapped(std::uint32_t mapping_id) noexcept;

  virtual ~NamWindow() = default;
  NamWindow(NamWindow const&) = delete;
  NamWindow& operator=(NamWindow const&) = delete;

  std::string description() const;
  /// Appends the parts of the window to the description.
  virtual void describe(NamDescription* description) const = 0;
  /// Identifies the grants that have the window's memory; 0 if this process does not map all of it.
  virtual std::uint32_t mapping_id() const noexcept = 0;
  /// Frees the window and returns its memory to the grant. Called by the process that has allocated it.
  virtual void release() = 0;
  /// Returns when all operations completed before the call have the window's durability.
  virtual void persist() = 0;

  /// Empty for a non-persistent window.
  virtual std::string const& port() const noexcept = 0;
  virtual int ranks() const noexcept = 0;
  virtual std::uint64_t size(int rank) const noexcept = 0;
  virtual int disp_unit(int rank) const noexcept = 0;
  /// Size of the chunks of striped regions; 0: regions are not striped.
  virtual std::uint64_t chunk_bytes() const noexcept { return 0; }

  /// Returns the pieces of the region of a rank. Of n pieces, piece i has every nth chunk, starting at
  /// chunk i.
  virtual std::vector<NamPiece> pieces(int rank) const = 0;

  /// Tries to acquire the lock of a rank against all processes that use the window; the lock belongs to the
  /// memory of the first piece. `*has_turn` starts as false, or as true for a request that may overtake
  /// waiting ones, and must be kept between attempts.
  virtual bool try_lock(int rank, engine::LockMode mode, bool* has_turn) const = 0;
  virtual void unlock(int rank) const noexcept = 0;

 protected:
  NamWindow() = default;
};

// Persistent windows by port or name. Throw NamError: MPI_ERR_NAME if a name is taken or does not exist.
int nam_ranks(std::string const& port, bool follow);
void nam_publish(std::string const& name, std::string const& port);
void nam_unpublish(std::string const& name, std::string const& port);
/// Returns the port.
std::string nam_lookup(std::string const& name);

}  // namespace mpixrma::windows
