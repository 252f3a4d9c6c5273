#include "json/schema/idn_label.hpp"

#include "json/unicode.hpp"

#include <idn2.h>
#include <unictype.h>

#include <algorithm>
#include <memory>
#include <vector>

namespace crab::json {
namespace {

constexpr std::size_t kPrefix = 4;  // xn--

struct FreeText {
    void operator()(void* text) const { idn2_free(text); }
};

/// Registers a U-label or an A-label: the checks of RFC 5891, section 4. Those of a lookup are
/// milder; they leave out the contextual rules of RFC 5892, appendix A.3 to A.9.
std::optional<std::string> registered(const char* u_label, const char* a_label) {
    std::uint8_t* found = nullptr;
    const int status =
        idn2_register_u8(reinterpret_cast<const std::uint8_t*>(u_label),
                         reinterpret_cast<const std::uint8_t*>(a_label), &found, IDN2_NFC_INPUT);
    const std::unique_ptr<std::uint8_t, FreeText> owned(found);
    if (status != IDN2_OK || !found) return std::nullopt;
    return std::string(reinterpret_cast<const char*>(found));
}

std::vector<int> directions_of(std::string_view label) {
    std::vector<int> directions;
    while (!label.empty()) {
        const CodePoint next = decode_utf8(label);
        directions.push_back(uc_bidi_category(next.value));
        label.remove_prefix(next.bytes);
    }
    return directions;
}

bool is_right_to_left(int direction) {
    return direction == UC_BIDI_R || direction == UC_BIDI_AL || direction == UC_BIDI_AN;
}

/// RFC 5893, section 2, of a label with at least one character.
bool keeps_bidi_rule(const std::vector<int>& label) {
    const auto only_of = [&](std::initializer_list<int> allowed) {
        return std::ranges::all_of(label, [&](int direction) {
            return std::ranges::find(allowed, direction) != allowed.end();
        });
    };
    const auto holds = [&](int direction) {
        return std::ranges::find(label, direction) != label.end();
    };
    const int first = label.front();
    const auto last = std::ranges::find_if(label.rbegin(), label.rend(),
                                           [](int direction) { return direction != UC_BIDI_NSM; });
    const int end = last == label.rend() ? UC_BIDI_NSM : *last;
    if (first == UC_BIDI_L) {
        return (end == UC_BIDI_L || end == UC_BIDI_EN) &&
               only_of({UC_BIDI_L, UC_BIDI_EN, UC_BIDI_ES, UC_BIDI_CS, UC_BIDI_ET, UC_BIDI_ON,
                        UC_BIDI_BN, UC_BIDI_NSM});
    }
    if (first != UC_BIDI_R && first != UC_BIDI_AL) return false;
    return (is_right_to_left(end) || end == UC_BIDI_EN) &&
           !(holds(UC_BIDI_EN) && holds(UC_BIDI_AN)) && !holds(UC_BIDI_L);
}

}  // namespace

std::optional<std::string> to_a_label(std::string_view u_label) {
    if (u_label.find('\0') != std::string_view::npos) return std::nullopt;
    auto a_label = registered(std::string(u_label).c_str(), nullptr);
    if (!a_label || !a_label->starts_with("xn--")) return std::nullopt;
    return a_label;
}

std::optional<std::string> to_u_label(std::string_view a_label) {
    if (a_label.find('\0') != std::string_view::npos) return std::nullopt;
    std::string lower(a_label);
    std::ranges::transform(lower, lower.begin(), [](char c) {
        return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c;
    });
    if (lower.size() <= kPrefix || !registered(nullptr, lower.c_str())) return std::nullopt;
    char* found = nullptr;
    if (idn2_to_unicode_8z8z(lower.c_str(), &found, 0) != IDN2_OK) return std::nullopt;
    const std::unique_ptr<char, FreeText> owned(found);
    std::string u_label(found);
    if (!keep_bidi_rule({&u_label, 1})) return std::nullopt;
    return u_label;
}

bool keep_bidi_rule(std::span<const std::string> labels) {
    std::vector<std::vector<int>> directions;
    for (const std::string& label : labels) directions.push_back(directions_of(label));
    const bool is_bidi = std::ranges::any_of(directions, [](const std::vector<int>& label) {
        return std::ranges::any_of(label, is_right_to_left);
    });
    return !is_bidi || std::ranges::all_of(directions, keeps_bidi_rule);
}

}  // namespace crab::json
