/// Keywords of operations: attributes, the request, the result.
#pragma once

#include <cstdint>

#include "python.hpp"

#include "mpix_rma.h"

namespace mpixrma::python {

/// Which keywords a function has beside the four guarantees, the two about communicatable memory and
/// `notify`.
enum Accepted : unsigned {
  attributes_only = 0,
  accepts_request = 1,
  accepts_result = 2,
  accepts_operation = 4
};

struct Keywords {
  MPIX_RMA_Attributes attributes{};
  PyObject* request = nullptr;  // borrowed, like the others; null for None
  PyObject* result = nullptr;
  PyObject* scale = nullptr;

  MPIX_RMA_Attributes const* argument() const noexcept { return attributes.set != 0 ? &attributes : nullptr; }
  bool has(std::uint64_t attribute) const noexcept { return (attributes.set & attribute) != 0; }
};

/// Interns the names.
void prepare_keywords();

/// Raises TypeError for a keyword that the function does not have, and what converting a value raises.
Keywords parse_keywords(Arguments const& arguments, unsigned accepted, char const* function);

}  // namespace mpixrma::python
