/// Domains: sets of processes that a program takes for one node. By default every process is a domain of its
/// own, because Global Arrays dereferences addresses of the other processes of its domain, and an address is
/// valid in its own process only.
#include "armci/state.hpp"

using namespace armci;

namespace {
/// There is one kind of domain; the others have no domains.
bool exists(armci_domain_t kind) noexcept { return kind == ARMCI_DOMAIN_SMP; }
}  // namespace

int armci_domain_nprocs(armci_domain_t domain, int id) {
  return exists(domain) ? world.domains.size(id < 0 ? world.domains.domain_of(world.rank) : id) : 0;
}
int armci_domain_id(armci_domain_t domain, int glob_proc_id) {
  return exists(domain) ? world.domains.domain_of(glob_proc_id) : -1;
}
int armci_domain_glob_proc_id(armci_domain_t domain, int id, int loc_proc_id) {
  return exists(domain) ? world.domains.process(id, loc_proc_id) : -1;
}
int armci_domain_my_id(armci_domain_t domain) {
  return exists(domain) ? world.domains.domain_of(world.rank) : -1;
}
int armci_domain_count(armci_domain_t domain) { return exists(domain) ? world.domains.count() : 0; }
int armci_domain_same_id(armci_domain_t domain, int proc) {
  return exists(domain) ? ARMCI_Same_node(proc) : 0;
}
int ARMCI_Same_node(int proc) {
  int const domain = world.domains.domain_of(proc);
  return domain >= 0 && domain == world.domains.domain_of(world.rank) ? 1 : 0;
}

int ARMCI_Uses_shm(void) { return 0; }
int ARMCI_Uses_shm_grp(ARMCI_Group*) { return 0; }
void ARMCI_Set_shm_limit(unsigned long) {}
