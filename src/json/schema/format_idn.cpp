// Internationalized host names.

#include "json/scan.hpp"
#include "json/schema/format.hpp"
#include "json/schema/idn_label.hpp"

#include <algorithm>
#include <string>
#include <vector>

namespace crab::json::formats {
namespace {

/// The labels of a name: four characters count as the dot between them (RFC 3490, section 3.1).
std::vector<std::string> labels_of(std::string text) {
    for (const std::string_view stop : {"\u3002", "\uFF0E", "\uFF61"}) {
        for (std::size_t at = 0; (at = text.find(stop, at)) != std::string::npos; ++at)
            text.replace(at, stop.size(), ".");
    }
    std::vector<std::string> labels;
    std::string_view rest = text;
    while (true) {
        const std::size_t dot = rest.find('.');
        labels.emplace_back(rest.substr(0, dot));
        if (dot == std::string_view::npos) return labels;
        rest.remove_prefix(dot + 1);
    }
}

}  // namespace

bool is_idn_hostname(std::string_view text) {
    constexpr std::size_t kMaxName = 253;
    if (text.size() > 4 * kMaxName) return false;
    std::vector<std::string> labels = labels_of(std::string(text));
    std::size_t size = labels.size() - 1;  // of the name in ASCII, with its dots
    for (std::string& label : labels) {
        if (!std::ranges::all_of(label, is_ascii)) {
            const auto a_label = to_a_label(label);
            if (!a_label) return false;
            size += a_label->size();
            continue;
        }
        if (!is_hostname(label)) return false;
        size += label.size();
        if (label.size() > 4 && label.substr(2, 2) == "--") label = *to_u_label(label);
    }
    return size <= kMaxName && keep_bidi_rule(labels);
}

}  // namespace crab::json::formats
