#include "store/postgres/rows.hpp"

#include "base/encoding.hpp"

#include <libpq-fe.h>

#include <charconv>

namespace crab::store::postgres {
namespace {

std::int64_t integer_of(std::string_view text) {
    std::int64_t value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
}

}  // namespace

void Rows::Clear::operator()(pg_result* result) const { PQclear(result); }

int Rows::count() const { return PQntuples(result_.get()); }

std::int64_t Rows::changed() const { return integer_of(PQcmdTuples(result_.get())); }

bool Rows::Row::is_null(int column) const {
    return PQgetisnull(rows_->result_.get(), number_, column) != 0;
}

std::string_view Rows::Row::text_view(int column) const {
    return {PQgetvalue(rows_->result_.get(), number_, column),
            static_cast<std::size_t>(PQgetlength(rows_->result_.get(), number_, column))};
}

std::int64_t Rows::Row::integer(int column) const { return integer_of(text_view(column)); }

// The session's bytea_output is hex: two characters, then the digits.
std::string Rows::Row::bytes(int column) const {
    const std::string_view text = text_view(column);
    return text.starts_with("\\x") ? from_hex(text.substr(2)).value_or("") : "";
}

std::optional<SystemTime> Rows::Row::optional_time(int column) const {
    if (is_null(column)) return std::nullopt;
    return time(column);
}

}  // namespace crab::store::postgres
