#include "core/pipeline/validate_stage.hpp"

#include "base/cut_text.hpp"
#include "core/pipeline/authorize_stage.hpp"
#include "core/pipeline/refused_nulls.hpp"
#include "json/schema/schema.hpp"
#include "json/value.hpp"
#include "json/writer.hpp"

#include <algorithm>
#include <ranges>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace crab::core {
namespace {

/// The first violations as one message, all of them as details.
Error invalid_arguments(const std::vector<json::SchemaViolation>& violations) {
    constexpr std::size_t kInMessage = 3;
    std::string message;
    for (const auto& violation : violations | std::views::take(kInMessage)) {
        if (!message.empty()) message += "; ";
        message += violation.message;
    }
    return fail(ErrorCode::kInvalidArgs, std::move(message),
                fmt::format(R"({{"errors":{}}})", json::to_json(violations)))
        .error();
}

Error wrong_type(const Tool& tool, std::string_view type) {
    std::string quoted;
    json::append_quoted_lossy(quoted, cut_text(type, 64));
    return fail(ErrorCode::kInvalidArgs,
                fmt::format("{} takes no arguments of the type {}; send a JSON object{}{}",
                            tool.spec.name, quoted, tool.spec.accepts.empty() ? "" : " or ",
                            fmt::join(tool.spec.accepts, ", ")))
        .error();
}

}  // namespace

Result<void> ValidateStage::check(const Tool& tool, CallInProgress& progress) {
    const auto args = progress.args.read();
    if (!args) return fail(args.error());
    if (const std::string_view type = progress.call().body_type; !type.empty()) {
        if (!tool.spec.takes(type)) return fail(wrong_type(tool, type));
        return {};  // bytes are the tool's own to judge
    }
    const auto violations = tool.input->check(args->element());
    if (violations.empty()) return {};
    auto without = tool.drops_nulls
                       ? drop_refused_nulls(progress.call().args, *tool.input, violations)
                       : std::nullopt;
    if (!without) return fail(invalid_arguments(violations));
    progress.args.replace(std::move(*without));
    auto decided = AuthorizeStage::decide(progress.facts.tool, progress);
    if (!decided) return fail(std::move(decided.error()));
    return {};
}

Reached<ValidatedCall> ValidateStage::pass(HookedCall hooked, CallInProgress& progress) {
    const Tool& tool = hooked.authorized().tool();
    if (auto valid = check(tool, progress); !valid) return end_with(std::move(valid.error()));
    progress.reach_now(Stage::kValidated);
    if (auto bound = progress.bind_policy(); !bound) return end_with(std::move(bound.error()));
    progress.allowed = progress.policy
                           ? progress.policy->timeout
                           : std::min(progress.call().timeout.value_or(tool.spec.default_timeout),
                                      tool.spec.max_timeout);
    progress.set_deadline(std::chrono::nanoseconds(0));
    return ValidatedCall(hooked);
}

}  // namespace crab::core
