#include "json/schema/plain_pattern.hpp"

#include <charconv>
#include <limits>

namespace crab::json {
namespace {

using Bytes = std::bitset<256>;
constexpr std::uint32_t kNoEnd = std::numeric_limits<std::uint32_t>::max();

void add_range(Bytes& bytes, unsigned char low, unsigned char high) {
    for (unsigned c = low; c <= high; ++c) bytes.set(c);
}

bool is_plain(char c) { return static_cast<unsigned char>(c) < 0x80; }

// Reads `\d`, `\w` or an escaped punctuation mark into `bytes`; the mark itself when it is one.
bool read_escape(std::string_view& rest, Bytes& bytes, std::optional<unsigned char>& single) {
    const char c = rest[1];
    rest.remove_prefix(2);
    if (c == 'd') {
        add_range(bytes, '0', '9');
        return true;
    }
    if (c == 'w') {
        add_range(bytes, '0', '9');
        add_range(bytes, 'A', 'Z');
        add_range(bytes, 'a', 'z');
        bytes.set('_');
        return true;
    }
    const bool word = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
    if (word || !is_plain(c)) return false;
    single = static_cast<unsigned char>(c);
    bytes.set(*single);
    return true;
}

bool read_class(std::string_view& rest, Bytes& bytes) {
    rest.remove_prefix(1);
    if (rest.starts_with('^')) return false;
    std::optional<unsigned char> last;  // what a `-` may go on from
    while (!rest.empty() && rest[0] != ']') {
        std::optional<unsigned char> single;
        if (rest[0] == '\\') {
            if (rest.size() < 2 || !read_escape(rest, bytes, single)) return false;
        } else if (rest[0] == '-' && last && rest.size() > 1 && rest[1] != ']') {
            if (!is_plain(rest[1]) || rest[1] == '\\') return false;
            add_range(bytes, *last, static_cast<unsigned char>(rest[1]));
            rest.remove_prefix(2);
        } else {
            if (!is_plain(rest[0])) return false;
            single = static_cast<unsigned char>(rest[0]);
            bytes.set(*single);
            rest.remove_prefix(1);
        }
        last = single;
    }
    if (rest.empty()) return false;
    rest.remove_prefix(1);
    return bytes.any();
}

// Reads a quantifier, if any; false for a lazy or unreadable one.
bool read_quantifier(std::string_view& rest, std::uint32_t& least, std::uint32_t& most) {
    if (rest.starts_with('*') || rest.starts_with('+') || rest.starts_with('?')) {
        least = rest[0] == '+' ? 1 : 0;
        most = rest[0] == '?' ? 1 : kNoEnd;
        rest.remove_prefix(1);
    } else if (rest.starts_with('{')) {
        const char* at = rest.data() + 1;
        const char* const end = rest.data() + rest.size();
        auto read = std::from_chars(at, end, least);
        if (read.ec != std::errc{} || read.ptr == end) return false;
        most = least;
        if (*read.ptr == ',') {
            most = kNoEnd;
            at = read.ptr + 1;
            if (at == end) return false;
            if (*at != '}')
                read = std::from_chars(at, end, most);
            else
                read.ptr = at;
            if (read.ec != std::errc{} || read.ptr == end) return false;
        }
        if (*read.ptr != '}') return false;
        rest.remove_prefix(static_cast<std::size_t>(read.ptr + 1 - rest.data()));
    }
    return !rest.starts_with('?');
}

}  // namespace

std::optional<PlainPattern> PlainPattern::find(std::string_view rest) {
    if (!rest.starts_with('^')) return std::nullopt;
    rest.remove_prefix(1);
    PlainPattern found;
    while (!rest.empty()) {
        if (rest == "$") {
            found.to_end_ = true;
            break;
        }
        constexpr std::string_view kSpecial = "^$.*+?()[]{}|";
        Step step;
        if (rest[0] == '[') {
            if (!read_class(rest, step.bytes)) return std::nullopt;
        } else if (rest[0] == '\\') {
            std::optional<unsigned char> single;
            if (rest.size() < 2 || !read_escape(rest, step.bytes, single)) return std::nullopt;
        } else {
            if (!is_plain(rest[0]) || kSpecial.find(rest[0]) != std::string_view::npos)
                return std::nullopt;
            step.bytes.set(static_cast<unsigned char>(rest[0]));
            rest.remove_prefix(1);
        }
        if (!read_quantifier(rest, step.least, step.most)) return std::nullopt;
        // Taking as much as possible is right only when no later step could want what this one
        // took.
        for (auto earlier = found.steps_.rbegin(); earlier != found.steps_.rend(); ++earlier) {
            if (earlier->least != earlier->most && (earlier->bytes & step.bytes).any())
                return std::nullopt;
            if (earlier->least > 0) break;
        }
        found.steps_.push_back(step);
    }
    return found;
}

bool PlainPattern::search(std::string_view text) const {
    std::size_t at = 0;
    for (const Step& step : steps_) {
        const std::size_t room = text.size() - at;
        const std::size_t stop = at + (step.most < room ? step.most : room);
        const std::size_t from = at;
        while (at < stop && step.bytes[static_cast<unsigned char>(text[at])]) ++at;
        if (at - from < step.least) return false;
    }
    return !to_end_ || at == text.size();
}

}  // namespace crab::json
