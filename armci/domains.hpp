/// Domains: sets of processes that a program treats as one node.
#pragma once

#include <mpi.h>

#include <vector>

#include "armci/settings.hpp"

namespace armci {

/// Numbers the domains in the order of their first processes. With DomainKind::process each process is a
/// domain of its own.
class Domains {
 public:
  /// Collective over `comm`, which must outlive the domains.
  void open(DomainKind kind, MPI_Comm comm);
  /// Collective.
  void close();

  int count() const noexcept { return first_.empty() ? 0 : static_cast<int>(first_.size()) - 1; }
  /// Returns the domain of a process; -1 if there is no such process.
  int domain_of(int process) const noexcept;
  /// Returns the number of processes of a domain; 0 if there is no such domain.
  int size(int domain) const noexcept;
  /// Returns a process of a domain by its number there; -1 if there is none.
  int process(int domain, int number) const noexcept;

  /// The processes of the caller's domain.
  MPI_Comm neighbours() const noexcept { return neighbours_; }
  /// The first processes of all domains, by domain; MPI_COMM_NULL at all other processes.
  MPI_Comm masters() const noexcept { return masters_; }

 private:
  /// Fills the tables. `master_of` holds, for each process, the first process of its domain.
  void describe(std::vector<int> const& master_of);

  bool owned_ = false;          ///< whether close() frees the communicators
  std::vector<int> domain_of_;  ///< domain of each process
  std::vector<int> first_;      ///< index of each domain's first process in `members_`, and the end
  std::vector<int> members_;    ///< processes by domain, in ascending order
  MPI_Comm neighbours_ = MPI_COMM_NULL;
  MPI_Comm masters_ = MPI_COMM_NULL;
};

}  // namespace armci
