/* Loaded before the C library: fdatasync() waits while the file that MPIX_TEST_HELD_SYNC names is there, as on a disk
 * that is slow. */
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

__attribute__((visibility("default"))) int fdatasync(int descriptor) {
  const char *held = getenv("MPIX_TEST_HELD_SYNC");
  const struct timespec pause = {0, 1000000};
  while (held != NULL && access(held, F_OK) == 0) nanosleep(&pause, NULL);
  return (int)syscall(SYS_fdatasync, descriptor);
}
