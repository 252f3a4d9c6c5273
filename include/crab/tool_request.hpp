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

/// One call of a tool, as its handler sees it. A cheap handle: copies mean the same call.
/// Thread-safe.
class ToolRequest {
public:
    explicit ToolRequest(std::shared_ptr<sdk::CallState> state) : state_(std::move(state)) {}

    const std::string& call_id() const;
    const std::string& tool() const;
    /// The arguments: a JSON object, as the caller wrote it.
    const std::string& args() const;

    /// The top-level argument of that name when it has the asked type, otherwise nothing.
    std::optional<std::string> text(std::string_view name) const;
    std::optional<double> number(std::string_view name) const;
    std::optional<std::int64_t> integer(std::string_view name) const;
    std::optional<bool> flag(std::string_view name) const;

    /// When nobody waits for the answer any more.
    std::chrono::steady_clock::time_point deadline() const;
    /// The caller gave up, the deadline passed, or the device stops: end soon, whatever is returned
    /// is dropped.
    bool cancelled() const;
    /// Calls `callback` once when cancelled() becomes true, from another thread; at once if it is
    /// already. It must not block.
    void on_cancel(std::function<void()> callback) const;
    /// Tells a caller that asked how far the call is; the gateway passes on at most ten of these a
    /// second.
    void progress(ToolProgress progress) const;
    /// Adds a line to the `logs` of a host's answer: at most 100 lines of 4 KiB. A device's answers
    /// have no place for it.
    void log(std::string line) const;

    /// Whom the call is for, as a host's callers say it; empty on a device.
    const std::string& tenant_id() const;
    const CallContext& context() const;

private:
    std::shared_ptr<sdk::CallState> state_;
};

}  // namespace crab
