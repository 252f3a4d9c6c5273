#pragma once

#include "base/blocking_pool.hpp"
#include "config/gateway_config.hpp"
#include "core/hook.hpp"

#include <memory>

namespace crab::app {

/// The hook that one entry of the configuration describes: a fixed refusal, a merge patch (RFC 7396) over the arguments, or a
/// program that gets the call as JSON on standard input and answers {"decision":"proceed"|"replace"|"deny","args"?,"reason"?}.
/// Errors: kInvalidArgs.
Result<std::shared_ptr<core::Hook>> make_hook(const config::HookRule& rule, BlockingPool& pool);

}  // namespace crab::app
