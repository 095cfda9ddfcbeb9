/// The attributes that a request object carries.
#pragma once

#include <array>

#include "mpix/attrs/attributes.hpp"
#include "mpix/error/error.hpp"

namespace mpixrma {

class AttributeSet {
 public:
  /// `index` is an index in attribute_table, and `value` a valid value of that attribute.
  void assign(std::size_t index, void* value) {
    attribute_table[index].assign(attributes_, value);
    values_[index] = value;
    is_set_[index] = true;
  }

  /// Returns false if the attribute is not set.
  bool value(std::size_t index, void** value) const noexcept {
    if (is_set_[index]) *value = values_[index];
    return is_set_[index];
  }

  MPIX_RMA_Attributes const& attributes() const noexcept { return attributes_; }

 private:
  MPIX_RMA_Attributes attributes_{};
  std::array<void*, attribute_count> values_{};
  std::array<bool, attribute_count> is_set_{};
};

/// Returns the error of setting the attribute with index `index` and key `keyval` to `value`, if any.
Failure check_attribute(std::size_t index, int keyval, void* value);

/// The common part of the calls that get attributes: finds the attribute of `keyval`. `target` is the
/// object's attribute set, nullptr if it has none. Returns an MPI error code.
int get_attribute(Site const& site, AttributeSet const* target, int keyval, void* value, int* flag);

}  // namespace mpixrma
