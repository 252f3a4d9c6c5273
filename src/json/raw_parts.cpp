#include "json/raw_parts.hpp"

#include "base/unfilled.hpp"
#include "json/byte_words.hpp"
#include "json/escapes.hpp"
#include "json/unicode.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>

#include <simdjson.h>

namespace crab::json {
namespace {

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

void skip_space(std::string_view& text) {
    while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
}

constexpr std::size_t kShortString = 64;  // above that memchr is faster

/// Bytes of the string at the start of `text`, with its quotes; 0 when there is none.
std::size_t string_size(std::string_view text) {
    if (!text.starts_with('"')) return 0;
    std::size_t at = 1;
    while (at < kShortString && at + ByteWord::kSize <= text.size()) {
        const ByteWord word(text.data() + at);
        const std::uint64_t found = word.is('"') | word.is('\\');
        if (found == 0) {
            at += ByteWord::kSize;
            continue;
        }
        at += ByteWord::first(found);
        if (text[at] == '"') return at + 1;
        at += 2;
    }
    for (;; ++at) {
        at = text.find('"', at);
        if (at == std::string_view::npos) return text.size();
        std::size_t escapes = 0;
        while (text[at - 1 - escapes] == '\\') ++escapes;  // ends at the opening quote
        if (escapes % 2 == 0) return at + 1;
    }
}

/// Where the next quote or bracket is; the text's size if there is none.
std::size_t next_mark(std::string_view text, std::size_t at) {
    for (; at + ByteWord::kSize <= text.size(); at += ByteWord::kSize) {
        const ByteWord word(text.data() + at);
        const std::uint64_t found = word.is('"') | word.is_bracket('{') | word.is_bracket('}');
        if (found != 0) return at + ByteWord::first(found);
    }
    return std::min(text.find_first_of("\"{}[]", at), text.size());
}

/// Bytes of the object or array at the start of `text`.
std::size_t container_size(std::string_view text) {
    std::size_t depth = 0;
    for (std::size_t at = 0; (at = next_mark(text, at)) < text.size();) {
        switch (text[at]) {
            case '"': at += string_size(text.substr(at)); continue;
            case '{':
            case '[': ++depth; break;
            default:
                if (--depth == 0) return at + 1;
        }
        ++at;
    }
    return text.size();
}

std::size_t value_size(std::string_view text) {
    if (text.empty()) return 0;
    if (text.front() == '"') return string_size(text);
    if (text.front() == '{' || text.front() == '[') return container_size(text);
    const auto* end = std::ranges::find_if(
        text, [](char c) { return c == ',' || c == '}' || c == ']' || is_space(c); });
    return static_cast<std::size_t>(end - text.begin());
}

/// The four digits after `\u`; takes them away.
char32_t take_hex(std::string_view& text) {
    std::uint32_t value = 0;
    const std::string_view digits = text.substr(0, 4);
    std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
    text.remove_prefix(digits.size());
    return value;
}

/// `inside`: what stands between the quotes.
std::string unescape(std::string_view inside) {
    std::string out;
    out.reserve(inside.size());
    while (true) {
        const std::size_t slash = inside.find('\\');
        out += inside.substr(0, slash);
        if (slash == std::string_view::npos || slash + 1 >= inside.size()) return out;
        const char kind = inside[slash + 1];
        inside.remove_prefix(slash + 2);
        if (kind != 'u') {
            out += escaped_character(kind);
            continue;
        }
        char32_t value = take_hex(inside);
        if (value >= 0xD800 && value < 0xDC00 && inside.starts_with("\\u")) {
            inside.remove_prefix(2);
            value = 0x10000 + ((value - 0xD800) << 10) + ((take_hex(inside) - 0xDC00) & 0x3FF);
        }
        append_utf8(out, value);
    }
}

/// A text that is not JSON to its end.
void append_tokens(std::string& out, std::string_view json) {
    while (!json.empty()) {
        if (is_space(json.front())) {
            json.remove_prefix(1);
            continue;
        }
        std::size_t size = string_size(json);
        if (size == 0) {
            size = 1;
            while (size < json.size() && json[size] != '"' && !is_space(json[size])) ++size;
        }
        out += json.substr(0, size);
        json.remove_prefix(size);
    }
}

std::string_view between_quotes(std::string_view raw) {
    return raw.size() < 2 ? std::string_view{} : raw.substr(1, raw.size() - 2);
}

}  // namespace

RawParts::RawParts(std::string_view container) : rest_(container) {
    skip_space(rest_);
    is_object_ = rest_.starts_with('{');
    if (is_object_ || rest_.starts_with('['))
        rest_.remove_prefix(1);
    else
        rest_ = {};
}

bool RawParts::next() {
    skip_space(rest_);
    if (rest_.starts_with(',')) rest_.remove_prefix(1);
    skip_space(rest_);
    if (is_object_) {
        raw_name_ = rest_.substr(0, string_size(rest_));
        name_ = between_quotes(raw_name_);
        if (name_.contains('\\')) name_ = unescaped_ = unescape(name_);
        rest_.remove_prefix(raw_name_.size());
        skip_space(rest_);
        if (rest_.starts_with(':')) rest_.remove_prefix(1);
        skip_space(rest_);
    }
    value_ = rest_.substr(0, value_size(rest_));
    rest_.remove_prefix(value_.size());
    return !value_.empty();
}

std::optional<std::string_view> find_raw(std::string_view object, std::string_view name) {
    for (RawParts parts(object); parts.next();) {
        if (!parts.raw_name().empty() && parts.name() == name) return parts.value();
    }
    return std::nullopt;
}

std::optional<std::string> read_raw_string(std::string_view raw) {
    if (!raw.starts_with('"')) return std::nullopt;
    const std::string_view inside = between_quotes(raw);
    return inside.contains('\\') ? unescape(inside) : std::string(inside);
}

std::optional<std::string> find_raw_string(std::string_view object, std::string_view name) {
    const auto raw = find_raw(object, name);
    return raw ? read_raw_string(*raw) : std::nullopt;
}

void append_one_line(std::string& out, std::string_view json) {
    while (true) {
        const std::size_t end = json.find_first_of("\r\n");
        out += json.substr(0, end);
        if (end == std::string_view::npos) return;
        json.remove_prefix(end + 1);
    }
}

void append_compact(std::string& out, std::string_view json) {
    const std::size_t before = out.size();
    std::size_t size = 0;
    resize_unfilled(out, before + json.size());
    const auto done = simdjson::minify(json.data(), json.size(), out.data() + before, size);
    out.resize(before + (done == simdjson::SUCCESS ? size : 0));
    if (done != simdjson::SUCCESS) append_tokens(out, json);
}

}  // namespace crab::json
