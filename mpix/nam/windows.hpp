/// Windows at a memory server: MPI's calls that make them, with the errors that MPI does not tell.
#pragma once

#include <mpi.h>

#include <string>

#include "mpix/error/error.hpp"

namespace mpixrma {

/// Info keys for a scope: a copy.
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

/// Whether the host makes windows, at a memory server, too.
bool makes_windows() noexcept;
/// Of a call that needs them. MPI error code.
int raise_without_windows(Site const& site);

/// The value of a key; empty where there is none.
std::string value_of(MPI_Info info, char const* key);
/// Whether the value of a key says so, as hints of windows do.
bool is_true(MPI_Info info, char const* key);

/// Why this thread's newest request to the component was refused.
Failure newest_refusal(int error_class);

/// Errors on the communicator are returned within the scope.
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

/// A persistent window that is connected to, and what the caller of the connection has said by its info
/// object.
struct NamPort {
  std::string name;
  bool follow = false;   ///< mpix_nam_follow
  bool encrypt = false;  ///< mpix_nam_encrypt
};

/// `site.comm`: over which they are collective. MPI error code.
int allocate_nam(Site const& site, MPI_Aint size, int disp_unit, MPI_Info info, MPI_Win* win);
int connect_nam(Site const& site, MPI_Info info, NamPort const& port, MPI_Win* win);

}  // namespace mpixrma
