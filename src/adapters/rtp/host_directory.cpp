#include "adapters/rtp/host_directory.hpp"

#include "base/log.hpp"

#include <algorithm>
#include <future>
#include <mutex>

namespace crab::rtp {
namespace {

constexpr std::chrono::seconds kAtMostEvery{1};                     // lists asked for because a tool was unknown
constexpr std::uint64_t kFirstOwner = std::uint64_t{1} << 63;   // connections of devices count up from 1

}  // namespace

/// One host and what is known of it. `mutex` guards the status; all else is used on the directory's home loop.
class HostDirectory::Watched : public RemoteWaiter {
public:
    Watched(RtpHost::Options options, const Services& services, ConnectionId id)
        : RemoteWaiter(services.home.executor(), services.home.timers()), host(std::make_shared<RtpHost>(std::move(options), services.loops)), owner(id) {}

    const std::shared_ptr<RtpHost> host;
    const ConnectionId owner;
    std::string list;             ///< the last one, as it came
    bool gone = false;            ///< removed: it has no tools any more
    SteadyTime asked{};           ///< the last time

    void set_status(bool answers, std::optional<std::size_t> tools, std::string problem) {
        const std::scoped_lock lock(mutex_);
        status_.answers = answers;
        if (tools) status_.tools = *tools;
        status_.problem = std::move(problem);
    }
    Status status() const {
        const std::scoped_lock lock(mutex_);
        Status copy = status_;
        copy.name = host->name();
        copy.answers = copy.answers && !host->breaker().is_open();
        return copy;
    }

private:
    mutable std::mutex mutex_;
    Status status_;
};

HostDirectory::HostDirectory(Services services, std::vector<RtpHost::Options> hosts, Times times)
    : services_(std::move(services)), times_(times), tasks_(services_.home.executor()) {
    for (RtpHost::Options& options : hosts) hosts_.push_back(make(std::move(options)));
}

std::shared_ptr<HostDirectory::Watched> HostDirectory::make(RtpHost::Options options) {
    const auto watched = std::make_shared<Watched>(std::move(options), services_, ConnectionId{kFirstOwner + owners_++});
    watched->host->on_unknown_tool([weak = std::weak_ptr<Watched>(watched)] {
        if (const auto host = weak.lock()) host->wake();
    });
    return watched;
}

HostDirectory::~HostDirectory() {
    for (const auto& host : hosts_) services_.registry.remove_owner(host->owner);
}

void HostDirectory::start() {
    services_.home.post([this] {
        started_ = true;
        for (const auto& host : std::vector(hosts_)) begin_to_watch(host);
    });
}

void HostDirectory::begin_to_watch(std::shared_ptr<Watched> host) { tasks_.spawn("tools of host " + host->host->name(), watch(host)); }

std::shared_ptr<HostDirectory::Watched> HostDirectory::find(std::string_view name) const {
    const auto found = std::ranges::find(hosts_, name, [](const auto& host) -> std::string_view { return host->host->name(); });
    return found == hosts_.end() ? nullptr : *found;
}

void HostDirectory::add(RtpHost::Options host) {
    services_.home.post([this, host = std::move(host)]() mutable {
        if (stopping_) return;
        if (find(host.name)) return log::warn("a tool host is left out: another has its name", {{"host", host.name}});
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
        host->gone = true;
        services_.registry.remove_owner(host->owner);
        tasks_.spawn("end of host " + name, leave(host));
        host->wake();
    });
}

void HostDirectory::reconnect(std::string name) {
    services_.home.post([this, name = std::move(name)] {
        const auto host = find(name);
        if (!host) return;
        for (net::EventLoop* loop : services_.loops) loop->post([host, loop] { host->host->retire(*loop); });
        host->wake();
    });
}

/// Calls on all loops end before the host does; nothing cuts this short.
Task<void> HostDirectory::leave(std::shared_ptr<Watched> host) {
    for (net::EventLoop* loop : services_.loops) {
        const auto end_there = [&](std::coroutine_handle<> asking, TaskChain& chain) {
            loop->post([host, loop, asking, home = chain.executor()] {
                host->host->abort(*loop);
                host->host->stop(*loop, [asking, home] { asio::post(home, [asking] { asking.resume(); }); });
            });
        };
        co_await suspend(end_there);
    }
}

void HostDirectory::stop() {
    std::promise<void> watching_ended;
    services_.home.post([&] {
        stopping_ = true;
        tasks_.stop([&] { watching_ended.set_value(); });
    });
    watching_ended.get_future().wait();
    for (const auto& host : hosts_) {
        for (net::EventLoop* loop : services_.loops) {
            std::promise<void> ended;
            loop->post([&] { host->host->stop(*loop, [&] { ended.set_value(); }); });
            ended.get_future().wait();
        }
    }
}

std::vector<HostDirectory::Status> HostDirectory::status() const {
    const std::scoped_lock lock(mutex_);
    std::vector<Status> all;
    for (const auto& host : hosts_) all.push_back(host->status());
    return all;
}

Task<void> HostDirectory::watch(std::shared_ptr<Watched> host) {
    const Clock& clock = services_.home.clock();
    core::ListRhythm rhythm(times_, clock.steady_now());
    const std::string& name = host->host->name();
    for (;;) {
        host->asked = clock.steady_now();
        const Result<void> refreshed = co_await refresh(*host);
        if ((co_await this_chain()).cancelled() || host->gone) co_return;
        const SteadyTime now = clock.steady_now();
        const core::ListRhythm::Next next = refreshed ? rhythm.on_answer(now) : rhythm.on_silence(now, !host->list.empty());
        if (refreshed && next.changed) log::info("tool host answers again", {{"host", name}});
        if (!refreshed && next.changed) log::warn("tool host does not answer", {{"host", name}, {"reason", refreshed.error().message}});
        if (!refreshed) host->set_status(false, std::nullopt, refreshed.error().message);
        if (next.withdraw) {
            log::warn("tools of a silent host are withdrawn", {{"host", name}});
            host->list.clear();
            services_.registry.remove_owner(host->owner);
            host->set_status(false, 0, refreshed.error().message);
        }
        if (co_await host->wait(next.ask) == WaitEnd::kWoken) {
            // A tool was unknown there; many calls may say so at once.
            Waiter moment(services_.home.timers());
            if (!host->gone) co_await moment.wait(host->asked + kAtMostEvery);
        }
        if ((co_await this_chain()).cancelled() || host->gone) co_return;
    }
}

Task<Result<void>> HostDirectory::refresh(Watched& host) {
    auto body = co_await host.host->fetch_tools(services_.home.clock().steady_now() + times_.answer_within);
    if (!body) co_return fail(std::move(body.error()));
    if (*body == host.list) {
        host.set_status(true, std::nullopt, {});
        co_return Result<void>();
    }
    const auto text = std::make_shared<const std::string>(std::move(*body));
    auto read = [text] {
        json::Parser parser;
        return read_discovery(*text, parser);
    };
    auto found = co_await services_.pool.run(std::move(read));
    if (!found) co_return fail(std::move(found.error()));
    if (host.gone) co_return Result<void>();
    take(host, std::move(*found));
    host.list = *text;
    co_return Result<void>();
}

void HostDirectory::take(Watched& host, Discovery found) {
    std::vector<core::ToolRef> tools;
    const std::string& name = host.host->name();
    for (const auto& tool : found.tools) {
        tool->unique_name_only = services_.registry.is_reserved(tool->spec.name);
        tool->set_source({.kind = core::SourceKind::kPeer, .name = name, .owner = "tool_host/" + name, .connection = host.owner});
        tool->host = host.host;
        tools.push_back(tool);
    }
    for (const Discovery::Dropped& dropped : found.dropped) {
        log::warn("a host's tool is left out", {{"host", name}, {"tool", dropped.name}, {"reason", dropped.reason}});
    }
    services_.registry.replace(host.owner, tools);
    host.set_status(true, tools.size(), {});
    log::info("tools of a host", {{"host", name}, {"tools", tools.size()}});
}

}  // namespace crab::rtp
