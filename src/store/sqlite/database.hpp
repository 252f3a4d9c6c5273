#pragma once

#include "base/clock.hpp"
#include "base/result.hpp"
#include "store/sqlite/statement.hpp"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

struct sqlite3;

namespace crab::store::sqlite {

/// Durability of a commit. In WAL mode both survive a crash of the process.
enum class Durability : std::uint8_t {
    kMachine,   ///< synchronous=FULL: a commit survives a loss of power
    /// synchronous=NORMAL: a loss of power may undo the latest commits, without corruption
    kProcess,
};

enum class StartCheck : std::uint8_t {
    kQuick,   ///< PRAGMA quick_check: reads the whole file
    kNone,    ///< for a second connection to a file that was checked just now
};

struct DatabaseOptions {
    Durability durability = Durability::kMachine;
    StartCheck check = StartCheck::kQuick;
    Milliseconds busy_timeout{5000};         ///< how long to wait for another connection's lock
    /// For new files; larger pages suit rows of many kilobytes
    std::int64_t page_bytes = 4096;
    std::optional<std::int64_t> max_pages;   ///< more is "disk full"
};

/// One connection to an SQLite file. Not thread-safe: its owner locks around it. Everything may
/// block. Errors of all functions: kUnavailable when the disk is full, the file locked or
/// unreadable; kInternal for all else, a damaged file included. Messages contain the file name
/// without its folder.
class Database {
public:
    /// Opens or creates the file (mode 0600, its folder 0700 if that has to be made) in WAL mode
    /// with foreign keys on, and checks it. `:memory:` is a database of its own that ends with the
    /// connection.
    static Result<Database> open(const std::filesystem::path& path, DatabaseOptions options = {});

    Database(Database&&) noexcept = default;
    Database& operator=(Database&&) noexcept = default;

    Result<Statement> prepare(std::string_view sql);
    /// A statement with its parameters bound, ready to step.
    template <class... Values>
    Result<Statement> query(std::string_view sql, const Values&... values) {
        auto statement = prepare(sql);
        if (statement) statement->bind(values...);
        return statement;
    }
    /// Runs one statement to its end; rows are dropped.
    template <class... Values>
    Result<void> run(std::string_view sql, const Values&... values) {
        auto statement = query(sql, values...);
        if (!statement) return std::unexpected(std::move(statement.error()));
        return statement->run();
    }
    /// Runs one or more statements without parameters.
    Result<void> execute(std::string_view sql);
    /// Writes a consistent snapshot to a new file (mode 0600).
    Result<void> copy_to(const std::filesystem::path& path);

    /// Runs `work()`, which returns a Result, between BEGIN IMMEDIATE and COMMIT; a failure of
    /// either rolls back.
    template <class F>
    std::invoke_result_t<F> transaction(F work) {
        if (auto begun = execute("BEGIN IMMEDIATE"); !begun)
            return std::unexpected(std::move(begun.error()));
        RollbackUnlessCommitted rollback{*this};
        auto result = work();
        if (!result) return result;
        if (auto committed = execute("COMMIT"); !committed)
            return std::unexpected(std::move(committed.error()));
        return result;
    }

    /// Brings the part of the schema called `name` to version `steps.size()`: step i upgrades
    /// version i to i + 1; all missing steps run in one transaction. A published step is never
    /// edited. Errors: kInternal for a newer version.
    Result<void> migrate(std::string_view name, std::span<const std::string_view> steps);

    /// The connection itself, for what is registered on it; the Database keeps owning it.
    sqlite3* handle() const { return connection_.get(); }
    /// Rows that the last INSERT, UPDATE or DELETE changed.
    std::int64_t changes() const;
    /// The file's name without its folder.
    const std::string& name() const { return *name_; }

private:
    struct Close {
        void operator()(sqlite3* connection) const;
    };
    struct RollbackUnlessCommitted {
        Database& database;
        ~RollbackUnlessCommitted();
    };

    Database(sqlite3* connection, std::string name)
        : name_(std::make_unique<std::string>(std::move(name))), connection_(connection) {}
    Result<void> configure(const DatabaseOptions& options);
    Result<void> check();

    std::unique_ptr<const std::string> name_;  ///< on the heap, because statements refer to it
    std::unique_ptr<sqlite3, Close> connection_;
};

}  // namespace crab::store::sqlite
