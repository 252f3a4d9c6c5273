#include "json/writer.hpp"

#include "json/bounded_writer.hpp"
#include "json/string_block.hpp"
#include "json/unicode.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <stdexcept>

#include <simdjson.h>

namespace crab::json {
namespace {

constexpr std::size_t kRoom = 32;  // beside a text: its quotes, a few escapes, what comes next
constexpr std::size_t kBlock = StringBlock::kSize;

/// A bit for each byte of a text that needs an escape; the text is shorter than a block.
std::uint32_t escapes_in_short(const char* text, std::size_t size) {
    std::array<char, kBlock> block{};
    if (size >= 8) {
        std::memcpy(block.data(), text, 8);
        std::memcpy(block.data() + size - 8, text + size - 8, 8);
    } else {
        for (std::size_t i = 0; i < size; ++i) block[i] = text[i];
    }
    return StringBlock(block.data()).escapes() & ((std::uint32_t{1} << size) - 1);
}

// The number of bytes before the first that needs an escape.
std::size_t plain_run(const char* text, std::size_t size) {
    if (size < kBlock) {
        const std::uint32_t found = escapes_in_short(text, size);
        return found == 0 ? size : static_cast<std::size_t>(std::countr_zero(found));
    }
    for (std::size_t at = 0;; at += kBlock) {
        at = std::min(at, size - kBlock);  // the last block overlaps what was looked at
        const std::uint32_t found = StringBlock(text + at).escapes();
        if (found != 0) return at + static_cast<std::size_t>(std::countr_zero(found));
        if (at + kBlock == size) return size;
    }
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

/// Writes the first `size` bytes of a block with their escapes; another block can be read behind it
/// and written behind what it becomes. Returns where that ends.
char* write_block(char* to, const char* block, std::size_t size) {
    std::size_t done = 0;
    std::memcpy(to, block, kBlock);
    const std::uint32_t all = (std::uint32_t{1} << size) - 1;
    for (std::uint32_t left = StringBlock(block).escapes() & all; left != 0; left &= left - 1) {
        const auto next = static_cast<std::size_t>(std::countr_zero(left));
        to = write_escape(to + (next - done), block[next]);
        done = next + 1;
        std::memcpy(to, block + done, kBlock);
    }
    return to + (size - done);
}

constexpr std::size_t kPart = 256;  // bytes that get their escapes at once

/// `to` has room for kMostEscaped bytes for each of the text, and two blocks. Texts that need
/// escapes are often JSON themselves, where one follows the other.
char* write_escaped(char* to, std::string_view text) {
    for (; text.size() >= 2 * kBlock; text.remove_prefix(kBlock))
        to = write_block(to, text.data(), kBlock);
    std::array<char, 3 * kBlock> last{};
    std::memcpy(last.data(), text.data(), text.size());
    for (std::size_t at = 0; at < text.size(); at += kBlock)
        to = write_block(to, last.data() + at, std::min(kBlock, text.size() - at));
    return to;
}

void append_escaped(std::string& out, std::string_view text) {
    while (true) {
        const std::size_t plain = plain_run(text.data(), text.size());
        out.append(text.data(), plain);
        if (plain == text.size()) return;
        text.remove_prefix(plain);
        std::array<char, kMostEscaped * kPart + 2 * kBlock> room;
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

/// Copies the text first and then looks at the copy, behind which there is room for a block.
BoundedWriter& BoundedWriter::quoted(std::string_view text) {
    *at_++ = '"';
    char* const copy = at_;
    raw(text);
    std::memset(at_, 0x20, kBlock);
    for (std::size_t done = 0; done < text.size(); done += kBlock) {
        const std::uint32_t found = StringBlock(copy + done).escapes();
        if (found == 0) continue;
        done += StringBlock::first(found);
        std::string escaped;
        append_escaped(escaped, text.substr(done));
        at_ = copy + done;
        raw(escaped);
        break;
    }
    *at_++ = '"';
    return *this;
}

}  // namespace crab::json
