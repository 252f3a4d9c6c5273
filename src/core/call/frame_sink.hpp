#pragma once

#include "base/task/task.hpp"
#include "core/call/tool_result.hpp"

#include <cstdint>
#include <optional>
#include <string_view>

namespace crab::core {

/// Receives a running call's frames and progress. Called on the event loop of the call's front
/// only; hosts on other loops post. The default ignores everything.
class FrameSink {
public:
    virtual ~FrameSink() = default;
    /// One part of a streamed result; its views are valid during the call only.
    virtual void on_frame(const ToolFrame&) {}
    virtual void on_progress(const Progress&) {}
    /// Whether to send progress at all.
    virtual bool wants_progress() const { return false; }
    /// A log message of a running tool. Its views are valid during the call only.
    struct Log {
        std::string_view level;  ///< as in RFC 5424: debug, info, notice, warning, error, …
        std::string_view logger;  ///< may be empty
        std::string_view data;  ///< JSON
    };
    virtual void on_log(const Log&) {}
    /// The lowest level that is wanted; empty: no log messages.
    virtual std::string_view wanted_log_level() const { return {}; }
    /// The tool has said that its result will take long; a front that can hand the caller a task
    /// does so now.
    virtual void on_deferred() {}
    /// Stream data for the audit record.
    struct Sent {
        std::uint64_t frames = 0, bytes = 0;
        std::string_view gave_up;  ///< why the sink cancelled the call; empty: it did not
    };
    /// What was sent, including what follows now that the call has ended with `outcome`; nothing if
    /// it is not a stream.
    virtual std::optional<Sent> sent(const Outcome& outcome) const {
        static_cast<void>(outcome);
        return std::nullopt;
    }
    /// Back-pressure: waits until the reader has caught up; hosts await it between frames.
    virtual Task<void> drained() { co_return; }
};

}  // namespace crab::core
