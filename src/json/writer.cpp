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

constexpr std::size_t kMostEscaped = 6;  // bytes of one

char letter_of_escape(char byte) {
    switch (byte) {
        case '"':
        case '\\': return byte;
        case '\n': return 'n';
        case '\r': return 'r';
        case '\t': return 't';
        case '\b': return 'b';
        case '\f': return 'f';
        default: return 0;
    }
}

/// Returns where the escape ends.
char* write_escape(char* to, char byte) {
    *to++ = '\\';
    if (const char letter = letter_of_escape(byte); letter != 0) {
        *to++ = letter;
        return to;
    }
    constexpr std::string_view kHex = "0123456789abcdef";
    const auto value = static_cast<unsigned char>(byte);
    for (const char c : {'u', '0', '0', kHex[value >> 4], kHex[value & 15]}) *to++ = c;
    return to;
}

/// `to` has room for kMostEscaped bytes for each of the text, and a word. Texts that need escapes
/// are often JSON themselves, where one follows the other: what lies between is copied by words.
char* write_escaped(char* to, std::string_view text) {
    std::size_t at = 0;
    while (at + ByteWord::kSize <= text.size()) {
        const char* const from = text.data() + at;
        const ByteWord word(from);
        std::memcpy(to, from, ByteWord::kSize);
        const std::uint64_t found = word.is('"') | word.is('\\') | word.is_below(0x20);
        const std::size_t plain = found == 0 ? ByteWord::kSize : ByteWord::first(found);
        at += plain;
        to += plain;
        if (found != 0) to = write_escape(to, text[at++]);
    }
    for (; at < text.size(); ++at) {
        if (needs_escape(static_cast<unsigned char>(text[at])))
            to = write_escape(to, text[at]);
        else
            *to++ = text[at];
    }
    return to;
}

void append_escaped(std::string& out, std::string_view text) {
    constexpr std::size_t kPart = 256;
    while (true) {
        const std::size_t plain = plain_run(text.data(), text.size());
        out.append(text.data(), plain);
        if (plain == text.size()) return;
        text.remove_prefix(plain);
        std::array<char, kMostEscaped * kPart + ByteWord::kSize> room;
        const std::string_view part = text.substr(0, kPart);
        const char* const end = write_escaped(room.data(), part);
        out.append(room.data(), static_cast<std::size_t>(end - room.data()));
        text.remove_prefix(part.size());
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
    if (text.size() > kRoom) out.reserve(out.size() + text.size() + kRoom);
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
