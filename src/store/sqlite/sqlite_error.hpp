#pragma once

#include "base/result.hpp"

#include <string>

struct sqlite3;

namespace crab::store::sqlite {

/// The failure that `code` (a result code of SQLite, extended or not) stands for. The library's own
/// words go to the log, not into the message, since they may quote content. `connection` may be
/// null.
Error error_of(int code, sqlite3* connection, const std::string& database_name);

}  // namespace crab::store::sqlite
