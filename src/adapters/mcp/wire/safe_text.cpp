#include "adapters/mcp/wire/safe_text.hpp"

#include "adapters/mcp/wire/confusable_table.hpp"
#include "json/unicode.hpp"

#include <unictype.h>
#include <uninorm.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <new>

namespace crab::mcp {
namespace {

constexpr char32_t kInterlinearFirst = 0xFFF9;  // annotations: format characters that show nothing
constexpr char32_t kInterlinearLast = 0xFFFB;

bool is_hidden(char32_t c) {
    if (c == '\n' || c == '\t') return false;
    if (c < 0x80) return c < 0x20 || c == 0x7F;
    return uc_is_general_category_withtable(c, UC_CATEGORY_MASK_Cc | UC_CATEGORY_MASK_Cn) ||
           uc_is_property_default_ignorable_code_point(c) || uc_is_property_bidi_control(c) ||
           (c >= kInterlinearFirst && c <= kInterlinearLast);
}

struct FreeText {
    void operator()(std::uint8_t* text) const { std::free(text); }
};

/// `utf8` is valid.
std::string normalized(std::string_view utf8) {
    if (std::ranges::all_of(utf8, [](char c) { return static_cast<unsigned char>(c) < 0x80; }))
        return std::string(utf8);
    std::size_t size = 0;
    const std::unique_ptr<std::uint8_t, FreeText> text(
        u8_normalize(UNINORM_NFKC, reinterpret_cast<const std::uint8_t*>(utf8.data()), utf8.size(),
                     nullptr, &size));
    if (!text) throw std::bad_alloc();
    return {reinterpret_cast<const char*>(text.get()), size};
}

}  // namespace

CleanText clean_text(std::string_view utf8) {
    CleanText clean;
    clean.text.reserve(utf8.size());
    while (!utf8.empty()) {
        const json::CodePoint one = json::decode_utf8(utf8);
        if (one.valid && !is_hidden(one.value))
            clean.text += utf8.substr(0, one.bytes);
        else
            ++clean.removed;
        utf8.remove_prefix(one.bytes);
    }
    return clean;
}

std::string skeleton(std::string_view utf8) {
    const std::string text = normalized(clean_text(utf8).text);
    std::string out;
    for (std::string_view rest = text; !rest.empty();) {
        const json::CodePoint one = json::decode_utf8(rest);
        const auto* const found =
            std::ranges::lower_bound(kConfusables, one.value, {}, &Confusable::character);
        if (found != std::end(kConfusables) && found->character == one.value)
            out += found->looks_like;
        else
            out += rest.substr(0, one.bytes);
        rest.remove_prefix(one.bytes);
    }
    return out;
}

}  // namespace crab::mcp
