#pragma once

#include "base/result.hpp"

#include "crab/tool_client.hpp"

#include <span>
#include <string>

namespace crab::cli {

/// The execution policy of `--policy FIELD=VALUE` and `--policy worktree`, repeated; fields are
/// `network`, `privilege`, `cpu`, `wall`, `retries` and `backoff`. Labels are checked by the
/// server. Errors: kInvalidArgs.
Result<ExecutionPolicy> read_policy_fields(std::span<const std::string> fields);

}  // namespace crab::cli
