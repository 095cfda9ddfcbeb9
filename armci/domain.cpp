/// Domains: sets of processes that may dereference each other's ARMCI addresses. Every process is a domain of
/// its own, because an address is valid in its own process only.
#include "armci/state.hpp"

using namespace armci;

int armci_domain_nprocs(armci_domain_t, int) { return 1; }
int armci_domain_id(armci_domain_t, int glob_proc_id) { return glob_proc_id; }
int armci_domain_glob_proc_id(armci_domain_t, int id, int) { return id; }
int armci_domain_my_id(armci_domain_t) { return world.rank; }
int armci_domain_count(armci_domain_t) { return world.size; }
int armci_domain_same_id(armci_domain_t, int proc) { return proc == world.rank ? 1 : 0; }
int ARMCI_Same_node(int proc) { return proc == world.rank ? 1 : 0; }

int ARMCI_Uses_shm(void) { return 0; }
int ARMCI_Uses_shm_grp(ARMCI_Group*) { return 0; }
void ARMCI_Set_shm_limit(unsigned long) {}
