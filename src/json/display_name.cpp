#include "json/display_name.hpp"

#include "json/unicode.hpp"

#include <fmt/format.h>

namespace crab::json {
namespace {

bool is_space(char32_t c) {
    return c == ' ' || (c >= '\t' && c <= '\r') || c == 0xA0 || c == 0x1680 ||
           (c >= 0x2000 && c <= 0x200A) || c == 0x202F || c == 0x205F || c == 0x2800 ||
           c == 0x3000 || c == 0xFEFF;
}

bool is_control(char32_t c) { return c < 0x20 || (c >= 0x7F && c <= 0x9F); }

bool is_joiner(char32_t c) { return c == 0x200C || c == 0x200D; }

std::unexpected<Error> refuse(std::string_view why) {
    return fail(ErrorCode::kInvalidArgs, fmt::format("a name {}", why));
}

}  // namespace

Result<std::string> read_display_name(std::string_view given) {
    std::size_t begin = given.size(), end = 0;   // of what is no space
    std::size_t characters = 0, trailing = 0;
    for (std::size_t at = 0; at < given.size();) {
        const CodePoint one = decode_utf8(given.substr(at));
        if (!one.valid) return refuse("has to be UTF-8");
        const std::size_t next = at + one.bytes;
        if (is_space(one.value)) {
            if (end != 0) ++trailing;
        } else {
            if (end == 0) begin = at;
            characters += trailing + 1;
            trailing = 0;
            end = next;
        }
        at = next;
    }
    if (end == 0) return refuse("has to say something");
    if (characters > kMostDisplayName)
        return refuse(fmt::format("has at most {} characters", kMostDisplayName));
    const std::string_view name = given.substr(begin, end - begin);
    char32_t before = 0;
    for (std::size_t at = 0; at < name.size();) {
        const CodePoint one = decode_utf8(name.substr(at));
        at += one.bytes;
        if (is_control(one.value)) return refuse("holds no control characters");
        if (is_hidden(one.value, before) || (at == name.size() && is_joiner(one.value)))
            return refuse(fmt::format(
                "holds nothing that is not seen or that turns other text: leave out U+{:04X}",
                static_cast<std::uint32_t>(one.value)));
        before = one.value;
    }
    return std::string(name);
}

}  // namespace crab::json
