#include "store/sqlite/database.hpp"

#include "base/log.hpp"
#include "store/sqlite/sqlite_error.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace crab::store::sqlite {
namespace {

constexpr std::string_view kInMemory = ":memory:";

/// Makes the folder and the file, so that SQLite finds them with our modes and gives its journal
/// files the same. Content that others could read is closed to them. A file that is there is not
/// opened: closing it would drop the locks that SQLite's other connections of this process hold on
/// it (POSIX), and the next reader from outside would delete their journal.
Result<void> prepare_file(const std::filesystem::path& path, const std::string& name) {
    std::error_code problem;
    const std::filesystem::path folder = path.parent_path();
    if (!folder.empty() && !std::filesystem::exists(folder, problem)) {
        std::filesystem::create_directories(folder.parent_path(), problem);
        if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST)
            return fail(error_of(SQLITE_CANTOPEN, nullptr, name));
    }
    if (const int made = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        made >= 0) {
        ::close(made);
    } else if (errno != EEXIST) {
        return fail(error_of(errno == ENOSPC ? SQLITE_FULL : SQLITE_CANTOPEN, nullptr, name));
    }
    struct stat status{};
    if (::stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode))
        return fail(error_of(SQLITE_CANTOPEN, nullptr, name));
    if ((status.st_mode & 0077) != 0) {
        log::warn("store was readable by others; closing it to them", {{"store", name}});
        if (::chmod(path.c_str(), 0600) != 0) return fail(error_of(SQLITE_PERM, nullptr, name));
    }
    return {};
}

}  // namespace

void Database::Close::operator()(sqlite3* connection) const { sqlite3_close_v2(connection); }

Database::RollbackUnlessCommitted::~RollbackUnlessCommitted() {
    if (sqlite3_get_autocommit(database.connection_.get()) == 0)
        sqlite3_exec(database.connection_.get(), "ROLLBACK", nullptr, nullptr, nullptr);
}

Result<Database> Database::open(const std::filesystem::path& path, DatabaseOptions options) {
    const std::string name = path.filename().string();
    if (path != kInMemory) {
        if (auto prepared = prepare_file(path, name); !prepared)
            return fail(std::move(prepared.error()));
    }
    sqlite3* connection = nullptr;
    const int code =
        sqlite3_open_v2(path.c_str(), &connection,
                        SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, nullptr);
    Database database(connection, name);  // closes what a failed open leaves behind
    if (code != SQLITE_OK) return fail(error_of(code, connection, name));
    sqlite3_extended_result_codes(connection, 1);
    if (auto configured = database.configure(options); !configured)
        return fail(std::move(configured.error()));
    if (options.check == StartCheck::kQuick) {
        if (auto checked = database.check(); !checked) return fail(std::move(checked.error()));
    }
    return database;
}

Result<void> Database::configure(const DatabaseOptions& options) {
    sqlite3_busy_timeout(connection_.get(), static_cast<int>(options.busy_timeout.count()));
    // Content comes from callers: what a file may hold beyond tables must not act on our behalf.
    sqlite3_db_config(connection_.get(), SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
    sqlite3_db_config(connection_.get(), SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
    std::string pragmas = fmt::format(
        "PRAGMA page_size={}; PRAGMA foreign_keys=ON; PRAGMA journal_mode=WAL; PRAGMA "
        "journal_size_limit=67108864;",
        options.page_bytes);
    switch (options.durability) {
        case Durability::kMachine: pragmas += "PRAGMA synchronous=FULL;"; break;
        case Durability::kProcess: pragmas += "PRAGMA synchronous=NORMAL;"; break;
    }
    if (options.max_pages) pragmas += fmt::format("PRAGMA max_page_count={};", *options.max_pages);
    return execute(pragmas);
}

Result<void> Database::check() {
    auto statement = query("PRAGMA quick_check(1)");
    if (!statement) return fail(std::move(statement.error()));
    const auto row = statement->step();
    if (!row) return fail(row.error());
    if (*row && statement->text_view(0) == "ok") return {};
    return fail(error_of(SQLITE_CORRUPT, nullptr, *name_));
}

Result<Statement> Database::prepare(std::string_view sql) {
    sqlite3_stmt* statement = nullptr;
    const int code = sqlite3_prepare_v3(connection_.get(), sql.data(), static_cast<int>(sql.size()),
                                        SQLITE_PREPARE_PERSISTENT, &statement, nullptr);
    if (code != SQLITE_OK) return fail(error_of(code, connection_.get(), *name_));
    return Statement(statement, *name_);
}

Result<void> Database::execute(std::string_view sql) {
    const int code =
        sqlite3_exec(connection_.get(), std::string(sql).c_str(), nullptr, nullptr, nullptr);
    if (code != SQLITE_OK) return fail(error_of(code, connection_.get(), *name_));
    return {};
}

Result<void> Database::copy_to(const std::filesystem::path& path) {
    // empty: what SQLite would make takes the umask's mode
    if (auto prepared = prepare_file(path, *name_); !prepared) return prepared;
    return run("VACUUM INTO ?", path.string());
}

Result<void> Database::migrate(std::string_view name, std::span<const std::string_view> steps) {
    return transaction([&]() -> Result<void> {
        auto made = execute(
            "CREATE TABLE IF NOT EXISTS crab_schema (name TEXT PRIMARY KEY, version INTEGER NOT "
            "NULL) STRICT, WITHOUT ROWID");
        if (!made) return made;
        auto read = query("SELECT version FROM crab_schema WHERE name = ?", name);
        if (!read) return fail(std::move(read.error()));
        const auto row = read->step();
        if (!row) return fail(row.error());
        const std::uint64_t version = *row ? static_cast<std::uint64_t>(read->integer(0)) : 0;
        read->reset();
        if (version > steps.size()) {
            return fail(ErrorCode::kInternal,
                        fmt::format("store {}: `{}` has version {}, this program knows {}: use the "
                                    "newer program or restore a backup",
                                    *name_, name, version, steps.size()));
        }
        if (version == steps.size()) return {};
        for (const std::string_view step : steps.subspan(version)) {
            if (auto done = execute(step); !done) return done;
        }
        return run(
            "INSERT INTO crab_schema (name, version) VALUES (?, ?) ON CONFLICT (name) DO UPDATE "
            "SET version = excluded.version",
            name, static_cast<std::int64_t>(steps.size()));
    });
}

std::int64_t Database::changes() const { return sqlite3_changes64(connection_.get()); }

}  // namespace crab::store::sqlite
