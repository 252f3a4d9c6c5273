#include "base/coded_text.hpp"

#include <fmt/format.h>

namespace crab {

std::string coded_text(std::string_view code, std::string_view message) {
    const auto without_blanks = [](std::string_view text) {
        while (text.starts_with(' ')) text.remove_prefix(1);
        return text;
    };
    std::string_view rest = without_blanks(message);
    if (code.empty()) return std::string(rest);
    const std::string said = fmt::format("{}:", code), bracketed = fmt::format("[{}]", code);
    while (rest.starts_with(said)) rest = without_blanks(rest.substr(said.size()));
    if (rest.starts_with(bracketed)) return std::string(rest);
    return rest.empty() ? std::string(code) : fmt::format("{}: {}", code, rest);
}

}  // namespace crab
