/// The attributes that a request object carries.
#pragma once

#include <array>

#include "mpix/attributes/attributes.hpp"

namespace mpix {

class AttributeSet {
 public:
  /// MPI error class; `index` is a position of attribute_table.
  int assign(std::size_t index, void* value) {
    if (!attribute_table[index].assign(attributes_, value)) return MPI_ERR_ARG;
    values_[index] = value;
    given_[index] = true;
    return MPI_SUCCESS;
  }

  /// False when it was not set.
  bool value(std::size_t index, void** value) const noexcept {
    if (given_[index]) *value = values_[index];
    return given_[index];
  }

  MPIX_RMA_Attributes const& attributes() const noexcept { return attributes_; }

 private:
  MPIX_RMA_Attributes attributes_{};
  std::array<void*, attribute_count> values_{};
  std::array<bool, attribute_count> given_{};
};

/// What the calls that set and get attributes share: finds the attribute behind `keyval`. `target` is the
/// object's set, nullptr where it has none. MPI error class.
int get_attribute(AttributeSet const* target, int keyval, void* value, int* flag);

}  // namespace mpix
