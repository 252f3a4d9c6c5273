#include "store/sqlite/statement.hpp"

#include "store/sqlite/sqlite_error.hpp"

#include <sqlite3.h>

#include <stdexcept>

namespace crab::store::sqlite {
namespace {

/// A parameter that cannot be bound is a mistake in the statement's text, or memory has run out.
void require(int code) {
    if (code != SQLITE_OK) throw std::logic_error(sqlite3_errstr(code));
}

}  // namespace

void Statement::Finalize::operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }

Result<bool> Statement::step() {
    const int code = sqlite3_step(statement_.get());
    if (code == SQLITE_ROW) return true;
    if (code == SQLITE_DONE) return false;
    Error error = error_of(code, sqlite3_db_handle(statement_.get()), *database_name_);
    reset();
    return fail(std::move(error));
}

Result<void> Statement::run() {
    for (;;) {
        const auto row = step();
        if (!row) return fail(row.error());
        if (!*row) break;
    }
    reset();
    return {};
}

void Statement::reset() {
    // repeats the error of the last step, which step() has reported
    sqlite3_reset(statement_.get());
}

bool Statement::is_null(int column) const {
    return sqlite3_column_type(statement_.get(), column) == SQLITE_NULL;
}

std::int64_t Statement::integer(int column) const {
    return sqlite3_column_int64(statement_.get(), column);
}

std::string Statement::text(int column) const { return std::string(text_view(column)); }

std::string_view Statement::text_view(int column) const {
    const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement_.get(), column));
    return {text, static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column))};
}

std::span<const std::uint8_t> Statement::bytes(int column) const {
    const auto* bytes =
        static_cast<const std::uint8_t*>(sqlite3_column_blob(statement_.get(), column));
    return {bytes, static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column))};
}

std::optional<SystemTime> Statement::optional_time(int column) const {
    if (is_null(column)) return std::nullopt;
    return time(column);
}

void Statement::bind_at(int index, std::int64_t value) {
    require(sqlite3_bind_int64(statement_.get(), index, value));
}

void Statement::bind_at(int index, std::string_view text) {
    // a null pointer would bind NULL
    const char* const data = text.data() != nullptr ? text.data() : "";
    require(sqlite3_bind_text64(statement_.get(), index, data, text.size(), SQLITE_TRANSIENT,
                                SQLITE_UTF8));
}

void Statement::bind_at(int index, std::span<const std::uint8_t> bytes) {
    require(sqlite3_bind_blob64(statement_.get(), index,
                                bytes.empty() ? "" : static_cast<const void*>(bytes.data()),
                                bytes.size(), SQLITE_TRANSIENT));
}

void Statement::bind_at(int index, std::nullptr_t) {
    require(sqlite3_bind_null(statement_.get(), index));
}

}  // namespace crab::store::sqlite
