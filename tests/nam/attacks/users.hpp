/// The users of the attacks; none needs an account.
#pragma once

#include <sys/types.h>

namespace mpixrma::nam {

inline constexpr uid_t owner = 64001;
inline constexpr uid_t stranger = 64002;  ///< has no right to what is the owner's
inline constexpr uid_t attacker = 64003;
inline constexpr uid_t harmless = 64004;

}  // namespace mpixrma::nam
