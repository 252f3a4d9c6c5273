#include "bridge/built_in/content_lines.hpp"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

namespace crab::bridge {
namespace {

std::string upper(std::string_view text) {
    std::string made(text);
    std::ranges::transform(made, made.begin(), [](char c) {
        return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    });
    return made;
}

std::string unescaped(std::string_view text) {
    std::string made;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '\\' || i + 1 == text.size()) {
            made += text[i];
        } else {
            ++i;
            made += text[i] == 'n' || text[i] == 'N' ? '\n' : text[i];
        }
    }
    return made;
}

/// Where `wanted` is in `text` outside of quotes; npos when nowhere.
std::size_t find_unquoted(std::string_view text, std::string_view wanted) {
    bool quoted = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '"') quoted = !quoted;
        if (!quoted && wanted.contains(text[i])) return i;
    }
    return text.npos;
}

std::optional<ContentLine> parse_line(std::string_view line) {
    const std::size_t colon = find_unquoted(line, ":");
    if (colon == line.npos || colon == 0) return std::nullopt;
    ContentLine parsed{.value = std::string(line.substr(colon + 1))};
    std::string_view head = line.substr(0, colon);
    std::size_t end = find_unquoted(head, ";");
    std::string_view name = head.substr(0, end);
    if (const std::size_t dot = name.find('.'); dot != name.npos) name.remove_prefix(dot + 1);
    parsed.name = upper(name);
    while (end != head.npos) {
        head.remove_prefix(end + 1);
        end = find_unquoted(head, ";");
        const std::string_view parameter = head.substr(0, end);
        const std::size_t equals = parameter.find('=');
        if (equals == parameter.npos) continue;
        std::string_view value = parameter.substr(equals + 1);
        if (value.size() >= 2 && value.starts_with('"') && value.ends_with('"'))
            value = value.substr(1, value.size() - 2);
        parsed.parameters.insert_or_assign(upper(parameter.substr(0, equals)), std::string(value));
    }
    return parsed;
}

}  // namespace

std::string ContentLine::text() const { return unescaped(value); }

std::vector<std::string> ContentLine::parts() const {
    std::vector<std::string> found;
    std::size_t begin = 0;
    for (std::size_t i = 0; i <= value.size(); ++i) {
        if (i + 1 < value.size() && value[i] == '\\') {
            ++i;
        } else if (i == value.size() || value[i] == ';') {
            found.push_back(unescaped(std::string_view(value).substr(begin, i - begin)));
            begin = i + 1;
        }
    }
    return found;
}

std::string ContentLine::parameter(const std::string& parameter_name) const {
    const auto found = parameters.find(parameter_name);
    return found != parameters.end() ? found->second : "";
}

std::vector<ContentLine> parse_content_lines(std::string_view text) {
    std::vector<ContentLine> lines;
    std::string line;
    const auto take = [&] {
        if (auto parsed = parse_line(line)) lines.push_back(*std::move(parsed));
        line.clear();
    };
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        std::string_view raw = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        if (raw.ends_with('\r')) raw.remove_suffix(1);
        if (raw.starts_with(' ') || raw.starts_with('\t')) {  // goes on where the line before ended
            line += raw.substr(1);
        } else {
            take();
            line = raw;
        }
    }
    take();
    return lines;
}

std::string to_readable_time(std::string_view value) {
    const bool is_time =
        (value.size() == 15 || (value.size() == 16 && value.ends_with('Z'))) && value[8] == 'T';
    const auto digits = [&](std::size_t from, std::size_t count) {
        return std::ranges::all_of(value.substr(from, count),
                                   [](char c) { return c >= '0' && c <= '9'; });
    };
    if ((!is_time && value.size() != 8) || !digits(0, 8) || (is_time && !digits(9, 6)))
        return std::string(value);
    std::string made =
        fmt::format("{}-{}-{}", value.substr(0, 4), value.substr(4, 2), value.substr(6, 2));
    if (is_time)
        made += fmt::format("T{}:{}:{}{}", value.substr(9, 2), value.substr(11, 2),
                            value.substr(13, 2), value.substr(15));
    return made;
}

}  // namespace crab::bridge
