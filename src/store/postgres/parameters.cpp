#include "store/postgres/parameters.hpp"

#include "base/encoding.hpp"

#include <algorithm>

namespace crab::store::postgres {

std::string& Array::next() {
    if (text_.size() > 1) text_ += ',';
    return text_;
}

void Array::add(std::string_view text) {
    next() += '"';
    for (const char c : text) {
        if (c == '"' || c == '\\') text_ += '\\';
        text_ += c;
    }
    text_ += '"';
}

// Once more escaped than by itself: the backslash is one of the array's too.
void Array::add_bytes(std::span<const std::uint8_t> bytes) {
    next() += "\"\\\\x" + to_hex(bytes) + '"';
}

void Parameters::add(std::span<const std::uint8_t> bytes) {
    values_.emplace_back("\\x" + to_hex(bytes));
}

bool Parameters::has_nul() const {
    return std::ranges::any_of(values_, [](const std::optional<std::string>& value) {
        return value && value->find('\0') != std::string::npos;
    });
}

}  // namespace crab::store::postgres
