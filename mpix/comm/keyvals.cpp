#include "mpix/comm/keyvals.hpp"

#include <dlfcn.h>

#include <atomic>

#include "mpix/error/error.hpp"
#include "mpix/error/exception.hpp"
#include "mpix/runtime/runtime.hpp"

// The library's definitions of these MPI calls, under unique names, to find out whether the MPI names resolve
// to them.
extern "C" int mpix_rma_comm_set_attr(MPI_Comm comm, int keyval, void* value);
extern "C" int mpix_rma_comm_free_keyval(int* keyval);
extern "C" int mpix_rma_keyval_free(int* keyval);

namespace mpixrma {

namespace {

std::array<int, attribute_count> keyvals{};

// Whether calls of MPI_Comm_set_attr reach this library. They do not if another library, such as a profiling
// tool, precedes it. Then attributes are read again for every operation once the program has requested a key.
bool intercepts_set_attr = false;
std::atomic<bool> keys_requested{false};

// Whether every call that frees a key reaches this library.
bool intercepts_free_keyval = false;

template <typename Function>
bool is_intercepted(char const* call, Function* ours) {
  return ::dlsym(RTLD_DEFAULT, call) == reinterpret_cast<void*>(ours);
}

int attribute_deleted(MPI_Comm comm, int, void*, void*) {
  if (Communicator* const state = Communicator::find_known(comm)) state->outdate_attributes();
  return MPI_SUCCESS;
}

/// Implements MPI_Comm_set_attr and MPI_Attr_put.
template <typename Set>
int set_attribute(MPI_Comm comm, int keyval, void* value, Set set) {
  std::size_t const index = attribute_of(keyval);
  if (index == attribute_count) return set();
  MPIX_RMA_Attributes scratch{};
  AttributeEntry const& attribute = attribute_table[index];
  if (!attribute.assign(scratch, value))
    return raise({"MPI_Comm_set_attr", comm}, MPI_ERR_ARG, "%s is not a value of %s",
                 text_of_value(attribute, value).c_str(), attribute.name);
  int const code = set();
  if (Communicator* const state = Communicator::find_known(comm)) state->outdate_attributes();
  return code;
}

/// Implements MPI_Comm_free_keyval and MPI_Keyval_free. Refuses to free a key of the library, because MPI
/// could reuse its number for another attribute.
int free_keyval(char const* call, int* keyval) try {
  std::size_t const index = keyval != nullptr ? attribute_of(*keyval) : attribute_count;
  if (index == attribute_count) return PMPI_Comm_free_keyval(keyval);
  return raise({call}, MPI_ERR_KEYVAL, "the key of %s belongs to the library", attribute_table[index].name);
} catch (...) {
  return raise_exception(nullptr, call);
}

/// Protects the keys from programs whose calls that free keys are not intercepted: MPI keeps a freed key as
/// long as an attribute uses it. A private communicator has all keys as attributes until MPI_Finalize.
void keep_keyvals() {
  MPI_Group self = MPI_GROUP_NULL;
  MPI_Comm keeper = MPI_COMM_NULL;
  PMPI_Comm_group(MPI_COMM_SELF, &self);
  PMPI_Comm_create(MPI_COMM_SELF, self, &keeper);  // not a duplicate, which would call foreign copy callbacks
  PMPI_Group_free(&self);
  if (keeper == MPI_COMM_NULL) return;
  for (int const keyval : keyvals) PMPI_Comm_set_attr(keeper, keyval, nullptr);
}

}  // namespace

void create_keyvals() {
  for (std::size_t i = 0; i < attribute_count; ++i) {
    // A duplicate has no counters: with a copied notification index, each operation on it would fail.
    bool const is_copied = (attribute_table[i].bits & MPIX_RMA_ATTR_NOTIFY) == 0;
    MPI_Comm_create_keyval(is_copied ? MPI_COMM_DUP_FN : MPI_COMM_NULL_COPY_FN, &attribute_deleted,
                           &keyvals[i], nullptr);
  }
  intercepts_set_attr = is_intercepted("MPI_Comm_set_attr", &mpix_rma_comm_set_attr);
  intercepts_free_keyval = is_intercepted("MPI_Comm_free_keyval", &mpix_rma_comm_free_keyval) &&
                           is_intercepted("MPI_Keyval_free", &mpix_rma_keyval_free);
}

std::size_t attribute_of(int keyval) noexcept {
  if (keyval == MPI_KEYVAL_INVALID || !keys_requested.load(std::memory_order_acquire)) return attribute_count;
  std::size_t index = 0;
  while (index < attribute_count && keyvals[index] != keyval) ++index;
  return index;
}

int keyval_of(std::string_view name) {
  for (std::size_t i = 0; i < attribute_count; ++i) {
    if (name != attribute_table[i].name) continue;
    if (!keys_requested.exchange(true, std::memory_order_acq_rel)) {
      if (!intercepts_free_keyval) keep_keyvals();
      if (!intercepts_set_attr)
        for_each_communicator([](Communicator& communicator) { communicator.outdate_attributes(); });
    }
    return keyvals[i];
  }
  return MPI_KEYVAL_INVALID;
}

MPIX_RMA_Attributes read_attributes(MPI_Comm comm) {
  MPIX_RMA_Attributes attributes{};
  if (!keys_requested.load(std::memory_order_acquire)) return attributes;
  for (std::size_t i = 0; i < attribute_count; ++i) {
    void* value = nullptr;
    int found = 0;
    PMPI_Comm_get_attr(comm, keyvals[i], &value, &found);
    if (found != 0) attribute_table[i].assign(attributes, value);
  }
  if (!intercepts_set_attr) attributes.set |= attributes_outdated;
  return attributes;
}

}  // namespace mpixrma

__attribute__((visibility("hidden"))) int mpix_rma_comm_set_attr(MPI_Comm comm, int keyval, void* value) {
  return mpixrma::set_attribute(comm, keyval, value, [&] { return PMPI_Comm_set_attr(comm, keyval, value); });
}

extern "C" MPIX_RMA_API int MPI_Comm_set_attr(MPI_Comm comm, int keyval, void* value)
    __attribute__((alias("mpix_rma_comm_set_attr")));

extern "C" MPIX_RMA_API int MPI_Attr_put(MPI_Comm comm, int keyval, void* value) {
  return mpix_rma_comm_set_attr(comm, keyval, value);
}

__attribute__((visibility("hidden"))) int mpix_rma_comm_free_keyval(int* keyval) {
  return mpixrma::free_keyval("MPI_Comm_free_keyval", keyval);
}

extern "C" MPIX_RMA_API int MPI_Comm_free_keyval(int* keyval)
    __attribute__((alias("mpix_rma_comm_free_keyval")));

__attribute__((visibility("hidden"))) int mpix_rma_keyval_free(int* keyval) {
  return mpixrma::free_keyval("MPI_Keyval_free", keyval);
}

extern "C" MPIX_RMA_API int MPI_Keyval_free(int* keyval) __attribute__((alias("mpix_rma_keyval_free")));
