/// Operations on memory that is mapped here: loads, stores and CPU atomics. Complete when they return,
/// at both sides, up to the store fence that Engine::complete makes.
#pragma once

#include "engine/atomic/stripes.hpp"
#include "engine/operation.hpp"

namespace mpix::engine {

/// Stripes that the transfer's target range needs; none without the atomic guarantee.
StripeSet stripes_for(Transfer const& transfer) noexcept;

/// What an accumulate with these guarantees has to do to each element.
Reduction reduction_for(Transfer const& transfer) noexcept;

/// `target` is the local address of transfer.target.
void direct_transfer(Transfer const& transfer, std::byte* target, StripeTable& stripes) noexcept;
void direct_rmw(ReadModifyWrite const& operation, std::byte* target, StripeTable& stripes) noexcept;

}  // namespace mpix::engine
