#pragma once

#include "base/clock.hpp"
#include "base/result.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

struct sqlite3_stmt;

namespace crab::store::sqlite {

/// A prepared statement; used on the thread that holds its Database, which outlives it. Parameters
/// count from 1, columns from 0. Times are stored as milliseconds of Unix time.
class Statement {
public:
    Statement() = default;

    /// Binds copies of all parameters in order and forgets earlier rows.
    template <class... Values>
    Statement& bind(const Values&... values) {
        reset();
        int index = 0;
        (bind_at(++index, values), ...);
        return *this;
    }
    /// True when there is a row to read, false at the end.
    Result<bool> step();
    /// Runs to the end; rows are dropped.
    Result<void> run();
    /// Ends reading and releases its locks.
    void reset();

    bool is_null(int column) const;
    std::int64_t integer(int column) const;
    std::string text(int column) const;
    /// Valid until the next step() or reset().
    std::string_view text_view(int column) const;
    std::span<const std::uint8_t> bytes(int column) const;
    SystemTime time(int column) const { return SystemTime(Milliseconds(integer(column))); }
    std::optional<SystemTime> optional_time(int column) const;

    void bind_at(int index, std::int64_t value);
    void bind_at(int index, std::string_view text);
    void bind_at(int index, std::span<const std::uint8_t> bytes);
    void bind_at(int index, SystemTime time) { bind_at(index, to_unix_ms(time)); }
    void bind_at(int index, std::nullptr_t);
    void bind_at(int index, const std::optional<SystemTime>& time) {
        time ? bind_at(index, *time) : bind_at(index, nullptr);
    }

private:
    friend class Database;
    struct Finalize {
        void operator()(sqlite3_stmt* statement) const;
    };
    Statement(sqlite3_stmt* statement, const std::string& database_name)
        : statement_(statement), database_name_(&database_name) {}

    std::unique_ptr<sqlite3_stmt, Finalize> statement_;
    const std::string* database_name_ = nullptr;
};

}  // namespace crab::store::sqlite
