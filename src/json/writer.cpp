#include "json/writer.hpp"

#include "json/bounded_writer.hpp"
#include "json/byte_words.hpp"
#include "json/unicode.hpp"

#include <simdjson.h>

#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <stdexcept>

namespace crab::json {
namespace {

constexpr std::size_t kRoom = 32;  // beside a text: its quotes, a few escapes, what comes next

bool needs_escape(unsigned char byte) { return byte < 0x20 || byte == '"' || byte == '\\'; }

// The number of bytes before the first that needs an escape.
std::size_t plain_run(const char* text, std::size_t size) {
    std::size_t at = 0;
    for (; at + ByteWord::kSize <= size; at += ByteWord::kSize) {
        const ByteWord word(text + at);
        const std::uint64_t found = word.is('"') | word.is('\\') | word.is_below(0x20);
        if (found != 0) return at + ByteWord::first(found);
    }
    while (at < size && !needs_escape(static_cast<unsigned char>(text[at]))) ++at;
    return at;
}

void append_escape(std::string& out, unsigned char byte) {
    switch (byte) {
        case '"': out += "\\\""; return;
        case '\\': out += "\\\\"; return;
        case '\n': out += "\\n"; return;
        case '\r': out += "\\r"; return;
        case '\t': out += "\\t"; return;
        case '\b': out += "\\b"; return;
        case '\f': out += "\\f"; return;
        default: break;
    }
    constexpr std::string_view kHex = "0123456789abcdef";
    const std::array<char, 6> escape{'\\', 'u', '0', '0', kHex[byte >> 4], kHex[byte & 15]};
    out.append(escape.data(), escape.size());
}

void append_escaped(std::string& out, std::string_view text) {
    while (true) {
        const std::size_t plain = plain_run(text.data(), text.size());
        out.append(text.data(), plain);
        if (plain == text.size()) return;
        append_escape(out, static_cast<unsigned char>(text[plain]));
        text.remove_prefix(plain + 1);
    }
}

template <class T>
void append_number(std::string& out, T value) {
    std::array<char, 32> digits;
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
    out.append(digits.data(), end);
}

}  // namespace

void append_quoted(std::string& out, std::string_view text) {
    out.reserve(out.size() + text.size() + kRoom);
    out += '"';
    append_escaped(out, text);
    out += '"';
}

void append_quoted_lossy(std::string& out, std::string_view text) {
    if (simdjson::validate_utf8(text.data(), text.size())) return append_quoted(out, text);
    out += '"';
    while (!text.empty()) {
        const CodePoint next = decode_utf8(text);
        if (next.valid) {
            append_escaped(out, text.substr(0, next.bytes));
        } else {
            out += "\xEF\xBF\xBD";  // U+FFFD
        }
        text.remove_prefix(next.bytes);
    }
    out += '"';
}

void Writer::separate() {
    if (comma_) out_ += ',';
    comma_ = true;
}

Writer& Writer::open(char bracket) {
    if (comma_) out_ += ',';
    out_ += bracket;
    comma_ = false;
    return *this;
}

Writer& Writer::close(char bracket) {
    out_ += bracket;
    comma_ = true;
    return *this;
}

Writer& Writer::key(std::string_view name) {
    if (comma_) out_ += ',';
    append_quoted(out_, name);
    out_ += ':';
    comma_ = false;
    return *this;
}

Writer& Writer::string(std::string_view text) {
    separate();
    append_quoted(out_, text);
    return *this;
}

Writer& Writer::string_lossy(std::string_view text) {
    separate();
    append_quoted_lossy(out_, text);
    return *this;
}

Writer& Writer::integer(std::int64_t value) {
    separate();
    append_number(out_, value);
    return *this;
}

Writer& Writer::unsigned_integer(std::uint64_t value) {
    separate();
    append_number(out_, value);
    return *this;
}

Writer& Writer::number(double value) {
    if (!std::isfinite(value)) throw std::domain_error("JSON has no form for NaN and infinity");
    separate();
    const std::size_t before = out_.size();
    append_number(out_, value);
    if (out_.find_first_of(".e", before) == std::string::npos) out_ += ".0";
    return *this;
}

Writer& Writer::raw(std::string_view json) {
    separate();
    out_ += json;
    return *this;
}

BoundedWriter& BoundedWriter::quoted(std::string_view text) {
    *at_++ = '"';
    const std::size_t plain = plain_run(text.data(), text.size());
    raw(text.substr(0, plain));
    if (plain != text.size()) {
        std::string escaped;
        append_escaped(escaped, text.substr(plain));
        raw(escaped);
    }
    *at_++ = '"';
    return *this;
}

}  // namespace crab::json
