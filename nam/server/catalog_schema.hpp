/// The tables of the catalog, and the steps from the tables of each earlier version to those of the next one.
#pragma once

#include <cstdint>

#include "nam/server/database.hpp"

namespace mpixrma::nam {

/// Version of a catalog that this server writes. A catalog stores its version as SQLite's user_version.
std::int64_t newest_schema() noexcept;

/// Brings an empty or earlier catalog to the newest version, in one transaction. Throws Error(unsupported) if
/// a newer server has written it, Error(internal) if the file is no catalog.
void upgrade_schema(Database& database);

}  // namespace mpixrma::nam
