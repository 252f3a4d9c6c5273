#pragma once

#include "base/clock.hpp"
#include "base/ordered_mutex.hpp"
#include "base/task/task.hpp"
#include "base/task/timer_wheel.hpp"
#include "base/task/waiter.hpp"
#include "core/registry/poll_schedule.hpp"
#include "core/registry/registry.hpp"

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace crab::core {

/// The usable tools of a remote source.
struct ToolList {
    struct Dropped {
        std::string name;                         ///< shortened; empty if it had none
        std::string reason;
    };
    std::vector<std::shared_ptr<Tool>> tools;     ///< without source and host
    std::vector<Dropped> dropped;                 ///< bounded, for the log
};

/// Polls the tool list of one remote source, periodically and on wake(), and keeps it in the
/// registry until the source has not answered for too long or is removed. Used on the home loop,
/// except wake() and status().
class ToolListing : public RemoteWaiter {
public:
    struct Home {
        Executor executor;
        TimerWheel& timers;
        const Clock& clock;
        Registry& registry;
    };
    struct Status {
        std::string name;
        bool answers = false;  ///< its last list arrived, and calls reach it
        std::size_t tools = 0;
        std::string problem;  ///< why its last list failed
    };

    /// `kind` names such sources in logs, as in "tool host"; `owner` is the owner id in the
    /// registry, where its tools are expected until a list has arrived.
    ToolListing(const Home& home, std::string_view kind, ToolSource source, ConnectionId owner);
    ToolListing(const ToolListing&) = delete;
    ToolListing& operator=(const ToolListing&) = delete;

    /// Polls until its chain is cancelled or withdraw() was called; soon after wake(), but at most
    /// once a second.
    static Task<void> watch(std::shared_ptr<ToolListing> listing, PollSchedule::Times times);
    /// Removes the source's tools immediately and stops polling.
    void withdraw();
    /// Thread-safe.
    Status status() const;

    const std::string& name() const { return source_.name; }
    ConnectionId owner() const { return owner_; }

protected:
    /// Requests the list until `deadline` and calls offer() or unchanged(). Errors: why there is no
    /// valid list.
    virtual Task<Result<void>> refresh(Deadline deadline) = 0;
    /// Discards the last list: its tools were removed from the registry.
    virtual void forget() = 0;
    /// Whether calls reach the source. Thread-safe.
    virtual bool is_reachable() const = 0;

    /// Replaces this source's tools in the registry by those of `list`. `keep_names`: they may have
    /// reserved plain names.
    void offer(const ToolList& list, const std::shared_ptr<ToolHost>& host,
               bool keep_names = false);
    /// The list has not changed.
    void unchanged() { set_status(true, std::nullopt, {}); }
    const Home& place() const { return home_; }

private:
    void set_status(bool answers, std::optional<std::size_t> tools, std::string problem);

    const Home home_;
    const std::string kind_;
    const ToolSource source_;
    const ConnectionId owner_;
    bool gone_ = false;
    std::vector<std::string> told_ambiguous_;  ///< plain names, each logged once
    mutable OrderedMutex<LockRank::kToolListing> mutex_;  // guards status_
    Status status_;
};

}  // namespace crab::core
