#pragma once

#include "base/task/task.hpp"
#include "core/call/tool_result.hpp"

#include <cstdint>
#include <optional>
#include <string_view>

namespace crab::core {

/// Where a running call's frames and progress go. Called on the event loop of the call's front
/// only; hosts that live on another loop post. One that is not interested ignores them.
class FrameSink {
public:
    virtual ~FrameSink() = default;
    /// One part of a streamed result; its views hold during the call of this function only.
    virtual void on_frame(const ToolFrame&) {}
    virtual void on_progress(const Progress&) {}
    /// Whether progress is worth sending at all.
    virtual bool wants_progress() const { return false; }
    /// What an audit record tells of a stream.
    struct Sent {
        std::uint64_t frames = 0, bytes = 0;
        std::string_view gave_up;   ///< why the sink cancelled the call; empty: it did not
    };
    /// What has gone out, with what is to follow now that the call has ended with `outcome`;
    /// nothing from one that is not a stream.
    virtual std::optional<Sent> sent(const Outcome& outcome) const {
        static_cast<void>(outcome);
        return std::nullopt;
    }
    /// Waits until the reader has caught up; a host that produces faster awaits this between
    /// frames.
    virtual Task<void> drained() { co_return; }
};

}  // namespace crab::core
