#include "layout.hpp"

#include <climits>
#include <map>
#include <vector>

#include "handles.hpp"

namespace mpixrma::python {

namespace {

using Key = std::vector<Py_ssize_t>;

/// Bounds the memory of a program that uses new strides all the time.
constexpr std::size_t max_cached_layouts = 512;

std::map<Key, Layout> cache;

Key key_of(Element element, Strides const& strides) {
  Key key;
  key.reserve(3 + 2 * strides.shape.size());
  key.push_back(reinterpret_cast<Py_ssize_t>(element.datatype));
  key.push_back(element.per_item);
  key.push_back(strides.item_size);
  key.insert(key.end(), strides.shape.begin(), strides.shape.end());
  key.insert(key.end(), strides.strides.begin(), strides.strides.end());
  return key;
}

void free_datatype(MPI_Datatype datatype) noexcept {
  if (mpi_is_usable()) MPI_Type_free(&datatype);
}

int as_int(Py_ssize_t extent) {
  if (extent > INT_MAX) {
    PyErr_SetString(PyExc_OverflowError,
                    "an array with gaps may have at most 2147483647 items in a direction");
    raise_set();
  }
  return static_cast<int>(extent);
}

/// Builds the datatype from the innermost dimension outwards. Dimensions that continue each other are merged.
Layout make(Element element, Strides const& strides) {
  require_mpi();
  MPI_Datatype items = MPI_DATATYPE_NULL;
  check(MPI_Type_contiguous(element.per_item, element.datatype, &items));
  Layout current(items, &free_datatype);
  Py_ssize_t length = 1, stride = strides.item_size;  // of the dimension that is being collected
  auto const wrap = [&] {
    if (length == 1) return;
    MPI_Datatype outer = MPI_DATATYPE_NULL;
    check(MPI_Type_create_hvector(as_int(length), 1, stride, current.get(), &outer));
    current.reset(outer, &free_datatype);
  };
  for (std::size_t i = strides.shape.size(); i-- > 0;) {
    if (strides.shape[i] == 1) continue;
    if (length != 1 && strides.strides[i] == length * stride) {
      length *= strides.shape[i];
      continue;
    }
    wrap();
    length = strides.shape[i];
    stride = strides.strides[i];
  }
  wrap();
  MPI_Datatype committed = current.get();
  check(MPI_Type_commit(&committed));
  return current;
}

}  // namespace

bool is_contiguous(Strides const& strides) noexcept {
  Py_ssize_t expected = strides.item_size;
  for (std::size_t i = strides.shape.size(); i-- > 0;) {
    if (strides.shape[i] == 0) return true;
    if (strides.shape[i] != 1 && strides.strides[i] != expected) return false;
    expected *= strides.shape[i];
  }
  return true;
}

Py_ssize_t item_count(std::span<Py_ssize_t const> shape) noexcept {
  Py_ssize_t count = 1;
  for (Py_ssize_t const extent : shape) count *= extent;
  return count;
}

Layout strided_layout(Element element, Strides const& strides) {
  Key key = key_of(element, strides);
  auto const found = cache.find(key);
  if (found != cache.end()) return found->second;
  if (cache.size() >= max_cached_layouts) cache.clear();
  Layout layout = make(element, strides);
  cache.emplace(std::move(key), layout);
  return layout;
}

std::size_t cached_layouts() noexcept { return cache.size(); }

}  // namespace mpixrma::python
