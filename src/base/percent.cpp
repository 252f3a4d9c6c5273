#include "base/percent.hpp"

#include "base/ascii.hpp"

namespace crab {

int percent_byte(std::string_view text) {
    if (text.size() < 3 || text.front() != '%') return -1;
    const int high = hex_value(text[1]);
    const int low = hex_value(text[2]);
    return high < 0 || low < 0 ? -1 : high * 16 + low;
}

std::optional<std::string> percent_decode(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    while (!text.empty()) {
        const int byte = percent_byte(text);
        if (byte < 0 && text.front() == '%') return std::nullopt;
        out += byte < 0 ? text.front() : static_cast<char>(byte);
        text.remove_prefix(byte < 0 ? 1 : 3);
    }
    return out;
}

}  // namespace crab
