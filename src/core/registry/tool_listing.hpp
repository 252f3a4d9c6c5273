#pragma once

#include "base/clock.hpp"
#include "base/task/task.hpp"
#include "base/task/timer_wheel.hpp"
#include "base/task/waiter.hpp"
#include "core/registry/list_rhythm.hpp"
#include "core/registry/registry.hpp"

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace crab::core {

/// What a remote source offers, as far as it can be used.
struct ToolList {
    struct Dropped {
        std::string name;                         ///< shortened; empty if it had none
        std::string reason;
    };
    std::vector<std::shared_ptr<Tool>> tools;     ///< without source and host
    std::vector<Dropped> dropped;                 ///< not more than a log can bear
};

/// The list of tools of one remote source: asked for in a rhythm, and sooner when somebody wakes
/// it; what came is in the registry until the source has been silent for too long or is taken away.
/// All is used on the home loop, but for wake() and status().
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
        bool answers = false;  ///< its last list came, and calls reach it
        std::size_t tools = 0;
        std::string problem;  ///< why its last list did not come
    };

    /// `kind` is the log's word for such a source, as in "tool host"; `owner` that of its tools in
    /// the registry, which expects them from now on until a list has come.
    ToolListing(const Home& home, std::string_view kind, ToolSource source, ConnectionId owner);
    ToolListing(const ToolListing&) = delete;
    ToolListing& operator=(const ToolListing&) = delete;

    /// Asks until its chain is cancelled or withdraw() was called; soon after wake(), but at most
    /// once a second.
    static Task<void> watch(std::shared_ptr<ToolListing> listing, ListRhythm::Times times);
    /// The source is gone: its tools are, at once, and it is not asked any more.
    void withdraw();
    /// Thread-safe.
    Status status() const;

    const std::string& name() const { return source_.name; }
    ConnectionId owner() const { return owner_; }

protected:
    /// Asks for the list until `deadline` and gives what came to offer(), or calls unchanged().
    /// Errors: why no list came, or why it is none.
    virtual Task<Result<void>> refresh(Deadline deadline) = 0;
    /// What the last list said counts no more: the tools were taken out of the registry.
    virtual void forget() = 0;
    /// Whether calls reach the source; from any thread.
    virtual bool is_reachable() const = 0;

    /// Makes the tools of `list` all that the registry has of this source. `keep_names`: they may
    /// have plain names that are reserved.
    void offer(const ToolList& list, const std::shared_ptr<ToolHost>& host,
               bool keep_names = false);
    /// The list came, and is the one that counts already.
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
    mutable std::mutex mutex_;  // guards status_
    Status status_;
};

}  // namespace crab::core
