#include "engine/net/address.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "engine/base/small_file.hpp"

namespace mpixrma::engine {

namespace {

constexpr std::uint32_t blob_magic = 0x4d504144;  // "MPAD"
constexpr std::uint32_t blob_version = 4;
/// A reader without support for encryption interprets this flag as an excessive number of workers and rejects
/// the address.
constexpr std::uint16_t blob_encrypt = 1;
constexpr std::uint16_t blob_deferred = 2;

struct Blob {
  std::uint32_t magic;
  std::uint32_t version;
  std::uint64_t process;
  std::uint64_t incarnation;
  char boot_id[40];
  std::uint64_t ipc_namespace;
  std::uint64_t pid_namespace;
  std::int32_t pid;
  std::int32_t tables_fd;
  std::int32_t control_fd;
  std::uint16_t workers;
  std::uint16_t flags;         ///< blob_encrypt, blob_deferred
  std::uint64_t worker_bytes;  ///< total size; each but the last is preceded by its length, a std::uint64_t
};
static_assert(sizeof(Blob) == 104);

std::uint64_t namespace_of(char const* path) {
  struct stat status {};
  return ::stat(path, &status) == 0 ? status.st_ino : 0;
}

}  // namespace

HostIdentity HostIdentity::of_this_process() {
  static std::string const boot_id =
      read_small_file("/proc/sys/kernel/random/boot_id", sizeof HostIdentity::boot_id - 1);
  HostIdentity identity;
  std::copy(boot_id.begin(), boot_id.end(), identity.boot_id.begin());
  identity.ipc_namespace = namespace_of("/proc/self/ns/ipc");
  identity.pid_namespace = namespace_of("/proc/self/ns/pid");
  return identity;
}

namespace {

void append(std::vector<std::byte>& bytes, void const* begin, std::size_t count) {
  if (count == 0) return;
  bytes.resize(bytes.size() + count);
  std::memcpy(bytes.data() + bytes.size() - count, begin, count);
}

std::uint16_t flags_of(ProcessAddress const& address) noexcept {
  return static_cast<std::uint16_t>((address.encrypt ? blob_encrypt : 0) |
                                    (address.is_deferred ? blob_deferred : 0));
}

std::vector<std::byte> encode_workers(std::vector<std::vector<std::byte>> const& workers) {
  std::vector<std::byte> bytes;
  for (auto const& worker : workers) {
    std::uint64_t const length = worker.size();
    if (&worker != &workers.back()) append(bytes, &length, sizeof length);
    append(bytes, worker.data(), length);
  }
  return bytes;
}

bool decode_workers(std::span<std::byte const> bytes, std::size_t count,
                    std::vector<std::vector<std::byte>>* workers) {
  if (count == 0 || count > max_workers) return false;
  workers->clear();
  for (std::size_t left = count; left != 0; --left) {
    std::uint64_t length = bytes.size();
    if (left != 1) {
      if (bytes.size() < sizeof length) return false;
      std::memcpy(&length, bytes.data(), sizeof length);
      bytes = bytes.subspan(sizeof length);
      if (length > bytes.size()) return false;
    }
    auto const worker = bytes.first(length);
    workers->emplace_back(worker.begin(), worker.end());
    bytes = bytes.subspan(length);
  }
  return true;
}

}  // namespace

std::vector<std::byte> encode(ProcessAddress const& address) {
  std::vector<std::byte> const workers = encode_workers(address.workers);
  Blob blob{blob_magic,
            blob_version,
            address.process,
            address.incarnation,
            {},
            address.host.ipc_namespace,
            address.host.pid_namespace,
            static_cast<std::int32_t>(address.pid),
            address.tables_fd,
            address.control_fd,
            static_cast<std::uint16_t>(address.workers.size()),
            flags_of(address),
            workers.size()};
  std::memcpy(blob.boot_id, address.host.boot_id.data(), sizeof blob.boot_id);
  std::vector<std::byte> bytes;
  append(bytes, &blob, sizeof blob);
  append(bytes, workers.data(), workers.size());
  return bytes;
}

bool decode(std::span<std::byte const> bytes, ProcessAddress* address) {
  Blob blob{};
  if (bytes.size() < sizeof blob) return false;
  std::memcpy(&blob, bytes.data(), sizeof blob);
  if (blob.magic != blob_magic || blob.version != blob_version ||
      (blob.flags & ~(blob_encrypt | blob_deferred)) != 0 ||
      blob.worker_bytes != bytes.size() - sizeof blob) {
    return false;
  }
  address->process = blob.process;
  address->incarnation = blob.incarnation;
  std::memcpy(address->host.boot_id.data(), blob.boot_id, sizeof blob.boot_id);
  address->host.ipc_namespace = blob.ipc_namespace;
  address->host.pid_namespace = blob.pid_namespace;
  address->pid = blob.pid;
  address->tables_fd = blob.tables_fd;
  address->control_fd = blob.control_fd;
  address->encrypt = (blob.flags & blob_encrypt) != 0;
  address->is_deferred = (blob.flags & blob_deferred) != 0;
  return decode_workers(bytes.subspan(sizeof blob), blob.workers, &address->workers);
}

std::size_t worker_for(std::uint64_t process, std::size_t workers) noexcept {
  if (workers == 1) return 0;
  // The digit sum in base `workers` spreads neighbouring identities, and also every second or fourth one.
  std::size_t sum = 0;
  for (; process != 0; process /= workers) sum += process % workers;
  return sum % workers;
}

std::vector<std::byte> publish(ProcessAddress const& address, Secret const& secret) {
  std::vector<std::byte> bytes = encode(address);
  bytes.insert(bytes.end(), secret.begin(), secret.end());
  return bytes;
}

bool read_published(std::span<std::byte const> bytes, ProcessAddress* address, Secret* secret) {
  if (bytes.size() < secret->size()) return false;
  std::span<std::byte const> const last = bytes.last(secret->size());
  std::copy(last.begin(), last.end(), secret->begin());
  return decode(bytes.first(bytes.size() - secret->size()), address);
}

}  // namespace mpixrma::engine
