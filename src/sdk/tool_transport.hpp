#pragma once

#include "crab/tool_client.hpp"

#include <expected>
#include <string>
#include <vector>

namespace crab::sdk {

/// How a ToolClient reaches its gateway. Blocking, thread-safe; the functions mean what
/// ToolClient's do.
class ToolTransport {
public:
    virtual ~ToolTransport() = default;
    virtual std::expected<std::vector<ToolInfo>, ToolError> list() = 0;
    /// `callbacks` null: the result comes in one piece.
    virtual CallResult call(const std::string& tool, const std::string& args,
                            const CallOptions& options, const StreamCallbacks* callbacks) = 0;
    virtual std::expected<CancelStatus, ToolError> cancel(const std::string& call_id,
                                                          const std::string& tenant_id) = 0;
};

}  // namespace crab::sdk
