#pragma once

#include "agent/conversation.hpp"
#include "agent/tool_access.hpp"
#include "base/task/waiter.hpp"
#include "core/pipeline/call_runner.hpp"
#include "net/loop/event_loop.hpp"

#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace crab::agent {

/// Runs the tool calls of one model answer concurrently through the pipeline, limited to what a
/// device accepts at a time. Lives in the turn's frame, on its loop.
class ToolBatch {
public:
    static constexpr std::size_t kAtOnce = 64;

    ToolBatch(core::CallRunner& calls, net::EventLoop& loop, const ToolAccess& access,
              Deadline deadline)
        : runner_(calls),
          loop_(loop),
          access_(access),
          deadline_(deadline),
          ended_(loop.timers()) {}
    ToolBatch(const ToolBatch&) = delete;
    ToolBatch& operator=(const ToolBatch&) = delete;

    /// Runs the calls and returns when the last has ended; the outcomes are in the order of
    /// `requests`, which must hold until then. Cancelling the turn cancels the calls; they end as
    /// kCancelled, and the chain stays cancelled.
    Task<std::vector<core::Outcome>> run(const std::vector<const ToolRequest*>& requests);

private:
    struct One {
        const ToolRequest* request = nullptr;
        CancelSignal signal{};
        std::optional<core::Outcome> outcome{};
    };
    Task<void> call(One& one);
    void on_end(One& one, const std::exception_ptr& failure);
    Task<void> run_some(std::span<const std::unique_ptr<One>> calls);

    core::CallRunner& runner_;
    net::EventLoop& loop_;
    const ToolAccess& access_;
    const Deadline deadline_;
    std::vector<std::unique_ptr<One>> calls_;
    std::size_t left_ = 0;
    Waiter ended_;
};

}  // namespace crab::agent
