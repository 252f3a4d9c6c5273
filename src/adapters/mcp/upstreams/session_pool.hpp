#pragma once

#include "adapters/mcp/client/upstream_connector.hpp"
#include "base/task/task_group.hpp"
#include "base/task/timer_wheel.hpp"
#include "base/task/waiter.hpp"
#include "core/call/tool_gate.hpp"

#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>

namespace crab::mcp {

/// Whose calls a session carries: no two principals share one with an upstream that keeps state,
/// nor do clients that declared different things. Source: docs/protocols/mcp.md, section 5 row 1,
/// section 6.3.
struct SessionKey {
    std::string principal;
    core::Inquirer::Answers answers;
    /// Whose login it uses; one that was opened before a login is not used with it
    std::string login{};
    unsigned place = 0;  ///< of several with one call each; set by the pool

    friend bool operator<(const SessionKey& a, const SessionKey& b) {
        return a.order() < b.order();
    }

private:
    std::tuple<const std::string&, const std::string&, int, unsigned> order() const {
        const int bits = (answers.form ? 1 : 0) | (answers.url ? 2 : 0) |
                         (answers.sampling ? 4 : 0) | (answers.sampling_tools ? 8 : 0) |
                         (answers.sampling_context ? 16 : 0) | (answers.roots ? 32 : 0);
        return {principal, login, bits, place};
    }
};

/// The sessions with one upstream that belong to principals. Used on one event loop.
class SessionPool {
public:
    struct Limits {
        std::size_t most = 256;  ///< sessions; above that the longest unused is closed
        Milliseconds idle = std::chrono::minutes(10);
        /// Each session has one call at a time; others of the same key get sessions of their own,
        /// at most so many, then they wait. The first that is free is taken.
        bool one_call_at_a_time = false;
        unsigned most_of_a_key = 8;
    };
    SessionPool(const Executor& executor, TimerWheel& timers, const Clock& clock, Limits limits)
        : timers_(timers), clock_(clock), limits_(limits), tasks_(executor) {}

    class Lease;
    /// The session of `key`, opened if there is none; by `deadline`. Errors: those of
    /// UpstreamConnector::connect(); kRateLimited when all sessions are in use.
    Task<Result<Lease>> get(UpstreamConnector& connector, UpstreamOptions options, SessionKey key,
                            Deadline deadline);
    /// Closes those that nobody has used for `idle`.
    void close_idle();
    /// Closes all; nothing is opened afterwards. Running calls end with the sessions.
    Task<void> close_all();
    std::size_t size() const { return slots_.size(); }

private:
    struct Slot {
        std::shared_ptr<UpstreamSession> session;
        bool connecting = false;
        std::list<Waiter*> waiting;  ///< for the connection
        std::optional<Error> failure;  ///< of the connection, for those who waited
        std::size_t calls = 0;
        SteadyTime last_used{};
        std::shared_ptr<core::ToolGate> gate;  ///< null: any number of calls
    };
    using SlotRef = std::shared_ptr<Slot>;

    Task<Result<void>> open(UpstreamConnector& connector, UpstreamOptions options, SessionKey key,
                            SlotRef slot);
    Task<Result<void>> wait_for(SlotRef slot, Deadline deadline);
    bool make_room();
    unsigned free_place(SessionKey key) const;
    void drop(std::map<SessionKey, SlotRef>::iterator slot);
    static Task<void> close_one(std::shared_ptr<UpstreamSession> session);

    TimerWheel& timers_;
    const Clock& clock_;
    const Limits limits_;
    std::map<SessionKey, SlotRef> slots_;
    bool closed_ = false;
    TaskGroup tasks_;
};

/// The use of a session by one call.
class SessionPool::Lease {
public:
    Lease(SlotRef slot, core::ToolGate::Permit permit, const Clock& clock)
        : slot_(std::move(slot)), permit_(std::move(permit)), clock_(&clock) {
        ++slot_->calls;
    }
    Lease(Lease&&) = default;
    Lease& operator=(Lease&&) = delete;
    ~Lease() {
        if (!slot_) return;
        --slot_->calls;
        slot_->last_used = clock_->steady_now();
    }
    UpstreamSession& session() const { return *slot_->session; }

private:
    SlotRef slot_;
    core::ToolGate::Permit permit_;
    const Clock* clock_;
};

}  // namespace crab::mcp
