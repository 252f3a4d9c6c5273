// Internationalized host names.

#include "json/scan.hpp"
#include "json/schema/format.hpp"
#include "json/schema/idn_label.hpp"
#include "json/schema/punycode.hpp"
#include "json/unicode.hpp"

#include <algorithm>
#include <string>
#include <vector>

namespace crab::json::formats {
namespace {

// RFC 3490, section 3.1
bool is_full_stop(char32_t c) { return c == '.' || c == 0x3002 || c == 0xFF0E || c == 0xFF61; }

}  // namespace

bool is_idn_hostname(std::string_view text) {
    constexpr std::size_t kMaxName = 253;
    if (text.size() > 4 * kMaxName) return false;
    std::vector<std::u32string> labels(1);
    while (!text.empty()) {
        const CodePoint next = decode_utf8(text);
        if (!next.valid) return false;
        text.remove_prefix(next.bytes);
        if (is_full_stop(next.value)) {
            labels.emplace_back();
        } else {
            labels.back() += next.value;
        }
    }
    std::size_t size = labels.size() - 1;  // of the name in ASCII, with its dots
    for (std::u32string& label : labels) {
        if (!std::ranges::all_of(label, [](char32_t c) { return c < 0x80; })) {
            if (!is_u_label(label)) return false;
            size += 4 + punycode_of(label).size();
            continue;
        }
        const std::string ascii(label.begin(), label.end());
        if (!is_hostname(ascii)) return false;
        size += ascii.size();
        if (ascii.size() > 4 && ascii.substr(2, 2) == "--") label = *decode_a_label(ascii);
    }
    return size <= kMaxName && keep_bidi_rule(labels);
}

}  // namespace crab::json::formats
