#pragma once

#include "adapters/rtp/wire/call_request.hpp"
#include "core/call/admitted_call.hpp"
#include "core/call/tool_result.hpp"
#include "core/registry/tool_listing.hpp"
#include "json/parser.hpp"

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// The gateway's half of docs/protocols/rtp.md, sections 2 and 4: requests to a tool host and its
/// responses.
namespace crab::rtp {

/// `timeout_ms` of a request with `left` until the deadline: a tenth less, at most 200 ms
/// less, 1..120000.
std::int64_t timeout_for_host(std::chrono::nanoseconds left);

/// Appends the request for `call`. Required members that the caller left out are filled in: tenant
/// `default`, the principal as agent, the call id as session. A tool with side effects always gets
/// an idempotency key.
void append_call_request(std::string& out, const core::AdmittedCall& call, std::int64_t timeout_ms);

/// The tenant under which append_call_request() sends `call`.
std::string_view tenant_on_wire(const core::Call& call);

/// An answer to `/v1/tools/call` as it came.
struct CallReply {
    int http_status = 0;
    std::string_view body;
    std::optional<Milliseconds> retry_after;   ///< the header's
};
/// Reads a response strictly. `retryable` is always set in errors, so that nothing is retried by
/// default. Errors: the host's own; kForbidden, kUnavailable for bare HTTP statuses; kInternal for
/// a response that breaks a rule, naming it.
core::Outcome read_call_reply(const CallReply& reply, json::Parser& parser,
                              std::string_view call_id, std::string_view tool);

/// What a host says of itself and its tools.
struct Discovery : core::ToolList {
    bool keeps_callers_apart = false;  ///< by `Crab-Principal`
};
/// Reads the body of `GET /v1/tools`: at most 1024 tools; an invalid one is dropped. Errors:
/// kInternal when the document as a whole is invalid.
Result<Discovery> read_discovery(std::string_view body, json::Parser& parser);

}  // namespace crab::rtp
