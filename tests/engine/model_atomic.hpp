/// Relacy, and atomics for it with the interface of std::atomic: with the requested order, or with none.
#pragma once

#include <atomic>
#include <cstring>
#include <iostream>
#include <relacy/relacy.hpp>

// Relacy replaces these for the program under test.
#undef new
#undef delete
#undef malloc
#undef calloc
#undef realloc
#undef free
#undef assert
#undef errno
#undef memory_order_relaxed
#undef memory_order_consume
#undef memory_order_acquire
#undef memory_order_release
#undef memory_order_acq_rel
#undef memory_order_seq_cst

namespace mpixrma::engine::model {

inline rl::memory_order of(std::memory_order order) {
  switch (order) {
    case std::memory_order_relaxed: return rl::mo_relaxed;
    case std::memory_order_acquire: return rl::mo_acquire;
    case std::memory_order_release: return rl::mo_release;
    case std::memory_order_acq_rel: return rl::mo_acq_rel;
    default: return rl::mo_seq_cst;
  }
}

/// The interface of std::atomic over Relacy's, which does not support every type.
template <typename T>
class ModelAtomic {
 public:
  ModelAtomic(T value = {}) { value_.store(bits_of(value), rl::mo_relaxed, $); }
  T load(std::memory_order order) const { return value_of(value_.load(of(order), $)); }
  void store(T value, std::memory_order order) { value_.store(bits_of(value), of(order), $); }
  bool compare_exchange_strong(T& expected, T wanted, std::memory_order order, std::memory_order failure) {
    std::uint64_t bits = bits_of(expected);
    bool const done = value_.compare_exchange_strong(bits, bits_of(wanted), of(order), $, of(failure), $);
    expected = value_of(bits);
    return done;
  }
  bool compare_exchange_weak(T& expected, T wanted, std::memory_order order, std::memory_order failure) {
    std::uint64_t bits = bits_of(expected);
    bool const done = value_.compare_exchange_weak(bits, bits_of(wanted), of(order), $, of(failure), $);
    expected = value_of(bits);
    return done;
  }

 private:
  static std::uint64_t bits_of(T value) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof value);
    return bits;
  }
  static T value_of(std::uint64_t bits) {
    T value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
  }

  rl::atomic<std::uint64_t> value_;
};

/// The same without any order, as if all accesses were relaxed: the tests must detect that.
template <typename T>
class UnorderedAtomic : public ModelAtomic<T> {
 public:
  using ModelAtomic<T>::ModelAtomic;
  T load(std::memory_order) const { return ModelAtomic<T>::load(std::memory_order_relaxed); }
  void store(T value, std::memory_order) { ModelAtomic<T>::store(value, std::memory_order_relaxed); }
  bool compare_exchange_strong(T& expected, T wanted, std::memory_order, std::memory_order failure) {
    return ModelAtomic<T>::compare_exchange_strong(expected, wanted, std::memory_order_relaxed, failure);
  }
  bool compare_exchange_weak(T& expected, T wanted, std::memory_order, std::memory_order failure) {
    return ModelAtomic<T>::compare_exchange_weak(expected, wanted, std::memory_order_relaxed, failure);
  }
};

}  // namespace mpixrma::engine::model
