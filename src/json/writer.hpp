#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace crab::json {

/// Appends `text` as a JSON string with its quotes. `text` is valid UTF-8 (whatever a parser of
/// ours produced is).
void append_quoted(std::string& out, std::string_view text);
/// The same for text from outside: each part that is not UTF-8 becomes one U+FFFD, by the Unicode
/// standard's "maximal subpart".
void append_quoted_lossy(std::string& out, std::string_view text);

/// Writes one JSON text onto the end of the caller's string and puts the commas where they belong.
/// The caller keeps the grammar: a key before every value of an object, an end for every begin.
/// Allocates only as the string grows.
class Writer {
public:
    explicit Writer(std::string& out) : out_(out) {}

    Writer& begin_object() { return open('{'); }
    Writer& end_object() { return close('}'); }
    Writer& begin_array() { return open('['); }
    Writer& end_array() { return close(']'); }
    Writer& key(std::string_view name);
    Writer& string(std::string_view text);
    /// Text that may not be UTF-8; see append_quoted_lossy().
    Writer& string_lossy(std::string_view text);
    Writer& integer(std::int64_t value);
    Writer& unsigned_integer(std::uint64_t value);
    /// The shortest form that reads back as the same double, with a `.0` when it would look like an
    /// integer. Throws std::domain_error for NaN and infinity, which JSON cannot say.
    Writer& number(double value);
    Writer& boolean(bool value) { return raw(value ? "true" : "false"); }
    Writer& null() { return raw("null"); }
    /// One complete JSON value, copied as it is.
    Writer& raw(std::string_view json);

private:
    Writer& open(char bracket);
    Writer& close(char bracket);
    void separate();

    std::string& out_;
    bool comma_ = false;  // whether the next value or key follows another one
};

}  // namespace crab::json
