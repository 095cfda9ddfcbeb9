/// The settings from the environment: the variables of ARMCI-MPI that apply here, and ARMCI_DOMAINS.
#pragma once

namespace armci {

/// The method by which a vector of segments is transferred.
enum class IovMethod {
  automatic,    ///< direct, or conservative if destinations overlap
  direct,       ///< all segments of a descriptor in one operation
  batched,      ///< at most `batch` segments in one operation
  conservative  ///< one operation per segment
};

/// The processes that a domain consists of.
enum class DomainKind { process, host };

struct Settings {
  bool verbose = false;                         ///< ARMCI_VERBOSE
  IovMethod iov_method = IovMethod::automatic;  ///< ARMCI_IOV_METHOD: AUTO, DIRECT, BATCHED, CONSRV
  int batch = 0;                                ///< ARMCI_IOV_BATCHED_LIMIT: segments; 0: no limit
  bool iov_checks = false;                      ///< ARMCI_IOV_CHECKS: overlapping destinations are an error
  bool strided_as_iov = false;                  ///< ARMCI_STRIDED_METHOD: DIRECT or IOV
  DomainKind domains = DomainKind::process;     ///< ARMCI_DOMAINS: PROCESS or HOST
};
extern Settings settings;

/// Reads the environment. With ARMCI_VERBOSE, process 0 prints the settings. Throws a Failure for an invalid
/// value.
void read_settings(int rank);

}  // namespace armci
