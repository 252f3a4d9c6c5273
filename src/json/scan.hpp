#pragma once

#include <optional>
#include <string_view>

namespace crab::json {

// ASCII classes, whatever the locale.
inline bool is_ascii_digit(char c) { return c >= '0' && c <= '9'; }
inline bool is_ascii_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
inline bool is_ascii_hex(char c) {
    return is_ascii_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}
inline bool is_ascii(char c) { return static_cast<unsigned char>(c) < 0x80; }

/// Reads a text from its front, for the small grammars of the formats.
class Scan {
public:
    explicit Scan(std::string_view text) : rest_(text) {}

    bool done() const { return rest_.empty(); }
    std::string_view rest() const { return rest_; }
    char peek() const { return rest_.empty() ? '\0' : rest_[0]; }

    bool skip(char c) {
        if (peek() != c || done()) return false;
        rest_.remove_prefix(1);
        return true;
    }
    bool skip_any(std::string_view choices) {
        if (done() || choices.find(rest_[0]) == std::string_view::npos) return false;
        rest_.remove_prefix(1);
        return true;
    }
    /// Exactly `count` digits (at most 9), as a number.
    std::optional<int> digits(std::size_t count) {
        if (rest_.size() < count) return std::nullopt;
        int value = 0;
        for (const char c : rest_.substr(0, count)) {
            if (!is_ascii_digit(c)) return std::nullopt;
            value = value * 10 + (c - '0');
        }
        rest_.remove_prefix(count);
        return value;
    }
    /// As many bytes as `wanted` accepts.
    template <class Wanted>
    std::string_view take_while(Wanted wanted) {
        std::size_t count = 0;
        while (count < rest_.size() && wanted(rest_[count])) ++count;
        const std::string_view taken = rest_.substr(0, count);
        rest_.remove_prefix(count);
        return taken;
    }

private:
    std::string_view rest_;
};

}  // namespace crab::json
