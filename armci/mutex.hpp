/// Mutexes that live with a process and are locked from anywhere.
#pragma once

namespace armci {

void destroy_all_mutexes();

}  // namespace armci
