#pragma once

#include "adapters/mcp/wire/capabilities.hpp"
#include "adapters/mcp/wire/rpc_error.hpp"
#include "base/error.hpp"
#include "core/call/inquirer.hpp"

#include <expected>
#include <optional>
#include <string>
#include <string_view>

/// Questions of an upstream, legacy requests and members of `inputRequests` alike, as the core's.
/// Source: docs/protocols/mcp.md, section 4.8.
namespace crab::mcp {

/// A question for Inquirer::ask(), its message cleaned and with `[<source>] ` in front. `params`:
/// an object, or empty; without `_meta` afterwards. Errors, as the upstream is told: -32601 for a
/// method that asks nobody; -32602 for an unknown mode, a URL that nobody should open, and an
/// elicitation of more than 128 KiB.
std::expected<core::Question, RpcError> upstream_question(std::string_view source,
                                                          std::string_view key,
                                                          std::string_view method,
                                                          std::string_view params);

/// The key that a legacy upstream would like its question to have where questions have keys:
/// `_meta` `crab/inputKey` of its params, 1 to 64 of `[A-Za-z0-9_.-]`; else empty.
std::string suggested_key(std::string_view params);

/// Whether the upstream may ask this: its configuration and the caller both allow it.
bool may_ask(const core::Question& question, const core::Inquirer::Answers& answers,
             const Ask& ask);

/// A caller's abilities as those of a client; tasks can be taken.
ClientCapabilities client_capabilities(const core::Inquirer::Answers& answers);

/// What the upstream is answered in place of a question's result: a result object for a form that
/// nobody filled in within its time, which is a `cancel`; else nothing, and rpc_error_of_question()
/// holds.
std::optional<std::string> result_of_failed_question(const core::Question& question,
                                                     const Error& error);
RpcError rpc_error_of_question(const Error& error);

}  // namespace crab::mcp
