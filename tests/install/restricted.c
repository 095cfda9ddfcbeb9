/* restricted COMMAND...: runs the command as in a container with Docker's default seccomp profile, as far
 * as this library and its dependencies are concerned: system calls that the profile permits only with a
 * capability fail with EPERM. */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static const unsigned forbidden[] = {SYS_process_vm_readv,
                                     SYS_process_vm_writev,
                                     SYS_ptrace,
                                     SYS_kcmp,
                                     SYS_mbind,
                                     SYS_set_mempolicy,
                                     SYS_get_mempolicy,
                                     SYS_move_pages,
                                     SYS_unshare,
                                     SYS_setns,
                                     SYS_mount,
                                     SYS_umount2,
                                     SYS_bpf,
                                     SYS_perf_event_open,
                                     SYS_userfaultfd,
                                     SYS_keyctl,
                                     SYS_add_key,
                                     SYS_pidfd_getfd,
                                     SYS_open_by_handle_at};

int main(int argc, char** argv) {
  enum { calls = sizeof forbidden / sizeof *forbidden };
  struct sock_filter code[2 * calls + 2];
  unsigned used = 0;
  code[used++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
  for (unsigned i = 0; i < calls; ++i) {
    code[used++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, forbidden[i], 0, 1);
    code[used++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
  }
  code[used++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  struct sock_fprog program = {(unsigned short)used, code};
  if (argc < 2 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
    perror("restricted");
    return 77;
  }
  execvp(argv[1], argv + 1);
  perror(argv[1]);
  return 127;
}
