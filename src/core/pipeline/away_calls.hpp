#pragma once

#include "base/clock.hpp"
#include "base/ordered_mutex.hpp"
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
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace crab::core {

/// Calls that wait for a disconnected device to return, if their caller requested it. Only for
/// read-only tools that the device had registered, with the visibility rules that applied to them.
/// Bounded in devices and calls. Thread-safe.
class AwayCalls {
public:
    /// What a call ends with whose device did not come: nothing was run.
    static Error not_back();

    struct Options {
        /// Disconnected devices to remember; the oldest is dropped
        std::size_t devices = 4'096;
        std::size_t waiting = 256;  ///< calls at once
    };
    AwayCalls(const Published<CallRules>& rules, Options options)
        : rules_(rules), options_(options) {}
    explicit AwayCalls(const Published<CallRules>& rules) : AwayCalls(rules, Options{}) {}

    /// Told of the tool of each call that begins to wait; before calls come. Must be quick, and
    /// must not call this object; on the call's loop.
    void on_waiting(std::function<void(const Tool& tool)> tell) { tell_ = std::move(tell); }

    /// A connection with these tools has closed.
    void left(ConnectionId connection, std::span<const ToolRef> tools);
    /// These tools have been registered.
    void came(std::span<const ToolRef> tools);

    /// A waiting call, which came() may wake during its lifetime. Its tool may have returned
    /// already, or the call ended: look at both before each wait().
    class Place {
    public:
        ~Place();
        [[nodiscard]] Waiter::Wait wait(Deadline deadline) { return waiter_->wait(deadline); }
        /// Why it ends without having waited to its end: it was cancelled by its id, or stop().
        std::optional<Error> ended() const;

    private:
        friend class AwayCalls;
        Place(AwayCalls& calls, const Call& call, PrincipalRef principal, const Executor& home,
              TimerWheel& timers);
        AwayCalls& calls_;
        const std::string tool_, id_, tenant_;
        const PrincipalRef principal_;
        const std::shared_ptr<RemoteWaiter> waiter_;
        std::atomic<bool> cancelled_ = false, stopped_ = false;
    };
    /// Registers `call`. Errors: kToolNotFound when no disconnected device had the tool,
    /// kRateLimited when too many calls wait.
    Result<std::unique_ptr<Place>> enter(const Call& call, const PrincipalRef& principal,
                                         const Executor& home, TimerWheel& timers);

    /// Cancels the waiting calls with this id that `allowed` permits. Returns how many.
    std::size_t cancel(
        std::string_view call_id,
        const std::function<bool(const Principal& owner, std::string_view tenant)>& allowed);

    /// Ends all that waits, so that a gateway that stops need not wait for devices.
    void stop();

    std::size_t waiting() const;

private:
    Result<void> keep(Place& place);

    const Published<CallRules>& rules_;
    const Options options_;
    std::function<void(const Tool&)> tell_;
    /// Read-only tools of disconnected devices, under the same rules as registered ones
    Registry away_;
    mutable OrderedMutex<LockRank::kAwayCalls> mutex_;
    std::deque<ConnectionId> gone_;
    std::list<Place*> places_;
    bool stopping_ = false;
};

}  // namespace crab::core
