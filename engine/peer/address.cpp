#include "engine/peer/address.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <memory>

namespace mpix::engine {

namespace {

constexpr std::uint32_t blob_magic = 0x4d504144;  // "MPAD"
constexpr std::uint32_t blob_version = 3;

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
  std::int32_t stripes_fd;
  std::uint32_t reserved;
  std::uint64_t worker_bytes;
};
static_assert(sizeof(Blob) == 104);

std::uint64_t namespace_of(char const* path) {
  struct stat status {};
  return ::stat(path, &status) == 0 ? status.st_ino : 0;
}

}  // namespace

HostIdentity HostIdentity::of_this_process() {
  HostIdentity identity;
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> const file(
      std::fopen("/proc/sys/kernel/random/boot_id", "re"), &std::fclose);
  if (file) {
    std::size_t const got = std::fread(identity.boot_id.data(), 1, identity.boot_id.size() - 1, file.get());
    identity.boot_id[got] = '\0';
  }
  identity.ipc_namespace = namespace_of("/proc/self/ns/ipc");
  identity.pid_namespace = namespace_of("/proc/self/ns/pid");
  return identity;
}

std::vector<std::byte> encode(ProcessAddress const& address) {
  Blob blob{blob_magic,
            blob_version,
            address.process,
            address.incarnation,
            {},
            address.host.ipc_namespace,
            address.host.pid_namespace,
            static_cast<std::int32_t>(address.pid),
            address.tables_fd,
            address.stripes_fd,
            0,
            address.worker.size()};
  std::memcpy(blob.boot_id, address.host.boot_id.data(), sizeof blob.boot_id);
  std::vector<std::byte> bytes(sizeof blob + address.worker.size());
  std::memcpy(bytes.data(), &blob, sizeof blob);
  std::copy(address.worker.begin(), address.worker.end(), bytes.begin() + sizeof blob);
  return bytes;
}

bool decode(std::span<std::byte const> bytes, ProcessAddress* address) {
  Blob blob{};
  if (bytes.size() < sizeof blob) return false;
  std::memcpy(&blob, bytes.data(), sizeof blob);
  if (blob.magic != blob_magic || blob.version != blob_version ||
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
  address->stripes_fd = blob.stripes_fd;
  auto const worker = bytes.subspan(sizeof blob);
  address->worker.assign(worker.begin(), worker.end());
  return true;
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

}  // namespace mpix::engine
