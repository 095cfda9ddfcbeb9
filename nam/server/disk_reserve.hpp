/// Space on the disk of the catalog that is reserved for deletes: a delete writes before it frees anything.
#pragma once

#include <filesystem>

namespace mpixrma::nam {

class DiskReserve {
 public:
  /// `file` takes the space. Nothing is reserved before ensure().
  explicit DiskReserve(std::filesystem::path file) : file_(std::move(file)) {}

  /// Reserves the space. Returns false while the disk has too little. Called once a second.
  bool ensure() noexcept;
  /// Frees the space for the next writer. Returns false if it was not reserved.
  bool release() noexcept;

 private:
  std::filesystem::path file_;
  bool reserved_ = false;
};

}  // namespace mpixrma::nam
