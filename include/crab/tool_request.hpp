#pragma once

#include "crab/call_context.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace crab {

namespace sdk {
class CallState;
}

/// How far a call has come; every part may be left out.
struct ToolProgress {
    std::string message{};
    std::optional<double> progress{};
    std::optional<double> total{};
};

/// One call of a tool, as its handler sees it. A cheap handle: copies refer to the same call.
/// Thread-safe.
class ToolRequest {
public:
    explicit ToolRequest(std::shared_ptr<sdk::CallState> state) : state_(std::move(state)) {}

    const std::string& call_id() const;
    const std::string& tool() const;
    /// The arguments: a JSON object, as the caller wrote it.
    const std::string& args() const;

    /// The top-level argument of that name if it has the requested type, otherwise nullopt.
    std::optional<std::string> text(std::string_view name) const;
    std::optional<double> number(std::string_view name) const;
    std::optional<std::int64_t> integer(std::string_view name) const;
    std::optional<bool> flag(std::string_view name) const;

    /// The time after which an answer is ignored.
    std::chrono::steady_clock::time_point deadline() const;
    /// The caller gave up, the deadline passed, or the device stops: return soon; the result is
    /// dropped.
    bool cancelled() const;
    /// Calls `callback` once when cancelled() becomes true, from another thread; at once if it is
    /// already. It must not block.
    void on_cancel(std::function<void()> callback) const;
    /// Reports progress to a caller that asked for it; the gateway forwards at most ten reports a
    /// second.
    void progress(ToolProgress progress) const;
    /// Adds a line to the `logs` of a host's answer: at most 100 lines of 4 KiB. Ignored on a
    /// device.
    void log(std::string line) const;

    /// The tenant and agent that the call is for, as a host's callers state them; empty on a
    /// device.
    const std::string& tenant_id() const;
    const CallContext& context() const;
    /// Of the gateway's span of this call (W3C Trace Context), as parent of spans of one's own;
    /// empty where there is none.
    const std::string& traceparent() const;

private:
    std::shared_ptr<sdk::CallState> state_;
};

}  // namespace crab
