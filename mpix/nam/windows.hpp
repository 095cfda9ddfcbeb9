/// The MPI calls that create windows at a memory server, with error texts that MPI lacks.
#pragma once

#include <mpi.h>

#include <string>

#include "mpix/error/error.hpp"

namespace mpixrma {

/// A copy of an info object, freed at the end of the scope.
class InfoCopy {
 public:
  explicit InfoCopy(MPI_Info info) {
    if (info == MPI_INFO_NULL) {
      PMPI_Info_create(&info_);
    } else {
      PMPI_Info_dup(info, &info_);
    }
  }
  ~InfoCopy() { PMPI_Info_free(&info_); }
  InfoCopy(InfoCopy const&) = delete;
  InfoCopy& operator=(InfoCopy const&) = delete;
  void set(char const* key, char const* value) { PMPI_Info_set(info_, key, value); }
  MPI_Info get() const noexcept { return info_; }

 private:
  MPI_Info info_ = MPI_INFO_NULL;
};

/// Attribute keys of windows at a memory server.
struct WindowKeys {
  int sizes = MPI_KEYVAL_INVALID;
  int units = MPI_KEYVAL_INVALID;
};
/// The first call creates the keys.
WindowKeys const& window_keys();

/// Whether the MPI host provides windows, including those at a memory server. False if no MPI host serves
/// this process.
bool provides_windows() noexcept;
/// As provides_windows(), for a call that creates a window: opens the engine first, as other collective calls
/// do.
bool can_create_windows();
/// Whether MPI is initialised, not finalised, and this process may call it.
bool is_mpi_active();
/// Raises the error of a call that needs windows. Returns an MPI error code.
int raise_without_windows(Site const& site);

/// Returns the value of a key; empty if the key is absent.
std::string value_of(MPI_Info info, char const* key);
/// Whether the value of a key means true, by the rule for window hints.
bool is_true(MPI_Info info, char const* key);

/// Returns the reason why this thread's most recent request to the component was rejected.
Failure newest_refusal(int error_class);

/// Makes the communicator return errors until the end of the scope.
class ReturnedErrors {
 public:
  explicit ReturnedErrors(MPI_Comm comm) : comm_(comm) {
    PMPI_Comm_get_errhandler(comm_, &before_);
    PMPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);
  }
  ~ReturnedErrors() {
    PMPI_Comm_set_errhandler(comm_, before_);
    PMPI_Errhandler_free(&before_);
  }
  ReturnedErrors(ReturnedErrors const&) = delete;
  ReturnedErrors& operator=(ReturnedErrors const&) = delete;

 private:
  MPI_Comm comm_;
  MPI_Errhandler before_ = MPI_ERRHANDLER_NULL;
};

/// A persistent window to connect to, with the options from the caller's info object.
struct NamPort {
  std::string name;
  bool follow = false;   ///< mpix_nam_follow
  bool encrypt = false;  ///< mpix_nam_encrypt
};

/// Both are collective over `site.comm` and return an MPI error code.
int allocate_nam(Site const& site, MPI_Aint size, int disp_unit, MPI_Info info, MPI_Win* win);
int connect_nam(Site const& site, MPI_Info info, NamPort const& port, MPI_Win* win);

}  // namespace mpixrma
