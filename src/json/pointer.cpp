#include "json/pointer.hpp"

#include <charconv>

namespace crab::json {

std::string escape_pointer(std::string_view name) {
    std::string out;
    out.reserve(name.size());
    for (const char byte : name) {
        if (byte == '~') {
            out += "~0";
        } else if (byte == '/') {
            out += "~1";
        } else {
            out += byte;
        }
    }
    return out;
}

std::optional<std::string> unescape_pointer(std::string_view step) {
    std::string out;
    out.reserve(step.size());
    for (std::size_t at = 0; at < step.size(); ++at) {
        if (step[at] != '~') {
            out += step[at];
            continue;
        }
        if (++at == step.size() || (step[at] != '0' && step[at] != '1')) return std::nullopt;
        out += step[at] == '0' ? '~' : '/';
    }
    return out;
}

std::optional<std::size_t> pointer_index(std::string_view step) {
    if (step.empty() || (step.size() > 1 && step[0] == '0')) return std::nullopt;
    std::size_t index = 0;
    const auto [end, code] = std::from_chars(step.data(), step.data() + step.size(), index);
    if (code != std::errc{} || end != step.data() + step.size()) return std::nullopt;
    return index;
}

}  // namespace crab::json
