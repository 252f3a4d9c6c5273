#pragma once

#include "adapters/rtp/hosts/rtp_host.hpp"
#include "base/task/fair_pool.hpp"
#include "core/registry/tool_listing.hpp"

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace crab::rtp {

/// Knows the tool hosts and keeps their tools in the registry: asks each for its list at the start,
/// every minute, and soon after it did not know a tool; one that is silent is asked again after 1
/// s, doubling to a minute, and loses its tools after five. Each host has a task of its own, so
/// none waits for another. Source: docs/protocols/rtp.md, section 4, "Discovery".
class HostDirectory {
public:
    struct Services {
        core::Registry& registry;
        FairPool& schemas;  ///< lists are read and schemas compiled there
        net::EventLoop& home;  ///< asks for lists; one of `loops`
        std::vector<net::EventLoop*> loops;
    };
    using Times = core::ListRhythm::Times;
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
    /// A host more, asked from now on, or from start() on; from any thread. One whose name is taken
    /// is left out, and the log says so.
    void add(RtpHost::Options host);
    /// Takes the host and its tools away at once, if there is one of this name: its calls fail, its
    /// connections end. From any thread.
    void remove(std::string name);
    /// Lets no request use a connection that is there now, and asks the host for its list again;
    /// from any thread.
    void reconnect(std::string name);
    /// Ends all that is in progress and waits for it; called by a thread that is none of the
    /// loops'. Then no host is called any more.
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
    mutable std::mutex mutex_;
    std::vector<std::shared_ptr<Watched>> hosts_;  // changed on the home loop only, under mutex_
    std::uint64_t owners_ = 0;  // that were given out
    bool started_ = false, stopping_ = false;  // on the home loop
    TaskGroup tasks_;
};

}  // namespace crab::rtp
