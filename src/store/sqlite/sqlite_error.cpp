#include "store/sqlite/sqlite_error.hpp"

#include "base/log.hpp"

#include <sqlite3.h>

namespace crab::store::sqlite {
namespace {

Error make(ErrorCode code, const std::string& database_name, const char* what) {
    return Error{.code = code, .message = "store " + database_name + ": " + what};
}

Error classify(int code, const std::string& name) {
    switch (code & 0xff) {
        case SQLITE_FULL:
            return make(ErrorCode::kUnavailable, name, "the disk is full: free space, then repeat");
        case SQLITE_BUSY:
        case SQLITE_LOCKED:
            return make(ErrorCode::kUnavailable, name, "locked by another process: repeat later");
        case SQLITE_IOERR:
            return make(ErrorCode::kUnavailable, name,
                        "the disk cannot be read or written: check it");
        case SQLITE_CANTOPEN:
            return make(ErrorCode::kUnavailable, name,
                        "cannot be opened: check that its folder exists and may be written");
        case SQLITE_READONLY:
        case SQLITE_PERM:
        case SQLITE_AUTH:
            return make(ErrorCode::kUnavailable, name,
                        "may not be written: check owner and mode of the file");
        case SQLITE_NOMEM:
            return make(ErrorCode::kUnavailable, name, "out of memory: repeat later");
        case SQLITE_CORRUPT:
        case SQLITE_NOTADB:
            return make(ErrorCode::kInternal, name,
                        "the file is damaged: restore it from a backup");
        // SQLite may add codes
        default: return make(ErrorCode::kInternal, name, "an operation failed: see the log");
    }
}

}  // namespace

Error error_of(int code, sqlite3* connection, const std::string& database_name) {
    log::warn("store operation failed",
              {{"store", database_name},
               {"code", sqlite3_errstr(code)},
               {"reason", connection != nullptr ? sqlite3_errmsg(connection) : ""}});
    return classify(code, database_name);
}

}  // namespace crab::store::sqlite
