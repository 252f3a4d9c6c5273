#include "adapters/mcp/upstreams/upstreams.hpp"

#include "base/log.hpp"
#include "base/task/run_on.hpp"
#include "base/task/waiter.hpp"
#include "net/loop/finish_on.hpp"

#include <list>
#include <utility>

#include <fmt/format.h>

namespace crab::mcp {
namespace {

// connections of devices count up from 1, tool hosts from 2^63
constexpr std::uint64_t kFirstOwner = std::uint64_t{3} << 62;
constexpr int kOwnersOfAPlace = 32;  // bits

}  // namespace

class Upstreams::Ending {
public:
    explicit Ending(TimerWheel& timers) : timers_(timers) {}
    /// Also returns when its coroutine is cancelled.
    Task<void> wait() {
        if (over_) co_return;
        Waiter waiter(timers_);
        const auto place = waiting_.insert(waiting_.end(), &waiter);
        if (co_await waiter.wait(kNoDeadline) != WaitEnd::kWoken) waiting_.erase(place);
    }
    bool over() const { return over_; }
    void end() {
        over_ = true;
        while (!waiting_.empty()) {  // each goes on before wake() returns
            Waiter* const waiter = waiting_.front();
            waiting_.pop_front();
            waiter->wake();
        }
    }

private:
    TimerWheel& timers_;
    bool over_ = false;
    std::list<Waiter*> waiting_;
};

void Upstreams::put(UpstreamSettings settings) {
    const std::string source = settings.connection.source;
    remove(source);
    const Upstream::Uses uses{.executor = uses_.home.executor(),
                              .timers = uses_.home.timers(),
                              .clock = uses_.home.clock(),
                              .registry = uses_.registry,
                              .catalogs = uses_.catalogs,
                              .watches = uses_.watches,
                              .connector = uses_.connector,
                              .pins = uses_.pins,
                              .schemas = uses_.schemas,
                              .files = uses_.files};
    std::shared_ptr<Upstream> made;
    {
        const std::scoped_lock lock(mutex_);
        if (stopping_) return;
        const std::uint64_t place = places_.emplace(source, places_.size()).first->second;
        const std::uint64_t owner = kFirstOwner + (place << kOwnersOfAPlace) + owners_++;
        made = std::make_shared<Upstream>(uses, std::move(settings), ConnectionId{owner});
        all_[source] = made;
    }
    uses_.home.post([this, made] { begin(made); });
}

void Upstreams::begin(std::shared_ptr<Upstream> upstream) {
    const std::string source = upstream->source();
    const auto dropping = drops_.find(source);
    const auto ending = std::make_shared<Ending>(uses_.home.timers());
    lives_[source] = ending;
    tasks_.spawn("MCP server " + source,
                 live(upstream, dropping != drops_.end() ? dropping->second : nullptr, ending),
                 upstream);
}

Task<void> Upstreams::live(std::shared_ptr<Upstream> upstream, std::shared_ptr<Ending> after,
                           std::shared_ptr<Ending> ending) {
    if (after) co_await after->wait();
    co_await Upstream::live(upstream);
    ending->end();
    const auto latest = lives_.find(upstream->source());
    if (latest != lives_.end() && latest->second == ending) lives_.erase(latest);
}

/// Nothing puts anything into the stores any more.
Task<void> Upstreams::drop(std::string source, std::shared_ptr<Ending> after,
                           std::shared_ptr<Ending> ending, std::function<void()> drop_more) {
    TaskChain& chain = co_await this_chain();
    while (after && !after->over()) {
        co_await after->wait();
        chain.forget_cancellation();  // it ends, for its own task is told, too
    }
    const auto dropped = co_await uses_.files.run([this, &source, &drop_more] {
        if (drop_more) drop_more();
        return uses_.pins.forget(source);
    });
    if (!dropped)
        log::error("what was accepted of an MCP server that was removed is still stored",
                   {{"server", source}, {"reason", dropped.error().message}});
    ending->end();
    const auto latest = drops_.find(source);
    if (latest != drops_.end() && latest->second == ending) drops_.erase(latest);
}

void Upstreams::forget(const std::string& source, std::function<void()> drop_more) {
    remove(source);
    {
        const std::scoped_lock lock(mutex_);
        if (stopping_) return;
    }
    uses_.home.post([this, source, drop_more = std::move(drop_more)]() mutable {
        const auto living = lives_.find(source);
        const auto ending = std::make_shared<Ending>(uses_.home.timers());
        drops_[source] = ending;
        tasks_.spawn("end of the MCP server " + source,
                     drop(source, living != lives_.end() ? living->second : nullptr, ending,
                          std::move(drop_more)));
    });
}

void Upstreams::remove(const std::string& source) {
    std::shared_ptr<Upstream> gone;
    {
        const std::scoped_lock lock(mutex_);
        const auto found = all_.find(source);
        if (found == all_.end()) return;
        gone = std::move(found->second);
        all_.erase(found);
    }
    uses_.home.post([gone] { gone->leave(); });
}

void Upstreams::stop() {
    std::map<std::string, std::shared_ptr<Upstream>, std::less<>> all;
    {
        const std::scoped_lock lock(mutex_);
        stopping_ = true;
        all.swap(all_);
    }
    net::finish_on(uses_.home, [&](std::function<void()> done) {
        for (const auto& [source, upstream] : all) upstream->leave();
        tasks_.stop(std::move(done));
    });
}

std::shared_ptr<Upstream> Upstreams::find(std::string_view source) const {
    const std::scoped_lock lock(mutex_);
    const auto found = all_.find(source);
    return found == all_.end() ? nullptr : found->second;
}

std::vector<UpstreamStatus> Upstreams::status() const {
    const std::scoped_lock lock(mutex_);
    std::vector<UpstreamStatus> all;
    for (const auto& [source, upstream] : all_) all.push_back(upstream->status());
    return all;
}

std::vector<std::pair<std::string, UpstreamStatus::State>> Upstreams::states() const {
    const std::scoped_lock lock(mutex_);
    std::vector<std::pair<std::string, UpstreamStatus::State>> all;
    for (const auto& [source, upstream] : all_) all.emplace_back(source, upstream->state());
    return all;
}

std::vector<Upstreams::Counts> Upstreams::counts() const {
    const std::scoped_lock lock(mutex_);
    std::vector<Counts> all;
    for (const auto& [source, upstream] : all_)
        all.push_back({.source = source,
                       .off_schema = upstream->off_schema(),
                       .dropped = upstream->dropped()});
    return all;
}

std::vector<std::pair<std::string, FoundEra>> Upstreams::proven_eras() const {
    const std::scoped_lock lock(mutex_);
    std::vector<std::pair<std::string, FoundEra>> all;
    for (const auto& [source, upstream] : all_) {
        if (const auto era = upstream->proven_era()) all.emplace_back(source, *era);
    }
    return all;
}

Result<std::vector<HeldBack>> Upstreams::diff(std::string_view source) const {
    const auto upstream = find(source);
    if (!upstream)
        return fail(ErrorCode::kNotFound, fmt::format("no MCP server has the name {}", source));
    return upstream->held();
}

void Upstreams::try_again(std::string_view source) {
    if (const auto upstream = find(source)) uses_.home.post([upstream] { upstream->try_again(); });
}

void Upstreams::read_pins_again() {
    const std::scoped_lock lock(mutex_);
    for (const auto& [source, upstream] : all_)
        uses_.home.post([one = upstream] { one->read_pins_again(); });
}

Task<Result<std::vector<std::string>>> Upstreams::accept(std::string source,
                                                         std::vector<SeenEntry> entries) {
    const auto upstream = find(source);
    if (!upstream)
        co_return fail(ErrorCode::kNotFound, fmt::format("no MCP server has the name {}", source));
    co_return co_await run_on(upstream->home(), upstream->accept(std::move(entries)));
}

}  // namespace crab::mcp
