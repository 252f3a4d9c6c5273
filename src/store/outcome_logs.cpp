#include "store/outcome_logs.hpp"

#include "json/parser.hpp"
#include "json/writer.hpp"

namespace crab::store {

std::string logs_to_text(const std::vector<std::string>& logs) {
    std::string text;
    if (logs.empty()) return text;
    json::Writer writer(text);
    writer.begin_array();
    for (const std::string& line : logs) writer.string_lossy(line);
    writer.end_array();
    return text;
}

std::vector<std::string> logs_from_text(std::string_view text) {
    std::vector<std::string> logs;
    if (text.empty()) return logs;
    json::Parser parser;
    const auto root = parser.parse(text);
    if (!root || !root->element().is_array()) return logs;
    for (const auto line : root->element().get_array().value_unsafe()) {
        if (line.is_string()) logs.emplace_back(line.get_string().value_unsafe());
    }
    return logs;
}

}  // namespace crab::store
