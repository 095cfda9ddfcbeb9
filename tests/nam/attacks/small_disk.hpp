/// A disk that a test can fill: a tmpfs that only this process and its children see.
#pragma once

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "engine/base/shared_memory.hpp"

namespace mpixrma::nam {

class SmallDisk {
 public:
  /// Makes `place` and mounts `bytes` bytes there. is_mounted() is false if the system does not permit it.
  SmallDisk(std::filesystem::path place, std::size_t bytes) : place_(std::move(place)) {
    std::filesystem::create_directories(place_);
    std::string const size = "mode=0700,size=" + std::to_string(bytes);
    mounted_ = ::unshare(CLONE_NEWNS) == 0 &&
               ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
               ::mount("tmpfs", place_.c_str(), "tmpfs", 0, size.c_str()) == 0;
  }
  ~SmallDisk() {
    if (mounted_) (void)::umount2(place_.c_str(), MNT_DETACH);
  }
  SmallDisk(SmallDisk const&) = delete;
  SmallDisk& operator=(SmallDisk const&) = delete;

  bool is_mounted() const noexcept { return mounted_; }

  /// Takes all free pages of the disk. Other files can still grow within their last pages.
  void fill() const {
    engine::FileDescriptor const file(
        ::open((place_ / "filler").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
    std::vector<char> const block(1u << 16, 'x');
    for (std::size_t bytes = block.size(); bytes != 0; bytes /= 2) {
      while (::write(file.get(), block.data(), bytes) > 0) {
      }
    }
  }
  void empty() const { std::filesystem::remove(place_ / "filler"); }

 private:
  std::filesystem::path place_;
  bool mounted_ = false;
};

}  // namespace mpixrma::nam
