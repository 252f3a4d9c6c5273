#include "adapters/cetp/key_file.hpp"

#include "base/ascii.hpp"

#include <simdjson.h>

#include <fmt/format.h>

namespace crab::cetp {
namespace {

std::string unescaped(std::string_view value) {
    std::string out;
    for (std::size_t i = 0; i < value.size(); ++i) {
        if (value[i] != '\\' || i + 1 == value.size()) {
            out += value[i];
            continue;
        }
        switch (const char c = value[++i]) {
            case 's': out += ' '; break;
            case 'n': out += '\n'; break;
            case 't': out += '\t'; break;
            case 'r': out += '\r'; break;
            case '\\': out += '\\'; break;
            default: out.append({'\\', c});  // left for whoever splits it into words
        }
    }
    return out;
}

}  // namespace

Result<KeyFile> KeyFile::parse(std::string_view text) {
    if (text.size() > kMaxBytes)
        return fail(ErrorCode::kOversize, fmt::format("it has more than {} bytes", kMaxBytes));
    if (!simdjson::validate_utf8(text.data(), text.size()))
        return fail(ErrorCode::kInvalidArgs, "it is not UTF-8");
    KeyFile file;
    Entries* group = nullptr;
    for (std::size_t number = 1; !text.empty(); ++number) {
        const std::size_t end = text.find('\n');
        const std::string_view line = trim(text.substr(0, end), kWhiteSpace);
        text = end == text.npos ? std::string_view() : text.substr(end + 1);
        if (line.empty() || line.front() == '#') continue;
        if (line.front() == '[') {
            if (line.size() < 3 || line.back() != ']')
                return fail(ErrorCode::kInvalidArgs,
                            fmt::format("line {}: a group is written [Name]", number));
            group = &file.groups_[std::string(line.substr(1, line.size() - 2))];
            continue;
        }
        const std::size_t equals = line.find('=');
        const std::string_view key = trim(line.substr(0, equals), kWhiteSpace);
        if (equals == line.npos || key.empty())
            return fail(ErrorCode::kInvalidArgs, fmt::format("line {}: write Key=Value", number));
        if (group == nullptr)
            return fail(ErrorCode::kInvalidArgs,
                        fmt::format("line {}: a key before the first group", number));
        group->insert_or_assign(std::string(key),
                                unescaped(trim(line.substr(equals + 1), kWhiteSpace)));
    }
    return file;
}

std::optional<std::string> KeyFile::get(std::string_view group, std::string_view key) const {
    const auto entries = groups_.find(group);
    if (entries == groups_.end()) return std::nullopt;
    const auto found = entries->second.find(key);
    return found != entries->second.end() ? std::optional(found->second) : std::nullopt;
}

std::optional<std::string> KeyFile::get_localized(std::string_view group, std::string_view key,
                                                  std::string_view locale) const {
    locale = locale.substr(0, locale.find_first_of(".@"));
    for (const std::string_view candidate : {locale, locale.substr(0, locale.find('_'))}) {
        if (candidate.empty()) continue;
        if (auto found = get(group, fmt::format("{}[{}]", key, candidate))) return found;
    }
    return get(group, key);
}

Result<bool> KeyFile::flag(std::string_view group, std::string_view key) const {
    const auto value = get(group, key);
    if (!value || *value == "false") return false;
    if (*value == "true") return true;
    return fail(ErrorCode::kInvalidArgs, fmt::format("{}: write true or false", key));
}

}  // namespace crab::cetp
