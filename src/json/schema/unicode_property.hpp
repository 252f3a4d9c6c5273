#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace crab::json {

/// How an ECMA-262 property name is written for RE2 and PCRE2, between the braces of `\p{}`.
struct UnicodeProperty {
    std::string name;
    bool only_pcre = false;  ///< a binary property such as Alphabetic, which RE2 has not
};

/// Translates `Letter`, `L`, `General_Category=Letter`, `gc=Lu`, `Script=Greek`, `sc=Grek`,
/// `Alphabetic`; nothing for unknown names.
std::optional<UnicodeProperty> find_unicode_property(std::string_view name);

}  // namespace crab::json
