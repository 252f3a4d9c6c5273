#include "adapters/mcp/upstreams/upstreams.hpp"

#include "base/task/run_on.hpp"
#include "net/loop/finish_on.hpp"

#include <utility>

#include <fmt/format.h>

namespace crab::mcp {
namespace {

// connections of devices count up from 1, tool hosts from 2^63
constexpr std::uint64_t kFirstOwner = std::uint64_t{3} << 62;
constexpr int kOwnersOfAPlace = 32;  // bits

}  // namespace

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
    uses_.home.post(
        [this, made] { tasks_.spawn("MCP server " + made->source(), Upstream::live(made), made); });
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

Result<std::vector<HeldBack>> Upstreams::diff(std::string_view source) const {
    const auto upstream = find(source);
    if (!upstream)
        return fail(ErrorCode::kNotFound, fmt::format("no MCP server has the name {}", source));
    return upstream->held();
}

void Upstreams::try_again(std::string_view source) {
    if (const auto upstream = find(source)) uses_.home.post([upstream] { upstream->try_again(); });
}

Task<Result<std::vector<std::string>>> Upstreams::accept(std::string source,
                                                         std::vector<SeenEntry> entries) {
    const auto upstream = find(source);
    if (!upstream)
        co_return fail(ErrorCode::kNotFound, fmt::format("no MCP server has the name {}", source));
    co_return co_await run_on(upstream->home(), upstream->accept(std::move(entries)));
}

}  // namespace crab::mcp
