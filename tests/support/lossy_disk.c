/* LD_PRELOAD library: a disk whose content is the file that MPIX_TEST_DISK names. fdatasync() of a storage file writes
 * to that disk the pages that pwrite() has changed since the previous fdatasync(). While a file of the disk's name with
 * ".fails" exists, fdatasync() fails, and these pages are lost: as in Linux, they remain readable, and the next call
 * does not write them again. */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { page_bytes = 4096, max_pages = 4096 };

static _Atomic bool changed[max_pages];

static bool is_storage_file(int descriptor) {
  char link[64];
  char path[4096];
  static const char suffix[] = ".storage";
  snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
  const ssize_t length = readlink(link, path, sizeof path);
  const ssize_t end = (ssize_t)sizeof suffix - 1;
  return length > end && memcmp(path + length - end, suffix, (size_t)end) == 0;
}

__attribute__((visibility("default"))) ssize_t pwrite(int descriptor, const void *from, size_t length, off_t offset) {
  const ssize_t written = syscall(SYS_pwrite64, descriptor, from, length, offset);
  if (written <= 0 || getenv("MPIX_TEST_DISK") == NULL || !is_storage_file(descriptor)) return written;
  for (off_t page = offset / page_bytes; page <= (offset + written - 1) / page_bytes && page < max_pages;
       ++page)
    atomic_store(&changed[page], true);
  return written;
}

static void put_on_disk(int descriptor, int disk, off_t page) {
  char bytes[page_bytes];
  const ssize_t length = syscall(SYS_pread64, descriptor, bytes, sizeof bytes, page * page_bytes);
  if (length > 0) (void)!syscall(SYS_pwrite64, disk, bytes, (size_t)length, page * page_bytes);
}

__attribute__((visibility("default"))) int fdatasync(int descriptor) {
  const char *name = getenv("MPIX_TEST_DISK");
  if (name == NULL || !is_storage_file(descriptor)) return (int)syscall(SYS_fdatasync, descriptor);
  char failing[4096];
  snprintf(failing, sizeof failing, "%s.fails", name);
  const bool fails = access(failing, F_OK) == 0;
  const int disk = open(name, O_WRONLY | O_CLOEXEC);
  for (off_t page = 0; page < max_pages; ++page)
    if (atomic_exchange(&changed[page], false) && !fails) put_on_disk(descriptor, disk, page);
  close(disk);
  if (fails) errno = EIO;
  return fails ? -1 : 0;
}
