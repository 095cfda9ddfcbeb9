/// The attributes that a request object carries.
#pragma once

#include <array>

#include "mpix/attrs/attributes.hpp"
#include "mpix/error/error.hpp"

namespace mpixrma {

class AttributeSet {
 public:
  /// `index` is a position of attribute_table, and `value` one of its attribute.
  void assign(std::size_t index, void* value) {
    attribute_table[index].assign(attributes_, value);
    values_[index] = value;
    given_[index] = true;
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

/// What is wrong with setting the attribute of attribute_table at `index`, that of `keyval`, to `value`.
Failure check_attribute(std::size_t index, int keyval, void* value);

/// What the calls that get attributes share: finds the attribute behind `keyval`. `target` is the object's
/// set, nullptr where it has none. MPI error code.
int get_attribute(Site const& site, AttributeSet const* target, int keyval, void* value, int* flag);

}  // namespace mpixrma
