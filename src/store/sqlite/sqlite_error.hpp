#pragma once

#include "base/result.hpp"

#include <string>

struct sqlite3;

namespace crab::store::sqlite {

/// Maps `code` (a result code of SQLite, extended or not) to an error. SQLite's message is logged
/// and not returned, since it may quote content. `connection` may be null.
Error error_of(int code, sqlite3* connection, const std::string& database_name);

}  // namespace crab::store::sqlite
