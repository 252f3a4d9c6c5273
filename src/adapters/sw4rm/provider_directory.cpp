#include "adapters/sw4rm/provider_directory.hpp"

#include "base/task/run_on.hpp"
#include "net/loop/finish_on.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace crab::sw4rm {
namespace {

// tool hosts count from 2^63
constexpr std::uint64_t kFirstOwner = (std::uint64_t{1} << 63) + (std::uint64_t{1} << 62);

}  // namespace

class ProviderDirectory::Watched final : public core::ToolListing {
public:
    Watched(Provider options, const Services& services, ConnectionId id)
        : ToolListing({services.home.executor(), services.home.timers(), services.home.clock(),
                       services.registry},
                      "provider",
                      {.kind = core::SourceKind::kProvider,
                       .name = options.host.id,
                       .owner = options.principal,
                       .connection = {}},
                      id),
          host(std::make_shared<ProviderHost>(std::move(options.host), services.loops)),
          principal(std::move(options.principal)),
          ceilings(options.ceilings),
          is_declared(!options.declared.empty()),
          schemas_(services.schemas) {}

    const std::shared_ptr<ProviderHost> host;
    const std::string principal;
    const core::PolicyCeilings ceilings;
    const bool is_declared;

    void offer(const core::ToolList& made) { ToolListing::offer(made, host, is_declared); }
    /// What the provider has registered, on the home loop.
    Task<Result<void>> offer_registered(core::ToolList made) {
        ++registrations_;
        offer(made);
        co_return Result<void>();
    }

private:
    Task<Result<void>> refresh(Deadline deadline) override;
    void forget() override { list_.reset(); }
    bool is_reachable() const override { return !host->breaker().is_open(); }

    FairPool& schemas_;
    std::optional<std::string> list_;  // the last one, as it came
    std::uint64_t registrations_ = 0;  // of tools by the provider itself
};

// A provider without DescribeTools that answers so is alive, and keeps what it has registered. So
// does one that registers while it is asked: its answer may be older than the registration.
Task<Result<void>> ProviderDirectory::Watched::refresh(Deadline deadline) {
    const std::uint64_t registered_before = registrations_;
    auto answer = co_await host->fetch_tools(deadline);
    if (!answer) co_return fail(std::move(answer.error()));
    if (!*answer || *answer == list_) {
        unchanged();
        co_return Result<void>();
    }
    const auto body = std::make_shared<const std::string>(std::move(**answer));
    auto read = [body, ceilings = ceilings]() -> Result<core::ToolList> {
        const auto descriptors = parse_descriptors(*body);
        if (!descriptors)
            return fail(ErrorCode::kInternal,
                        "the answer of DescribeTools is not a DescribeToolsResponse");
        std::vector<OfferedTool> offered;
        for (const ToolDescriptor& descriptor : *descriptors)
            offered.push_back(offered_tool(descriptor));
        return make_provider_tools(offered, ceilings);
    };
    const auto made = co_await schemas_.run("provider/" + name(), std::move(read));
    if (!made) co_return fail(made.error());
    list_ = *body;
    if (registrations_ == registered_before)
        offer(*made);
    else
        unchanged();
    co_return Result<void>();
}

ProviderDirectory::ProviderDirectory(Services services, Times times)
    : services_(std::move(services)), times_(times), tasks_(services_.home.executor()) {}

Result<std::unique_ptr<ProviderDirectory>> ProviderDirectory::make(Services services,
                                                                   std::vector<Provider> providers,
                                                                   Times times) {
    std::unique_ptr<ProviderDirectory> directory(new ProviderDirectory(std::move(services), times));
    for (Provider& provider : providers) {
        const std::vector<OfferedTool> declared = provider.declared;
        const ConnectionId owner{kFirstOwner + directory->providers_.size()};
        const auto watched =
            std::make_shared<Watched>(std::move(provider), directory->services_, owner);
        watched->host->on_unknown_tool([weak = std::weak_ptr<Watched>(watched)] {
            if (const auto known = weak.lock()) known->wake();
        });
        directory->providers_.push_back(watched);
        if (declared.empty()) continue;
        const core::ToolList made = make_provider_tools(declared, watched->ceilings);
        if (!made.dropped.empty()) {
            const core::ToolList::Dropped& first = made.dropped.front();
            return fail(ErrorCode::kInvalidArgs,
                        fmt::format("providers: {}: tool {}: {}", watched->name(), first.name,
                                    first.reason));
        }
        for (const auto& tool : made.tools) directory->services_.registry.reserve(tool->spec.name);
        watched->offer(made);
    }
    return directory;
}

ProviderDirectory::~ProviderDirectory() {
    for (const auto& provider : providers_) services_.registry.remove_owner(provider->owner());
}

void ProviderDirectory::start() {
    services_.home.post([this] {
        for (const auto& provider : providers_) {
            if (!provider->is_declared)
                tasks_.spawn("tools of provider " + provider->name(),
                             core::ToolListing::watch(provider, times_));
        }
    });
}

void ProviderDirectory::stop() {
    net::finish_on(services_.home,
                   [&](std::function<void()> done) { tasks_.stop(std::move(done)); });
    for (const auto& provider : providers_) {
        for (net::EventLoop* loop : services_.loops) {
            net::finish_on(*loop, [&](std::function<void()> done) {
                provider->host->stop(*loop, std::move(done));
            });
        }
    }
}

std::vector<ProviderDirectory::Status> ProviderDirectory::status() const {
    std::vector<Status> all;
    for (const auto& provider : providers_) all.push_back(provider->status());
    return all;
}

Task<Result<void>> ProviderDirectory::register_tools(std::string principal, std::string provider_id,
                                                     std::vector<OfferedTool> tools) {
    const auto found = std::ranges::find(
        providers_, provider_id,
        [](const auto& provider) -> const std::string& { return provider->name(); });
    if (found == providers_.end())
        co_return fail(ErrorCode::kNotFound,
                       "unknown provider: no provider of that id is configured as grpc");
    const std::shared_ptr<Watched> provider = *found;
    if (provider->principal.empty() || provider->principal != principal) {
        co_return fail(ErrorCode::kForbidden,
                       fmt::format("{} is not the principal of this provider", principal));
    }
    if (provider->is_declared)
        co_return fail(ErrorCode::kConflict,
                       "the tools of this provider are declared in the configuration");
    for (const OfferedTool& tool : tools) {
        if (services_.registry.is_reserved(tool.name))
            co_return fail(ErrorCode::kInvalidArgs, fmt::format("reserved name: {}", tool.name));
    }
    auto make = [tools = std::move(tools), ceilings = provider->ceilings] {
        return make_provider_tools(tools, ceilings);
    };
    const core::ToolList made =
        co_await services_.schemas.run("provider/" + provider_id, std::move(make));
    if (!made.dropped.empty()) {
        co_return fail(
            ErrorCode::kInvalidArgs,
            fmt::format("tool {}: {}", made.dropped.front().name, made.dropped.front().reason));
    }
    auto offered = provider->offer_registered(made);
    co_return co_await run_on(services_.home.executor(), std::move(offered));
}

}  // namespace crab::sw4rm
