#include "cli/policy_fields.hpp"

#include "base/duration_text.hpp"

#include <algorithm>
#include <charconv>
#include <string_view>

#include <fmt/format.h>

namespace crab::cli {
namespace {

bool read_number(std::string_view text, std::uint32_t& number) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    return error == std::errc() && end == text.data() + text.size();
}

bool read_time(std::string_view text, std::chrono::milliseconds& time) {
    const auto parsed = parse_duration(text);
    if (parsed) time = *parsed;
    return parsed.has_value();
}

/// False when there is no such field, or it takes no such value.
bool read_field(std::string_view name, std::string_view value, ExecutionPolicy& policy) {
    if (name == "worktree") return policy.worktree_required = value.empty();
    if (value.empty()) return false;
    if (name == "network")
        policy.network_policy = value;
    else if (name == "privilege")
        policy.privilege_level = value;
    else if (name == "backoff")
        policy.backoff = value;
    else if (name == "retries")
        return read_number(value, policy.max_retries);
    else if (name == "cpu")
        return read_time(value, policy.budget_cpu);
    else if (name == "wall")
        return read_time(value, policy.budget_wall);
    else
        return false;
    return true;
}

}  // namespace

Result<ExecutionPolicy> read_policy_fields(std::span<const std::string> fields) {
    ExecutionPolicy policy;
    for (const std::string_view field : fields) {
        const std::size_t equals = std::min(field.find('='), field.size());
        const std::string_view value =
            equals < field.size() ? field.substr(equals + 1) : std::string_view();
        if (!read_field(field.substr(0, equals), value, policy)) {
            return fail(
                ErrorCode::kInvalidArgs,
                fmt::format("--policy {}: write network=LABEL, privilege=LABEL, cpu=DURATION, "
                            "wall=DURATION, retries=N, backoff=NAME or worktree",
                            field));
        }
    }
    return policy;
}

}  // namespace crab::cli
