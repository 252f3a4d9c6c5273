#pragma once

#include "adapters/rtp/hosts/rtp_host.hpp"
#include "base/ordered_mutex.hpp"
#include "base/task/fair_pool.hpp"
#include "core/registry/tool_listing.hpp"

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace crab::rtp {

/// Keeps the tools of the tool hosts in the registry. Polls each host's list at start, every
/// minute, and soon after it reported an unknown tool; a failing host is retried after 1 s,
/// doubling to a minute, and loses its tools after five minutes. Each host has a task of its own.
/// Source: docs/protocols/rtp.md, section 4, "Discovery".
class HostDirectory {
public:
    struct Services {
        core::Registry& registry;
        FairPool& schemas;  ///< parses lists and compiles schemas
        net::EventLoop& home;  ///< polls for lists; one of `loops`
        std::vector<net::EventLoop*> loops;
    };
    using Times = core::PollSchedule::Times;
    using Status = core::ToolListing::Status;

    HostDirectory(Services services, std::vector<RtpHost::Options> hosts, Times times);
    HostDirectory(Services services, std::vector<RtpHost::Options> hosts)
        : HostDirectory(std::move(services), std::move(hosts), Times()) {}
    HostDirectory(const HostDirectory&) = delete;
    HostDirectory& operator=(const HostDirectory&) = delete;
    /// After stop(), or if start() was never called.
    ~HostDirectory();

    /// Starts polling. Thread-safe.
    void start();
    /// Adds a host, polled from now on, or from start() on. Thread-safe. One whose name is taken is
    /// logged and left out.
    void add(RtpHost::Options host);
    /// Removes the host of this name and its tools immediately: its calls fail, its connections are
    /// closed. Thread-safe.
    void remove(std::string name);
    /// Stops using the host's open connections for new requests, and polls its list again.
    /// Thread-safe.
    void reconnect(std::string name);
    /// Ends everything and waits for it; must not be called on one of the loops. No host is called
    /// afterwards.
    void stop();
    /// Thread-safe.
    std::vector<Status> status() const;

private:
    class Watched;
    std::shared_ptr<Watched> make(RtpHost::Options options);
    std::shared_ptr<Watched> find(std::string_view name) const;
    void begin_to_watch(std::shared_ptr<Watched> host);
    Task<void> leave(std::shared_ptr<Watched> host);

    Services services_;
    const Times times_;
    mutable OrderedMutex<LockRank::kHostDirectory> mutex_;
    std::vector<std::shared_ptr<Watched>> hosts_;  // changed on the home loop only, under mutex_
    std::uint64_t owners_ = 0;  // that were given out
    bool started_ = false, stopping_ = false;  // on the home loop
    TaskGroup tasks_;
};

}  // namespace crab::rtp
