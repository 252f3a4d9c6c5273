#pragma once

#include "adapters/mcp/client/upstream_connector.hpp"
#include "adapters/mcp/upstreams/idle_ping.hpp"
#include "base/task/task_group.hpp"
#include "base/task/timer_wheel.hpp"
#include "base/task/waiter.hpp"
#include "core/call/tool_gate.hpp"

#include <compare>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>

namespace crab::mcp {

/// Whose calls a session carries: no two principals share one with an upstream that keeps state,
/// nor do clients in whose names different things are declared there. Source:
/// docs/protocols/mcp.md, section 5 row 1, section 6.3.
struct SessionKey {
    std::string principal;
    std::string declared;  ///< the capabilities that the upstream is told
    /// Whose login it uses; one that was opened before a login is not used with it
    std::string login{};
    unsigned place = 0;  ///< of several with one call each; set by the pool
    auto operator<=>(const SessionKey&) const = default;
};

/// The sessions with one upstream that belong to principals. Used on one event loop.
class SessionPool {
public:
    struct Limits {
        std::size_t most = 256;  ///< sessions; above that the longest unused is closed
        std::size_t of_principal = 8;  ///< above that its own longest unused is closed
        Milliseconds idle = std::chrono::minutes(10);
        /// A session that was used within this time is closed for another of its principal only
        Milliseconds warm = std::chrono::minutes(1);
        /// Each session has one call at a time; others of the same key get sessions of their own,
        /// at most so many, then they wait. The first that is free is taken.
        bool one_call_at_a_time = false;
        unsigned most_of_a_key = 8;
    };
    /// `lists_changed` is told when a session says so of its lists; from inside of that.
    SessionPool(const Executor& executor, TimerWheel& timers, const Clock& clock, Limits limits,
                std::function<void()> lists_changed)
        : timers_(timers),
          clock_(clock),
          limits_(limits),
          lists_changed_(std::move(lists_changed)),
          pings_(executor, timers, clock),
          tasks_(executor) {}

    class Lease;
    /// What a session is opened with.
    struct Opening {
        UpstreamConnector& connector;
        UpstreamOptions options;
        core::Inquirer::Answers answers;
    };
    /// The session of `key`, opened if there is none, which goes on when the caller leaves. Errors:
    /// those of UpstreamConnector::connect(); kRateLimited when all sessions are in use; kTimeout
    /// when `deadline` passes before it is open.
    Task<Result<Lease>> get(Opening opening, SessionKey key, Deadline deadline);
    /// Closes those that nobody has used for `idle`.
    void close_idle();
    /// Closes all; nothing is opened afterwards. Running calls end with the sessions.
    Task<void> close_all();
    std::size_t size() const { return slots_.size(); }
    /// The session that said last that its lists have changed, while all sessions are of one
    /// principal: what one has changed for itself is not shown to others. Null when there is none.
    std::shared_ptr<UpstreamSession> lister() const;

private:
    struct Slot final : UpstreamListener {
        explicit Slot(SessionPool& pool) : pool(pool) {}
        void on_notification(std::string_view method, std::string_view) override;
        void on_end(const Error&) override {}  // who uses it next sees it

        SessionPool& pool;
        std::shared_ptr<UpstreamSession> session;
        std::uint64_t change = 0;  ///< of its lists, counted over all sessions; 0: none
        bool connecting = false;
        std::list<Waiter*> waiting;  ///< for the connection
        std::optional<Error> failure;  ///< of the connection, for those who waited
        std::size_t calls = 0;
        SteadyTime last_used{};
        std::shared_ptr<core::ToolGate> gate;  ///< null: any number of calls
    };
    using SlotRef = std::shared_ptr<Slot>;

    Task<Result<SlotRef>> find(Opening opening, SessionKey key, Deadline deadline);
    Task<void> open(Opening opening, SessionKey key, SlotRef slot);
    /// The opening has ended.
    void settle(const Opening& opening, const SessionKey& key, Slot& slot,
                Result<std::shared_ptr<UpstreamSession>>& session);
    void keep(const Opening& opening, const SessionKey& key, Slot& slot);
    Task<Result<void>> wait_for(SlotRef slot, Deadline deadline);
    bool make_room(const std::string& principal);
    bool close_unused(const std::string* principal, SteadyTime before);
    unsigned free_place(SessionKey key) const;
    void drop(std::map<SessionKey, SlotRef>::iterator slot);
    static Task<void> close_one(std::shared_ptr<UpstreamSession> session);

    TimerWheel& timers_;
    const Clock& clock_;
    const Limits limits_;
    const std::function<void()> lists_changed_;
    std::uint64_t changes_ = 0;
    std::map<SessionKey, SlotRef> slots_;
    bool closed_ = false;
    IdlePing pings_;
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
