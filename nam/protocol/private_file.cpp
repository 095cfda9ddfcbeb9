#include "nam/protocol/private_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "engine/base/shared_memory.hpp"
#include "nam/protocol/error.hpp"
#include "nam/protocol/user_secret.hpp"

namespace mpixrma::nam {

namespace {

[[noreturn]] void fail(std::filesystem::path const& file, int error) {
  bool const is_full = error == ENOSPC || error == EDQUOT;
  throw Error(is_full ? ErrorCode::no_space : ErrorCode::internal,
              "cannot write " + file.string() + ": " + std::strerror(error));
}

/// Returns the error; 0: the file has the text.
int write_text(engine::FileDescriptor const& file, std::string_view text) noexcept {
  ssize_t const written = ::write(file.get(), text.data(), text.size());
  if (written < 0) return errno;
  if (static_cast<std::size_t>(written) != text.size()) return ENOSPC;
  return ::fsync(file.get()) == 0 ? 0 : errno;
}

}  // namespace

void create_file(std::filesystem::path const& file, std::string_view text) {
  engine::FileDescriptor const made(
      ::open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR));
  if (!made) fail(file, errno);
  int const error = write_text(made, text);
  if (error == 0) return;
  (void)::unlink(file.c_str());
  fail(file, error);
}

void replace_file(std::filesystem::path const& file, std::string_view text) {
  std::string const made = file.string() + "." + random_identifier();
  create_file(made, text);
  if (::rename(made.c_str(), file.c_str()) != 0) {
    int const error = errno;
    (void)::unlink(made.c_str());
    fail(file, error);
  }
  sync_parent_of(file);
}

void sync_parent_of(std::filesystem::path const& file) noexcept {
  engine::FileDescriptor const directory(
      ::open(file.parent_path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  (void)::fsync(directory.get());
}

}  // namespace mpixrma::nam
