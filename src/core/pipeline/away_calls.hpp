#pragma once

#include "base/clock.hpp"
#include "base/task/task.hpp"
#include "base/task/waiter.hpp"
#include "core/pipeline/pipeline.hpp"
#include "core/registry/registry.hpp"

#include <atomic>
#include <cstddef>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>

namespace crab::core {

/// Calls that wait, before they begin, for a device which is away, because their caller wants that.
/// Waited for are only tools that say that they change nothing and that a device offered before it
/// left; a caller learns of them what it could learn while they were there. Bounded in devices and
/// in calls. Thread-safe.
class AwayCalls {
public:
    struct Options {
        /// Connections whose tools are remembered; the oldest is forgotten
        std::size_t devices = 4'096;
        std::size_t waiting = 256;  ///< calls at once
    };
    AwayCalls(const Published<CallRules>& rules, Options options)
        : rules_(rules), options_(options) {}
    explicit AwayCalls(const Published<CallRules>& rules) : AwayCalls(rules, Options{}) {}

    /// The connection is gone, and these were its tools.
    void left(ConnectionId connection, std::span<const ToolRef> tools);
    /// These have been registered.
    void came(std::span<const ToolRef> tools);

    /// A call that waits, among those that came() looks through for as long as this lives. Its tool
    /// may have come before: look again before the first wait().
    class Place {
    public:
        ~Place();
        [[nodiscard]] Waiter::Wait wait(Deadline deadline) { return waiter_->wait(deadline); }
        /// Somebody who may asked for the end of this call, by its id.
        bool cancelled() const { return cancelled_; }

    private:
        friend class AwayCalls;
        Place(AwayCalls& calls, const Call& call, PrincipalRef principal, const Executor& home,
              TimerWheel& timers);
        AwayCalls& calls_;
        const std::string tool_, id_, tenant_;
        const PrincipalRef principal_;
        const std::shared_ptr<RemoteWaiter> waiter_;
        std::atomic<bool> cancelled_ = false;
    };
    /// A place for `call`. Errors: kToolNotFound when nothing is worth waiting for, kRateLimited
    /// when too many calls wait.
    Result<std::unique_ptr<Place>> enter(const Call& call, const PrincipalRef& principal,
                                         const Executor& home, TimerWheel& timers);

    /// Asks the calls with this id to wait no longer; `allowed` says whether the asker may. Returns
    /// how many there were.
    std::size_t cancel(
        std::string_view call_id,
        const std::function<bool(const Principal& owner, std::string_view tenant)>& allowed);

    std::size_t waiting() const;

private:
    const Published<CallRules>& rules_;
    const Options options_;
    Registry away_;  ///< read-only tools of devices that left, judged as those that are there
    mutable std::mutex mutex_;
    std::deque<ConnectionId> gone_;
    std::list<Place*> places_;
};

}  // namespace crab::core
