#include "mpix/xfer/recent.hpp"

namespace mpix {

thread_local constinit RecentTransfers recent_transfers;

void remember(Communicator const& communicator, Datatype const& type, Target& target, RemoteAddress address) {
  if (!can_be_kept(type)) return;
  RecentTransfer& recent = recent_transfers.at(target.rank);
  recent.comm = communicator.handle();
  recent.type = type.handle();
  recent.epoch = handles_epoch.load(std::memory_order_acquire);
  recent.rank = target.rank;
  recent.element_bytes = type.size();
  recent.atomic_word = type.atomic_word();
  recent.communicator = &communicator;
  recent.peer = target.peer;
  recent.segment = target.peer->view(address);
}

}  // namespace mpix
