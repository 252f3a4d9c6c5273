#pragma once

#include "base/task.hpp"
#include "core/tool_result.hpp"

namespace crab::core {

/// Where a running call's frames and progress go. Called on the event loop of the call's front only; hosts that live on
/// another loop post. One that is not interested ignores them.
class FrameSink {
public:
    virtual ~FrameSink() = default;
    /// One part of a streamed result; its views hold during the call of this function only.
    virtual void on_frame(const ToolFrame&) {}
    virtual void on_progress(const Progress&) {}
    /// Whether progress is worth sending at all.
    virtual bool wants_progress() const { return false; }
    /// Waits until the reader has caught up; a host that produces faster awaits this between frames.
    virtual Task<void> drained() { co_return; }
};

}  // namespace crab::core
