#include "nam/server/grant_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <optional>
#include <system_error>

#include "nam/protocol/shortage.hpp"

namespace mpixrma::nam {

namespace {

namespace fs = std::filesystem;

constexpr char const* attribute = "user.mpix-nam.grant";
constexpr int flags = O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;

[[noreturn]] void fail(ErrorCode code, std::string const& what, int error) {
  throw Error(code, what + ": " + std::strerror(error));
}

std::string attribute_of(StorageIdentity const& identity) {
  return "1 " + identity.grant + " " + std::to_string(identity.bytes);
}

/// The attribute shows an administrator to which grant a file belongs. If the file system has no attributes,
/// the identity page identifies the grant.
void set_attribute(engine::FileDescriptor const& file, StorageIdentity const& identity) noexcept {
  std::string const text = attribute_of(identity);
  (void)::fsetxattr(file.get(), attribute, text.data(), text.size(), 0);
}

std::optional<std::string> read_attribute(engine::FileDescriptor const& file) {
  std::array<char, 256> text;
  ssize_t const length = ::fgetxattr(file.get(), attribute, text.data(), text.size());
  if (length < 0) return std::nullopt;
  return std::string(text.data(), static_cast<std::size_t>(length));
}

void sync_directory(fs::path const& directory) noexcept {
  engine::FileDescriptor const opened(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (opened) (void)::fsync(opened.get());
}

}  // namespace

void GrantFile::create() const {
  std::error_code ignored;
  if (fs::exists(fs::symlink_status(file_, ignored)))
    throw Error(ErrorCode::exists, "the storage file " + file_.string() + " exists already");
  engine::FileDescriptor const file(
      ::open(unfinished().c_str(), flags | O_CREAT | O_EXCL, S_IRUSR | S_IWUSR));
  if (!file) {
    bool const full = errno == ENOSPC || errno == EDQUOT;
    fail(full ? ErrorCode::no_space : ErrorCode::internal, "cannot create " + unfinished().string(), errno);
  }
  set_attribute(file, identity_);
}

GrantFile::Opened GrantFile::open() const {
  Opened opened{engine::FileDescriptor(::open(file_.c_str(), flags)), false};
  if (!opened.descriptor && errno == ENOENT) {
    // The grant's data process, or the control process, has ended before the file was complete.
    opened = {engine::FileDescriptor(::open(unfinished().c_str(), flags)), true};
    if (opened.descriptor) return opened;
    throw Error(ErrorCode::unavailable, "the storage file " + file_.string() + " is missing");
  }
  if (!opened.descriptor) throw_unavailable("cannot open the storage file " + file_.string(), errno);
  check(opened.descriptor);
  return opened;
}

void GrantFile::check(engine::FileDescriptor const& file) const {
  auto const refuse = [this](std::string const& reason) {
    throw Error(ErrorCode::unavailable, "the storage file " + file_.string() + " " + reason);
  };
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) refuse(std::string("cannot be read: ") + std::strerror(errno));
  if (!S_ISREG(status.st_mode)) refuse("is not a file");
  auto const length = static_cast<std::uint64_t>(status.st_size);
  if (length == 0) refuse("is empty");
  auto const attribute_there = read_attribute(file);
  if (attribute_there && *attribute_there != attribute_of(identity_))
    refuse("belongs to another grant: its attribute is '" + *attribute_there + "'");
  if (length == identity_.bytes && !attribute_there && file_.extension() == ".memory") return take_over(file);
  if (length != storage_file_bytes(identity_.bytes))
    refuse("has " + std::to_string(length) + " bytes, expected " +
           std::to_string(storage_file_bytes(identity_.bytes)));
  if (!has_identity(file.get(), identity_)) refuse("does not have the identity of the grant");
}

/// Takes over a file of an earlier server: the same memory, without the identity page.
void GrantFile::take_over(engine::FileDescriptor const& file) const {
  int const error = ::posix_fallocate(file.get(), static_cast<off_t>(identity_.bytes),
                                      static_cast<off_t>(identity_page_bytes));
  if (error != 0 || !write_identity(file.get(), identity_) || ::fsync(file.get()) != 0) {
    int const reason = error != 0 ? error : errno;
    // Restores the length for the next attempt.
    (void)::ftruncate(file.get(), static_cast<off_t>(identity_.bytes));
    fail(ErrorCode::unavailable, "cannot write the identity of the grant into " + file_.string(), reason);
  }
  set_attribute(file, identity_);
}

void GrantFile::commit() const {
  if (::rename(unfinished().c_str(), file_.c_str()) != 0) {
    if (errno == ENOENT) return;  // it was committed before
    fail(ErrorCode::internal, "cannot rename " + unfinished().string(), errno);
  }
  sync_directory(file_.parent_path());
}

void GrantFile::replace() const {
  if (::rename(file_.c_str(), (file_.string() + ".damaged").c_str()) != 0 && errno != ENOENT)
    fail(ErrorCode::internal, "cannot rename " + file_.string(), errno);
  (void)::unlink(unfinished().c_str());
  create();
}

void GrantFile::mark_for_removal() const noexcept {
  engine::FileDescriptor const made(
      ::open(mark().c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, S_IRUSR | S_IWUSR));
  sync_directory(file_.parent_path());
}

void GrantFile::unmark() const noexcept { (void)::unlink(mark().c_str()); }

void GrantFile::remove() const noexcept {
  bool const is_gone = ::unlink(file_.c_str()) == 0 || errno == ENOENT;
  (void)::unlink(unfinished().c_str());
  if (is_gone) unmark();
}

std::uint64_t GrantFile::disk_bytes() const noexcept {
  struct stat status {};
  bool const is_there = ::stat(file_.c_str(), &status) == 0 || ::stat(unfinished().c_str(), &status) == 0;
  return is_there ? static_cast<std::uint64_t>(status.st_blocks) * 512 : 0;
}

void GrantFile::sweep(fs::path const& directory,
                      std::function<bool(std::string const& grant)> const& known) noexcept {
  std::error_code error;
  std::error_code ignored;
  for (fs::directory_iterator each(directory, error), end; !error && each != end; each.increment(error)) {
    std::string const name = each->path().filename().string();
    bool const is_known = known(name.substr(0, name.find('.')));
    if (name.ends_with(mark_suffix)) {
      GrantFile const marked(each->path().parent_path() / each->path().stem(), {});
      is_known ? marked.unmark() : marked.remove();
    } else if (name.ends_with(std::string(".storage") + unfinished_suffix) && !is_known) {
      fs::remove(each->path(), ignored);
    }
  }
}

}  // namespace mpixrma::nam
