#include "adapters/sw4rm/provider_directory.hpp"

#include "base/log.hpp"

#include <algorithm>
#include <future>
#include <mutex>
#include <utility>

#include <fmt/format.h>

namespace crab::sw4rm {
namespace {

constexpr std::chrono::seconds kAtMostEvery{1};                                              // lists asked for because a tool was unknown
constexpr std::uint64_t kFirstOwner = (std::uint64_t{1} << 63) + (std::uint64_t{1} << 62);   // tool hosts count from 2^63

}  // namespace

/// One provider and what is known of it. `mutex_` guards the status; all else is used on the directory's home loop, or is constant.
class ProviderDirectory::Watched : public RemoteWaiter {
public:
    Watched(Provider options, const Services& services, ConnectionId id)
        : RemoteWaiter(services.home.executor(), services.home.timers()), host(std::make_shared<ProviderHost>(std::move(options.host), services.loops)), owner(id),
          principal(std::move(options.principal)), ceilings(options.ceilings), is_declared(!options.declared.empty()) {}

    const std::shared_ptr<ProviderHost> host;
    const ConnectionId owner;
    const std::string principal;
    const core::PolicyCeilings ceilings;
    const bool is_declared;
    std::optional<std::string> list;   ///< the last one, as it came
    SteadyTime asked{};                ///< the last time

    void set_status(bool answers, std::optional<std::size_t> tools, std::string problem) {
        const std::scoped_lock lock(mutex_);
        status_.answers = answers;
        if (tools) status_.tools = *tools;
        status_.problem = std::move(problem);
    }
    Status status() const {
        const std::scoped_lock lock(mutex_);
        Status copy = status_;
        copy.id = host->id();
        copy.answers = copy.answers && !host->breaker().is_open();
        return copy;
    }
    std::size_t tools() const { return status().tools; }

private:
    mutable std::mutex mutex_;
    Status status_;
};

ProviderDirectory::ProviderDirectory(Services services, Times times) : services_(std::move(services)), times_(times), tasks_(services_.home.executor()) {}

Result<std::unique_ptr<ProviderDirectory>> ProviderDirectory::make(Services services, std::vector<Provider> providers, Times times) {
    std::unique_ptr<ProviderDirectory> directory(new ProviderDirectory(std::move(services), times));
    for (Provider& provider : providers) {
        const std::vector<OfferedTool> declared = provider.declared;
        const ConnectionId owner{kFirstOwner + directory->providers_.size()};
        const auto watched = std::make_shared<Watched>(std::move(provider), directory->services_, owner);
        watched->host->on_unknown_tool([weak = std::weak_ptr<Watched>(watched)] {
            if (const auto known = weak.lock()) known->wake();
        });
        directory->providers_.push_back(watched);
        if (declared.empty()) continue;
        const ProviderTools made = make_provider_tools(declared, watched->ceilings);
        if (!made.dropped.empty()) {
            const ProviderTools::Dropped& first = made.dropped.front();
            return fail(ErrorCode::kInvalidArgs, fmt::format("providers: {}: tool {}: {}", watched->host->id(), first.name, first.reason));
        }
        for (const auto& tool : made.tools) directory->services_.registry.reserve(tool->spec.name);
        directory->offer(*watched, made);
    }
    return directory;
}

ProviderDirectory::~ProviderDirectory() {
    for (const auto& provider : providers_) services_.registry.remove_owner(provider->owner);
}

void ProviderDirectory::start() {
    services_.home.post([this] {
        for (const auto& provider : providers_) {
            if (!provider->is_declared) tasks_.spawn("tools of provider " + provider->host->id(), watch(provider));
        }
    });
}

void ProviderDirectory::stop() {
    std::promise<void> watching_ended;
    services_.home.post([&] { tasks_.stop([&] { watching_ended.set_value(); }); });
    watching_ended.get_future().wait();
    for (const auto& provider : providers_) {
        for (net::EventLoop* loop : services_.loops) {
            std::promise<void> ended;
            loop->post([&] { provider->host->stop(*loop, [&] { ended.set_value(); }); });
            ended.get_future().wait();
        }
    }
}

std::vector<ProviderDirectory::Status> ProviderDirectory::status() const {
    std::vector<Status> all;
    for (const auto& provider : providers_) all.push_back(provider->status());
    return all;
}

Task<void> ProviderDirectory::watch(std::shared_ptr<Watched> provider) {
    const Clock& clock = services_.home.clock();
    core::ListRhythm rhythm(times_, clock.steady_now());
    const std::string& id = provider->host->id();
    for (;;) {
        provider->asked = clock.steady_now();
        const Result<void> refreshed = co_await refresh(*provider);
        if ((co_await this_chain()).cancelled()) co_return;
        const SteadyTime now = clock.steady_now();
        const core::ListRhythm::Next next = refreshed ? rhythm.on_answer(now) : rhythm.on_silence(now, provider->tools() > 0);
        if (refreshed && next.changed) log::info("provider answers again", {{"provider", id}});
        if (!refreshed && next.changed) log::warn("provider does not answer", {{"provider", id}, {"reason", refreshed.error().message}});
        if (!refreshed) provider->set_status(false, std::nullopt, refreshed.error().message);
        if (next.withdraw) {
            log::warn("tools of a silent provider are withdrawn", {{"provider", id}});
            provider->list.reset();
            services_.registry.remove_owner(provider->owner);
            provider->set_status(false, 0, refreshed.error().message);
        }
        if (co_await provider->wait(next.ask) == WaitEnd::kWoken) {
            // A tool was unknown there, or it has registered; many calls may say so at once.
            Waiter moment(services_.home.timers());
            co_await moment.wait(provider->asked + kAtMostEvery);
        }
        if ((co_await this_chain()).cancelled()) co_return;
    }
}

// A provider without DescribeTools that answers so is alive, and keeps what it has registered.
Task<Result<void>> ProviderDirectory::refresh(Watched& provider) {
    auto answer = co_await provider.host->fetch_tools(services_.home.clock().steady_now() + times_.answer_within);
    if (!answer) co_return fail(std::move(answer.error()));
    if (!*answer || *answer == provider.list) {
        provider.set_status(true, std::nullopt, {});
        co_return Result<void>();
    }
    const auto body = std::make_shared<const std::string>(std::move(**answer));
    auto read = [body, ceilings = provider.ceilings]() -> Result<ProviderTools> {
        const auto descriptors = parse_descriptors(*body);
        if (!descriptors) return fail(ErrorCode::kInternal, "the answer of DescribeTools is no DescribeToolsResponse");
        std::vector<OfferedTool> offered;
        for (const ToolDescriptor& descriptor : *descriptors) offered.push_back(offered_tool(descriptor));
        return make_provider_tools(offered, ceilings);
    };
    auto made = co_await services_.pool.run(std::move(read));
    if (!made) co_return fail(std::move(made.error()));
    offer(provider, *made);
    provider.list = *body;
    co_return Result<void>();
}

void ProviderDirectory::offer(Watched& provider, const ProviderTools& made) {
    const std::string& id = provider.host->id();
    std::vector<core::ToolRef> tools;
    for (const auto& tool : made.tools) {
        tool->unique_name_only = !provider.is_declared && services_.registry.is_reserved(tool->spec.name);
        tool->set_source({.kind = core::SourceKind::kProvider, .name = id, .owner = provider.principal, .connection = {}});
        tool->host = provider.host;
        tools.push_back(tool);
    }
    for (const ProviderTools::Dropped& dropped : made.dropped) {
        log::warn("a provider's tool is left out", {{"provider", id}, {"tool", dropped.name}, {"reason", dropped.reason}});
    }
    services_.registry.replace(provider.owner, tools);
    provider.set_status(true, tools.size(), {});
    log::info("tools of a provider", {{"provider", id}, {"tools", tools.size()}});
}

Task<Result<void>> ProviderDirectory::register_tools(std::string principal, std::string provider_id, std::vector<OfferedTool> tools) {
    const auto found = std::ranges::find(providers_, provider_id, [](const auto& provider) -> const std::string& { return provider->host->id(); });
    if (found == providers_.end()) co_return fail(ErrorCode::kNotFound, "unknown provider: no provider of that id is configured as grpc");
    const std::shared_ptr<Watched> provider = *found;
    if (provider->principal.empty() || provider->principal != principal) {
        co_return fail(ErrorCode::kForbidden, fmt::format("{} is not the principal of this provider", principal));
    }
    if (provider->is_declared) co_return fail(ErrorCode::kConflict, "the tools of this provider are declared in the configuration");
    for (const OfferedTool& tool : tools) {
        if (services_.registry.is_reserved(tool.name)) co_return fail(ErrorCode::kInvalidArgs, fmt::format("reserved name: {}", tool.name));
    }
    auto make = [tools = std::move(tools), ceilings = provider->ceilings] { return make_provider_tools(tools, ceilings); };
    const ProviderTools made = co_await services_.pool.run(std::move(make));
    if (!made.dropped.empty()) {
        co_return fail(ErrorCode::kInvalidArgs, fmt::format("tool {}: {}", made.dropped.front().name, made.dropped.front().reason));
    }
    offer(*provider, made);
    co_return Result<void>();
}

}  // namespace crab::sw4rm
