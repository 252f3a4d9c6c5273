#pragma once

#include "adapters/mcp/client/upstream_session.hpp"
#include "adapters/mcp/upstreams/outcome.hpp"
#include "base/task/task.hpp"
#include "base/task/task_chain.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace crab::mcp {

/// A call on its way to an upstream.
struct UpstreamCall {
    UpstreamRequest request;  ///< without headers, sink and inquirer, which send() is given
    std::string principal;    ///< on whose behalf, for sessions of their own
    /// What the caller's client can answer; decides what is declared upstream
    core::Inquirer::Answers answers;
    /// Of `tools/call`: the arguments, an object, of which headers are made
    std::string arguments;
    /// Set once there is a session for it, to what is spoken there; null: nobody asks. It is read
    /// when send() has ended.
    std::optional<Revision>* spoken = nullptr;
};

/// Where the calls of an upstream's tools go. `home` is thread-safe; send() belongs to that loop.
class UpstreamCalls {
public:
    virtual ~UpstreamCalls() = default;
    virtual const std::string& source() const = 0;
    virtual const Executor& home() const = 0;
    /// Errors: those of UpstreamSession::request() and UpstreamConnector::connect(); kUnavailable
    /// when the upstream is away.
    virtual Task<Result<CallReply>> send(UpstreamCall call) = 0;
    /// A result of this tool broke the tool's output schema and is passed on. Any thread.
    virtual void note_off_schema(const std::string& tool, std::string_view why) = 0;
};

}  // namespace crab::mcp
