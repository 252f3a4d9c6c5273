#pragma once

#include "core/call/call.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace crab::rtp {

/// A call as a caller writes it. An empty key and empty members of the context are left out.
struct CallRequest {
    std::string_view call_id, tool, tenant;
    std::string_view args;  ///< one JSON object, copied as it is
    std::optional<std::int64_t> timeout_ms;
    std::string_view idempotency_key;
    core::CallContext context;
};
void append_call_request(std::string& out, const CallRequest& request);

enum class CancelReason : std::uint8_t { kCancelled, kTimeout };
void append_cancel_request(std::string& out, std::string_view tenant, std::string_view call_id,
                           CancelReason reason);

}  // namespace crab::rtp
