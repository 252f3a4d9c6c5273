#pragma once

#include "base/task/blocking_pool.hpp"
#include "config/gateway_config.hpp"
#include "core/call/hook.hpp"

#include <cstddef>
#include <memory>
#include <vector>

namespace crab::gateway {

/// The hook that one entry of the configuration describes: a fixed refusal, a merge patch (RFC
/// 7396) over the arguments, or a program that gets the call as JSON on standard input and answers
/// {"decision":"proceed"|"replace"|"deny","args"?,"reason"?}. `pool` is for hooks only: a program
/// occupies a thread while it runs. Errors: kInvalidArgs.
Result<std::shared_ptr<core::Hook>> make_hook(const config::HookRule& rule, BlockingPool& pool);

/// The number of threads that lets each program run as often concurrently as its gate allows; at
/// most 64.
std::size_t threads_of(const std::vector<config::HookRule>& hooks);

}  // namespace crab::gateway
