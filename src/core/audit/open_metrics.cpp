#include "core/audit/open_metrics.hpp"

#include <algorithm>

namespace crab::core {
namespace {

constexpr std::string_view kTotal = "_total";

/// The first word of `text`, which becomes what is behind it.
std::string_view take_word(std::string_view& text) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(word.size() + 1, text.size()));
    return word;
}

/// Prometheus' text escapes backslashes and ends of lines, this one quotation marks too.
void append_help(std::string& out, std::string_view family, std::string_view help) {
    out.append("# HELP ").append(family) += ' ';
    for (const char c : help) {
        if (c == '"') out += '\\';
        out += c;
    }
    out += '\n';
}

}  // namespace

std::string to_open_metrics(std::string_view prometheus) {
    std::string out;
    out.reserve(prometheus.size() + 16);
    std::string_view help;  // of the family whose type comes next
    while (!prometheus.empty()) {
        std::string_view line = prometheus.substr(0, prometheus.find('\n'));
        prometheus.remove_prefix(std::min(line.size() + 1, prometheus.size()));
        if (!line.starts_with("# ")) {
            out.append(line) += '\n';
            continue;
        }
        line.remove_prefix(2);
        const bool is_type = take_word(line) == "TYPE";
        std::string_view family = take_word(line);
        if (!is_type) {
            help = line;
            continue;
        }
        if (line == "counter" && family.ends_with(kTotal)) family.remove_suffix(kTotal.size());
        out.append("# TYPE ").append(family).append(" ").append(line) += '\n';
        append_help(out, family, help);
    }
    return out += "# EOF\n";
}

}  // namespace crab::core
