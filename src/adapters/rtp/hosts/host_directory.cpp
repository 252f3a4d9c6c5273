#include "adapters/rtp/hosts/host_directory.hpp"

#include "base/log.hpp"
#include "net/loop/finish_on.hpp"

#include <algorithm>
#include <mutex>

namespace crab::rtp {
namespace {

// connections of devices count up from 1
constexpr std::uint64_t kFirstOwner = std::uint64_t{1} << 63;

core::ToolSource source_of(const std::string& name, ConnectionId id) {
    return {.kind = core::SourceKind::kPeer,
            .name = name,
            .owner = "tool_host/" + name,
            .connection = id};
}

}  // namespace

class HostDirectory::Watched final : public core::ToolListing {
public:
    Watched(RtpHost::Options options, const Services& services, ConnectionId id)
        : ToolListing({services.home.executor(), services.home.timers(), services.home.clock(),
                       services.registry},
                      "tool host", source_of(options.name, id), id),
          host(std::make_shared<RtpHost>(std::move(options), services.loops)),
          schemas_(services.schemas) {}

    const std::shared_ptr<RtpHost> host;

private:
    Task<Result<void>> refresh(Deadline deadline) override;
    void forget() override { list_.clear(); }
    bool is_reachable() const override { return !host->breaker().is_open(); }

    FairPool& schemas_;
    std::string list_;  // the last one, as it came
};

Task<Result<void>> HostDirectory::Watched::refresh(Deadline deadline) {
    auto body = co_await host->fetch_tools(deadline);
    if (!body) co_return fail(std::move(body.error()));
    if (*body == list_) {
        unchanged();
        co_return Result<void>();
    }
    const auto text = std::make_shared<const std::string>(std::move(*body));
    auto read = [text] {
        json::Parser parser;
        return read_discovery(*text, parser);
    };
    const auto found = co_await schemas_.run("host/" + name(), std::move(read));
    if (!found) co_return fail(found.error());
    host->keep_callers_apart(found->keeps_callers_apart);  // before it is called
    offer(*found, host);
    list_ = *text;
    co_return Result<void>();
}

HostDirectory::HostDirectory(Services services, std::vector<RtpHost::Options> hosts, Times times)
    : services_(std::move(services)), times_(times), tasks_(services_.home.executor()) {
    for (RtpHost::Options& options : hosts) hosts_.push_back(make(std::move(options)));
}

std::shared_ptr<HostDirectory::Watched> HostDirectory::make(RtpHost::Options options) {
    const auto watched = std::make_shared<Watched>(std::move(options), services_,
                                                   ConnectionId{kFirstOwner + owners_++});
    watched->host->on_unknown_tool([weak = std::weak_ptr<Watched>(watched)] {
        if (const auto host = weak.lock()) host->wake();
    });
    return watched;
}

HostDirectory::~HostDirectory() {
    for (const auto& host : hosts_) services_.registry.remove_owner(host->owner());
}

void HostDirectory::start() {
    services_.home.post([this] {
        started_ = true;
        for (const auto& host : std::vector(hosts_)) begin_to_watch(host);
    });
}

void HostDirectory::begin_to_watch(std::shared_ptr<Watched> host) {
    tasks_.spawn("tools of host " + host->name(), core::ToolListing::watch(host, times_));
}

std::shared_ptr<HostDirectory::Watched> HostDirectory::find(std::string_view name) const {
    const auto found = std::ranges::find(
        hosts_, name, [](const auto& host) -> std::string_view { return host->name(); });
    return found == hosts_.end() ? nullptr : *found;
}

void HostDirectory::add(RtpHost::Options host) {
    // now: calls may come before the home loop looks here
    services_.registry.expect(source_of(host.name, {}));
    services_.home.post([this, host = std::move(host)]() mutable {
        if (stopping_) return;
        if (find(host.name))
            return log::warn("a tool host is left out: another has its name",
                             {{"host", host.name}});
        const auto watched = make(std::move(host));
        {
            const std::scoped_lock lock(mutex_);
            hosts_.push_back(watched);
        }
        if (started_) begin_to_watch(watched);
    });
}

void HostDirectory::remove(std::string name) {
    services_.home.post([this, name = std::move(name)] {
        const auto host = find(name);
        if (stopping_ || !host) return;
        {
            const std::scoped_lock lock(mutex_);
            std::erase(hosts_, host);
        }
        host->withdraw();
        tasks_.spawn("end of host " + name, leave(host));
    });
}

void HostDirectory::reconnect(std::string name) {
    services_.home.post([this, name = std::move(name)] {
        const auto host = find(name);
        if (!host) return;
        for (net::EventLoop* loop : services_.loops)
            loop->post([host, loop] { host->host->retire(*loop); });
        host->wake();
    });
}

/// Calls on all loops end before the host does; nothing cuts this short.
Task<void> HostDirectory::leave(std::shared_ptr<Watched> host) {
    for (net::EventLoop* loop : services_.loops) {
        const auto end_there = [&](std::coroutine_handle<> asking, TaskChain& chain) {
            loop->post([host, loop, asking, home = chain.executor()] {
                host->host->abort(*loop);
                host->host->stop(
                    *loop, [asking, home] { asio::post(home, [asking] { asking.resume(); }); });
            });
        };
        co_await suspend(end_there);
    }
}

void HostDirectory::stop() {
    net::finish_on(services_.home, [&](std::function<void()> done) {
        stopping_ = true;
        tasks_.stop(std::move(done));
    });
    for (const auto& host : hosts_) {
        for (net::EventLoop* loop : services_.loops) {
            net::finish_on(*loop, [&](std::function<void()> done) {
                host->host->stop(*loop, std::move(done));
            });
        }
    }
}

std::vector<HostDirectory::Status> HostDirectory::status() const {
    const std::scoped_lock lock(mutex_);
    std::vector<Status> all;
    for (const auto& host : hosts_) all.push_back(host->status());
    return all;
}

}  // namespace crab::rtp
