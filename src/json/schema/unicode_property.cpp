#include "json/schema/unicode_property.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace crab::json {
namespace {

using Pair = std::pair<std::string_view, std::string_view>;

// General categories: long name, short name (Unicode 15, PropertyValueAliases).
constexpr std::array kCategories{Pair{"Other", "C"},
                                 Pair{"Control", "Cc"},
                                 Pair{"cntrl", "Cc"},
                                 Pair{"Format", "Cf"},
                                 Pair{"Unassigned", "Cn"},
                                 Pair{"Private_Use", "Co"},
                                 Pair{"Surrogate", "Cs"},
                                 Pair{"Letter", "L"},
                                 Pair{"Cased_Letter", "LC"},
                                 Pair{"Lowercase_Letter", "Ll"},
                                 Pair{"Modifier_Letter", "Lm"},
                                 Pair{"Other_Letter", "Lo"},
                                 Pair{"Titlecase_Letter", "Lt"},
                                 Pair{"Uppercase_Letter", "Lu"},
                                 Pair{"Mark", "M"},
                                 Pair{"Combining_Mark", "M"},
                                 Pair{"Spacing_Mark", "Mc"},
                                 Pair{"Enclosing_Mark", "Me"},
                                 Pair{"Nonspacing_Mark", "Mn"},
                                 Pair{"Number", "N"},
                                 Pair{"Decimal_Number", "Nd"},
                                 Pair{"digit", "Nd"},
                                 Pair{"Letter_Number", "Nl"},
                                 Pair{"Other_Number", "No"},
                                 Pair{"Punctuation", "P"},
                                 Pair{"punct", "P"},
                                 Pair{"Connector_Punctuation", "Pc"},
                                 Pair{"Dash_Punctuation", "Pd"},
                                 Pair{"Close_Punctuation", "Pe"},
                                 Pair{"Final_Punctuation", "Pf"},
                                 Pair{"Initial_Punctuation", "Pi"},
                                 Pair{"Other_Punctuation", "Po"},
                                 Pair{"Open_Punctuation", "Ps"},
                                 Pair{"Symbol", "S"},
                                 Pair{"Currency_Symbol", "Sc"},
                                 Pair{"Modifier_Symbol", "Sk"},
                                 Pair{"Math_Symbol", "Sm"},
                                 Pair{"Other_Symbol", "So"},
                                 Pair{"Separator", "Z"},
                                 Pair{"Line_Separator", "Zl"},
                                 Pair{"Paragraph_Separator", "Zp"},
                                 Pair{"Space_Separator", "Zs"}};

// Scripts that people write by their ISO 15924 code; the long names go through as they are.
constexpr std::array kScripts{
    Pair{"Arab", "Arabic"},    Pair{"Armn", "Armenian"},   Pair{"Beng", "Bengali"},
    Pair{"Cyrl", "Cyrillic"},  Pair{"Deva", "Devanagari"}, Pair{"Ethi", "Ethiopic"},
    Pair{"Geor", "Georgian"},  Pair{"Grek", "Greek"},      Pair{"Hang", "Hangul"},
    Pair{"Hani", "Han"},       Pair{"Hebr", "Hebrew"},     Pair{"Hira", "Hiragana"},
    Pair{"Kana", "Katakana"},  Pair{"Khmr", "Khmer"},      Pair{"Latn", "Latin"},
    Pair{"Mong", "Mongolian"}, Pair{"Taml", "Tamil"},      Pair{"Telu", "Telugu"},
    Pair{"Thai", "Thai"},      Pair{"Zyyy", "Common"}};

// ECMA-262, table 69, as far as PCRE2 10.42 knows the property; long and short names.
constexpr std::array<std::string_view, 33> kBinary{"Any",
                                                   "ASCII",
                                                   "Alphabetic",
                                                   "Alpha",
                                                   "ASCII_Hex_Digit",
                                                   "AHex",
                                                   "Cased",
                                                   "Case_Ignorable",
                                                   "Dash",
                                                   "Default_Ignorable_Code_Point",
                                                   "Diacritic",
                                                   "Emoji",
                                                   "Emoji_Component",
                                                   "Emoji_Modifier",
                                                   "Emoji_Modifier_Base",
                                                   "Emoji_Presentation",
                                                   "Extended_Pictographic",
                                                   "Extender",
                                                   "Grapheme_Base",
                                                   "Grapheme_Extend",
                                                   "Hex_Digit",
                                                   "ID_Continue",
                                                   "ID_Start",
                                                   "Ideographic",
                                                   "Lowercase",
                                                   "Lower",
                                                   "Math",
                                                   "Uppercase",
                                                   "Upper",
                                                   "White_Space",
                                                   "space",
                                                   "XID_Continue",
                                                   "XID_Start"};

std::optional<std::string_view> find_category(std::string_view name) {
    for (const auto& [long_name, short_name] : kCategories) {
        if (name == long_name || name == short_name) return short_name;
    }
    return std::nullopt;
}

UnicodeProperty category(std::string_view short_name) {
    if (short_name == "LC") return {"L&", true};
    // RE2's C leaves unassigned code points out
    return {std::string(short_name), short_name == "Cn" || short_name == "C"};
}

}  // namespace

std::optional<UnicodeProperty> find_unicode_property(std::string_view name) {
    if (const std::size_t sign = name.find('='); sign != std::string_view::npos) {
        const std::string_view property = name.substr(0, sign);
        const std::string_view value = name.substr(sign + 1);
        if (value.empty()) return std::nullopt;
        if (property == "General_Category" || property == "gc") {
            const auto found = find_category(value);
            if (!found) return std::nullopt;
            return category(*found);
        }
        const bool extended = property == "Script_Extensions" || property == "scx";
        if (!extended && property != "Script" && property != "sc") return std::nullopt;
        const auto* alias = std::ranges::find(kScripts, value, &Pair::first);
        const std::string script(alias == kScripts.end() ? value : alias->second);
        if (extended) return UnicodeProperty{"scx:" + script, true};
        return UnicodeProperty{script, false};
    }
    if (const auto found = find_category(name)) return category(*found);
    if (name == "Any") return UnicodeProperty{"Any", false};
    if (std::ranges::find(kBinary, name) != kBinary.end())
        return UnicodeProperty{std::string(name), true};
    return std::nullopt;
}

}  // namespace crab::json
