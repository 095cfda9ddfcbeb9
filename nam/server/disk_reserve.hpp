/// Space on the disk of the catalog that is held for deletes: a delete writes before it frees anything.
#pragma once

#include <filesystem>

namespace mpixrma::nam {

class DiskReserve {
 public:
  /// `file` holds the space. Nothing is taken before take().
  explicit DiskReserve(std::filesystem::path file) : file_(std::move(file)) {}

  /// Holds the space; false while the disk has too little. Called once a second.
  bool take() noexcept;
  /// Gives the space to the next writer. False: it was not held.
  bool release() noexcept;

 private:
  std::filesystem::path file_;
  bool held_ = false;
};

}  // namespace mpixrma::nam
