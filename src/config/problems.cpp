#include "config/problems.hpp"

#include "json/pointer.hpp"
#include "json/writer.hpp"

#include <algorithm>
#include <map>

#include <fmt/format.h>

namespace crab::config {

bool has_problem_at(const Problems& problems, std::string_view pointer) {
    return std::ranges::any_of(problems,
                               [&](const Problem& problem) { return problem.pointer == pointer; });
}

std::string key_path(std::string_view pointer) {
    std::string path;
    while (!pointer.empty()) {
        pointer.remove_prefix(1);
        const std::size_t end = std::min(pointer.find('/'), pointer.size());
        const std::string_view step = pointer.substr(0, end);
        if (json::pointer_index(step)) {
            path += fmt::format("[{}]", step);
        } else {
            if (!path.empty()) path += '.';
            path += json::unescape_pointer(step).value_or(std::string(step));
        }
        pointer.remove_prefix(end);
    }
    return path;
}

Error to_error(Problems problems, const std::filesystem::path& file) {
    std::multimap<int, Problem> by_line;  // keeps the order of those on one line
    for (Problem& problem : problems) by_line.emplace(problem.line, std::move(problem));
    std::string message, details;
    json::Writer writer(details);
    writer.begin_object().key("errors").begin_array();
    std::vector<std::string> seen;
    for (const auto& [number, problem] : by_line) {
        const std::string path = key_path(problem.pointer);
        std::string line = file.empty() ? "configuration" : file.string();
        if (number > 0) line += fmt::format(":{}", number);
        line += fmt::format(": {}{}{}", path, path.empty() ? "" : ": ", problem.message);
        if (std::ranges::find(seen, line) != seen.end()) continue;
        if (!message.empty()) message += '\n';
        message += line;
        seen.push_back(std::move(line));
        writer.begin_object().key("line").integer(number).key("key").string_lossy(path);
        writer.key("message").string_lossy(problem.message).end_object();
    }
    writer.end_array().end_object();
    return {.code = ErrorCode::kInvalidArgs,
            .message = std::move(message),
            .details = std::move(details),
            .retryable = {},
            .retry_after = {}};
}

}  // namespace crab::config
