/// Mutexes: each is located at one process and can be locked by any process.
#pragma once

namespace armci {

void destroy_global_mutexes();

}  // namespace armci
