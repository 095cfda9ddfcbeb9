#include "datatype/envelope.hpp"

#include <cstddef>
#include <span>

#include "datatype/datatype.hpp"

namespace mpixrma {

namespace {

#if MPI_VERSION >= 4

using Counts = std::span<MPI_Count const>;

/// The arguments of a constructor with large counts, as a constructor with counts of type int would have
/// them.
struct SmallForm {
  std::vector<MPI_Count> integers;
  std::vector<MPI_Aint> addresses;

  void add(Counts counts) { integers.insert(integers.end(), counts.begin(), counts.end()); }
  void add_addresses(Counts counts) { addresses.insert(addresses.end(), counts.begin(), counts.end()); }
};

SmallForm small_form(int combiner, std::span<int const> ints, Counts large) {
  SmallForm form;
  auto const add_ints = [&](std::size_t first, std::size_t count) {
    for (int const each : ints.subspan(first, count)) form.integers.push_back(each);
  };
  switch (combiner) {
    case MPI_COMBINER_HVECTOR:
    case MPI_COMBINER_HINDEXED_BLOCK:  // a count and a block length; addresses
      form.add(large.first(2));
      form.add_addresses(large.subspan(2));
      break;
    case MPI_COMBINER_HINDEXED:
    case MPI_COMBINER_STRUCT: {  // a count n and n block lengths; n addresses
      auto const lengths = static_cast<std::size_t>(large[0]) + 1;
      form.add(large.first(lengths));
      form.add_addresses(large.subspan(lengths));
      break;
    }
    case MPI_COMBINER_SUBARRAY:  // integers: ndims, order
      add_ints(0, 1);
      form.add(large);
      add_ints(1, 1);
      break;
    case MPI_COMBINER_DARRAY:  // integers: all but gsizes
      add_ints(0, 3);
      form.add(large);
      add_ints(3, ints.size() - 3);
      break;
    default: form.add(large);
  }
  return form;
}

#endif

}  // namespace

Envelope envelope_of(MPI_Datatype type) {
  Envelope found;
#if MPI_VERSION >= 4
  int const code = MPI_Type_get_envelope_c(type, &found.integers, &found.addresses, &found.large_counts,
                                           &found.types, &found.combiner);
#else
  int integers = 0;
  int addresses = 0;
  int types = 0;
  int const code = MPI_Type_get_envelope(type, &integers, &addresses, &types, &found.combiner);
  found.integers = integers;
  found.addresses = addresses;
  found.types = types;
#endif
  if (code != MPI_SUCCESS) throw UnknownDatatype();
  return found;
}

DatatypeContents::DatatypeContents(MPI_Datatype type) {
  Envelope const envelope = envelope_of(type);
  combiner_ = envelope.combiner;
  if (combiner_ != MPI_COMBINER_NAMED) read(type, envelope);
}

void DatatypeContents::read(MPI_Datatype type, Envelope const& envelope) {
  std::vector<int> integers(static_cast<std::size_t>(envelope.integers));
  addresses_.resize(static_cast<std::size_t>(envelope.addresses));
  types_.resize(static_cast<std::size_t>(envelope.types));
#if MPI_VERSION >= 4
  std::vector<MPI_Count> large(static_cast<std::size_t>(envelope.large_counts));
  MPI_Type_get_contents_c(type, envelope.integers, envelope.addresses, envelope.large_counts, envelope.types,
                          integers.data(), addresses_.data(), large.data(), types_.data());
  if (!large.empty()) {
    SmallForm form = small_form(combiner_, integers, large);
    integers_.swap(form.integers);
    addresses_.swap(form.addresses);
    return;
  }
#else
  MPI_Type_get_contents(type, static_cast<int>(integers.size()), static_cast<int>(addresses_.size()),
                        static_cast<int>(types_.size()), integers.data(), addresses_.data(), types_.data());
#endif
  integers_.assign(integers.begin(), integers.end());
}

DatatypeContents::~DatatypeContents() {
  for (MPI_Datatype& type : types_) {
    int const inner = envelope_of(type).combiner;
    if (inner != MPI_COMBINER_NAMED && !is_f90(inner)) MPI_Type_free(&type);
  }
}

}  // namespace mpixrma
