#pragma once

#include "base/clock.hpp"

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace crab::store::postgres {

/// A one-dimensional array as a parameter; the statement says of what (`$1::uuid[]`).
class Array {
public:
    void add(std::string_view text);
    void add_null() { next() += "NULL"; }
    void add_number(std::int64_t value) { next() += std::to_string(value); }
    void add_flag(bool value) { next() += value ? 't' : 'f'; }
    void add_bytes(std::span<const std::uint8_t> bytes);
    std::string finish() const { return text_ + "}"; }

private:
    std::string& next();

    std::string text_ = "{";
};

/// The parameters of a statement, `$1` first, as text.
class Parameters {
public:
    template <class... Values>
    explicit Parameters(const Values&... values) {
        (add(values), ...);
    }

    std::size_t size() const { return values_.size(); }
    /// Null for NULL.
    const char* at(std::size_t i) const { return values_[i] ? values_[i]->c_str() : nullptr; }
    /// PostgreSQL stores no NUL in a text; sent, it would end the text.
    bool has_nul() const;

private:
    void add(std::integral auto value) {
        if constexpr (std::same_as<decltype(value), bool>)
            values_.emplace_back(value ? "t" : "f");
        else
            values_.emplace_back(std::to_string(value));
    }
    void add(std::string_view text) { values_.emplace_back(std::string(text)); }
    void add(const Array& array) { values_.emplace_back(array.finish()); }
    void add(std::span<const std::uint8_t> bytes);
    void add(SystemTime time) { add(to_unix_ms(time)); }
    void add(std::nullptr_t) { values_.emplace_back(std::nullopt); }
    template <class Value>
    void add(const std::optional<Value>& value) {
        value ? add(*value) : add(nullptr);
    }

    std::vector<std::optional<std::string>> values_;
};

}  // namespace crab::store::postgres
