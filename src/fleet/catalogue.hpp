#pragma once

#include "base/change_signal.hpp"
#include "base/counter.hpp"
#include "base/task/blocking_pool.hpp"
#include "base/task/task_group.hpp"
#include "base/task/waiter.hpp"
#include "core/registry/registry.hpp"
#include "fleet/link_table.hpp"
#include "fleet/messages.hpp"

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

namespace crab::fleet {

/// The devices of the whole fleet: claims the links of this node's devices in the database, and
/// registers the tools of those at other nodes here, so that lists have them and calls find them.
/// Of the links of one device the newest counts. A name that another principal's device has is not
/// taken from it. Used on one loop, the node's first.
/// Source: docs/protocols/fleet.md, section 3.
class Catalogue {
public:
    /// Also looked at when tools change here
    static constexpr std::chrono::seconds kEvery{1};
    static constexpr Milliseconds kGather{20};

    struct Uses {
        LinkTable& table;
        BlockingPool& pool;
        core::Registry& registry;
        std::function<NodeName()> self;  ///< under its incarnation of now
        std::function<std::vector<ConnectionId>()> devices;  ///< connections of devices here
        const Clock& clock;
        Executor home;
        TimerWheel& timers;
    };
    explicit Catalogue(Uses uses);

    void start();
    void stop(std::function<void()> done);
    /// Thread-safe, until stop(): something is otherwise now.
    void look_now() { wake_->wake(); }

    /// Whether the link that a forward names is here, with the tools that it was claimed with.
    bool is_here(const ForwardHead& head) const;

    struct Counts {
        Counter claims, reads, failures;
        Counter names_taken;  ///< links whose name is that of another principal's device
    };
    const Counts& counts() const { return counts_; }
    /// Whether the links of others were ever read. Thread-safe.
    const std::atomic<bool>& known() const { return known_; }

private:
    /// A link of this node.
    struct Own {
        std::vector<core::ToolRef> tools;
        Link link;
        std::string owner;
        bool written = false;  ///< as it is, under claimed_as_
    };
    /// A link of another node whose tools are registered here.
    struct Remote {
        ConnectionId owner{};
        std::string tools, principal;
    };
    using Tools = std::vector<std::shared_ptr<core::Tool>>;
    /// Links as they were read, and the tools of those that are not registered here.
    struct Read {
        std::vector<Link> links;
        std::vector<Tools> tools;  ///< none for what is registered, or was not understood
    };
    /// One of them.
    struct Seen {
        const Link* link = nullptr;
        std::string principal;
        Tools tools;  ///< none if they are registered already
    };
    /// Of one connection of one process
    using Key = std::tuple<bus::Process, std::uint64_t, std::uint64_t>;
    static Key key_of(const Link& link) { return {link.process, link.connection, link.epoch}; }

    Task<void> keep();
    Task<void> pass();
    bool look_at_own();
    Task<bool> claim();
    Task<void> read_others();
    bool is_registered(const Link& link) const;
    Task<void> parse_tools(std::shared_ptr<Read> read);
    void take(Read& read);
    std::optional<Seen> look_at(const Link& link, Tools& tools) const;
    bool may_take(const Seen& seen) const;
    void register_tools(Seen& seen);

    Uses uses_;
    std::map<std::uint64_t, Own> own_;  ///< by connection
    NodeName claimed_as_;
    bool claim_due_ = true;
    std::string version_;  ///< of what was read last
    bool read_due_ = true;
    std::atomic<bool> known_{false};
    std::map<Key, Remote> remote_;
    std::uint64_t last_owner_ = 0;
    Counts counts_;
    std::shared_ptr<RemoteWaiter> wake_;
    ChangeSignal::Watch watch_;
    TaskGroup tasks_;
};

}  // namespace crab::fleet
