#pragma once

#include "base/clock.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

struct pg_result;

namespace crab::store::postgres {

/// What a statement answered, whole. Columns and rows count from 0. Times are integers:
/// milliseconds of Unix time.
class Rows {
public:
    explicit Rows(pg_result* result) : result_(result) {}

    int count() const;
    /// Rows that an INSERT, UPDATE or DELETE changed.
    std::int64_t changed() const;

    /// One of them; valid as long as the Rows.
    class Row {
    public:
        Row(const Rows& rows, int number) : rows_(&rows), number_(number) {}
        bool is_null(int column) const;
        /// Valid as long as the Rows; empty for NULL.
        std::string_view text_view(int column) const;
        std::string text(int column) const { return std::string(text_view(column)); }
        /// 0 for NULL.
        std::int64_t integer(int column) const;
        bool boolean(int column) const { return text_view(column) == "t"; }
        /// Of a bytea.
        std::string bytes(int column) const;
        SystemTime time(int column) const { return SystemTime(Milliseconds(integer(column))); }
        std::optional<SystemTime> optional_time(int column) const;

    private:
        const Rows* rows_;
        int number_;
    };
    Row operator[](int number) const { return Row(*this, number); }

    class Iterator {
    public:
        Iterator(const Rows& rows, int number) : rows_(&rows), number_(number) {}
        Row operator*() const { return Row(*rows_, number_); }
        Iterator& operator++() {
            ++number_;
            return *this;
        }
        bool operator==(const Iterator& other) const { return number_ == other.number_; }

    private:
        const Rows* rows_;
        int number_;
    };
    Iterator begin() const { return {*this, 0}; }
    Iterator end() const { return {*this, count()}; }

private:
    struct Clear {
        void operator()(pg_result* result) const;
    };
    std::unique_ptr<pg_result, Clear> result_;
};

}  // namespace crab::store::postgres
