#include "core/pipeline/result_check.hpp"

#include "core/call/artifact.hpp"
#include "json/element.hpp"
#include "json/schema/schema.hpp"
#include "json/value.hpp"
#include "json/writer.hpp"

#include <string>
#include <utility>

#include <fmt/format.h>

namespace crab::core {

OutcomeRef ResultCheck::check(const Tool& tool, Outcome&& outcome, const CallRules& rules) {
    if (outcome) {
        if (auto good = check_result(tool, *outcome, rules); !good)
            outcome = fail(std::move(good.error()));
    } else if (outcome.error().message.find_first_not_of(" \t\r\n") == std::string::npos) {
        outcome.error().message = "the tool failed and did not say why";
    }
    return std::make_shared<const Outcome>(std::move(outcome));
}

Result<void> ResultCheck::check_result(const Tool& tool, ToolResult& result,
                                       const CallRules& rules) {
    if (result.content.size() > rules.max_result_bytes) {
        return fail(
            ErrorCode::kOversize,
            fmt::format("the result has {} bytes, more than the {} allowed; ask the tool for less",
                        result.content.size(), rules.max_result_bytes));
    }
    if (is_reference(result)) return {};
    if (tool.output) {
        if (auto good = check_form(tool, result); !good) return good;
    }
    if (rules.operation_ids) add_operation_id(tool, result);
    return {};
}

/// By the tool's output schema, which it has.
Result<void> ResultCheck::check_form(const Tool& tool, const ToolResult& result) {
    std::string quoted;
    std::string_view text = result.content;
    auto root = parser_.parse(text);
    if (!root && result.kind == ContentKind::kText) {
        json::append_quoted_lossy(quoted, text);
        root = parser_.parse(quoted);
    }
    if (!root)
        return fail(ErrorCode::kInternal,
                    "the tool's result is not JSON although it declares an output schema; the call "
                    "may have taken effect");
    // The schema judges one of two members of a name; the caller may read the other.
    if (const auto twice = root->find_duplicate()) {
        return fail(ErrorCode::kInternal,
                    fmt::format("the tool's result has two members of one name ({}) although it "
                                "declares an output schema; the call may have taken effect",
                                *twice));
    }
    const auto violations = tool.output->check(root->element());
    if (violations.empty()) return {};
    return fail(
        ErrorCode::kInternal,
        fmt::format(
            "the tool's result breaks its own output schema ({}); the call may have taken effect",
            violations.front().message),
        fmt::format(R"({{"errors":{}}})", json::to_json(violations)));
}

/// Unless the tool gave one, or its own schema has no room for one. JSON of a media type of its own
/// is another protocol's object.
void ResultCheck::add_operation_id(const Tool& tool, ToolResult& result) {
    if (!tool.spec.side_effects || result.kind != ContentKind::kJson ||
        !result.content_type.empty() || !result.content.starts_with('{'))
        return;
    const auto given = parser_.parse(result.content);
    if (!given || json::get_string(given->element(), "operation_id")) return;
    simdjson::dom::object members;
    if (given->element().get(members) != simdjson::SUCCESS) return;
    std::string content = fmt::format(R"({{"operation_id":"{}"{})", ids_.uuid_v7().view(),
                                      members.size() == 0 ? "" : ",");
    content.append(result.content, 1);
    if (tool.output) {
        const auto changed = parser_.parse(content);
        if (!changed || !tool.output->is_valid(changed->element())) return;
    }
    result.content = std::move(content);
}

}  // namespace crab::core
