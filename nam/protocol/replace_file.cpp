#include "nam/protocol/replace_file.hpp"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "engine/base/shared_memory.hpp"
#include "nam/protocol/error.hpp"

namespace mpixrma::nam {

void replace_file(std::filesystem::path const& file, std::string_view text) {
  std::string made = file.string() + ".XXXXXX";
  engine::FileDescriptor const opened(::mkostemp(made.data(), O_CLOEXEC));
  if (opened && ::write(opened.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()) &&
      ::fsync(opened.get()) == 0 && ::rename(made.c_str(), file.c_str()) == 0) {
    engine::FileDescriptor const directory(
        ::open(file.parent_path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    (void)::fsync(directory.get());
    return;
  }
  int const error = errno;
  if (opened) (void)::unlink(made.c_str());
  bool const is_full = error == ENOSPC || error == EDQUOT;
  throw Error(is_full ? ErrorCode::no_space : ErrorCode::internal,
              "cannot write " + file.string() + ": " + std::strerror(error));
}

}  // namespace mpixrma::nam
