#pragma once

#include "gateway/context/gateway_context.hpp"
#include "net/loop/periodic.hpp"
#include "runtime/event_loops.hpp"

#include <atomic>
#include <functional>
#include <memory>
#include <vector>

namespace crab::gateway {

/// Feeds the service manager's watchdog as long as every event loop answers: one that is stuck for
/// the whole of its interval has the process restarted. Off without WATCHDOG_USEC.
class ServiceWatchdog final : public Component {
public:
    /// `feed` is called on the first loop.
    ServiceWatchdog(EventLoops& loops, std::function<void()> feed)
        : loops_(loops), feed_(std::move(feed)) {}

    std::string_view name() const override { return "service watchdog"; }
    Result<void> start() override;
    void stop(Deadline deadline) override;

private:
    /// On the first loop: feeds if every loop has answered the last question, and asks again those
    /// that have.
    void look();

    EventLoops& loops_;
    const std::function<void()> feed_;
    /// By loop: asked, and not answered yet
    std::vector<std::shared_ptr<std::atomic<bool>>> waiting_;
    std::unique_ptr<net::Periodic> watch_;  ///< on the first loop
};

}  // namespace crab::gateway
