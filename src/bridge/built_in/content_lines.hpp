#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace crab::bridge {

/// One line of a vCard or an iCalendar component. Source: RFC 5545, section 3.1; RFC 6350,
/// section 3.3.
struct ContentLine {
    std::string name{};  ///< in upper case, without a group (`item1.`)
    /// Names in upper case, values unquoted; of several with one name the last counts
    std::map<std::string, std::string> parameters{};
    std::string value{};  ///< raw

    /// The value as text, with `\n`, `\,`, `\;`, `\\` unescaped.
    std::string text() const;
    /// The parts between semicolons that are not escaped, each as text.
    std::vector<std::string> parts() const;
    std::string parameter(const std::string& parameter_name) const;
};

/// Reads lines, unfolded. Other lines are skipped.
std::vector<ContentLine> parse_content_lines(std::string_view text);

/// A value of DATE or DATE-TIME (`20261121`, `20261121T093000Z`) in the form of RFC 3339; other
/// text as it is.
std::string to_readable_time(std::string_view value);

}  // namespace crab::bridge
