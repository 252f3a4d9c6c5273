#include "gateway/hosts/grpc_providers.hpp"

#include "core/audit/metrics.hpp"
#include "gateway/context/service_options.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace crab::gateway {
namespace {

core::PolicyCeilings ceilings_of(const config::RemoteProviderOptions::Ceilings& given) {
    core::PolicyCeilings ceilings;
    const auto set = [](Milliseconds& out, const std::optional<Milliseconds>& value) {
        out = value.value_or(out);
    };
    set(ceilings.timeout, given.timeout);
    set(ceilings.budget_cpu, given.cpu);
    set(ceilings.budget_wall, given.wall);
    if (given.max_retries) ceilings.max_retries = static_cast<std::uint32_t>(*given.max_retries);
    ceilings.network = core::find_network(given.network);
    ceilings.privilege = core::find_privilege(given.privilege);
    return ceilings;
}

sw4rm::ProviderHost::Labels labels_of(config::LabelRule rule) {
    switch (rule) {
        case config::LabelRule::kEnforce: return sw4rm::ProviderHost::Labels::kEnforce;
        case config::LabelRule::kAdvisory: return sw4rm::ProviderHost::Labels::kAdvisory;
        case config::LabelRule::kTrust: return sw4rm::ProviderHost::Labels::kTrust;
    }
    return sw4rm::ProviderHost::Labels::kEnforce;
}

Result<sw4rm::ProviderDirectory::Provider> make_provider(const config::ProviderOptions& options,
                                                         std::size_t result_bytes,
                                                         net::NameLookups& names) {
    sw4rm::ProviderDirectory::Provider provider;
    auto service = service_options(options.remote.service, names);
    if (!service) return fail(std::move(service.error()));
    provider.host.id = options.id;
    provider.host.provider_id = options.remote.provider_id;
    provider.host.labels = labels_of(options.labels);
    provider.host.client = {.service = std::move(*service), .most_kept = result_bytes};
    provider.principal = options.remote.principal;
    provider.ceilings = ceilings_of(options.remote.ceilings);
    for (const std::string& text : options.remote.descriptors_json) {
        const auto item = json::Value::parse(text);
        if (!item) return fail(item.error());
        provider.declared.push_back(sw4rm::declared_tool(*item));
    }
    return provider;
}

}  // namespace

Result<void> GrpcProviders::start() {
    const config::GatewayConfig& config = context_.config;
    std::vector<sw4rm::ProviderDirectory::Provider> providers;
    for (const config::ProviderOptions& options : config.providers) {
        if (options.kind != config::ProviderKind::kGrpc) continue;
        auto made = make_provider(options, config.limits.result_bytes, workers_.names());
        if (!made)
            return fail(made.error().code,
                        fmt::format("providers: {}: {}", options.id, made.error().message));
        providers.push_back(std::move(*made));
    }
    auto directory = sw4rm::ProviderDirectory::make({.registry = context_.registry,
                                                     .schemas = session_workers_.schemas(),
                                                     .home = loops_.first(),
                                                     .loops = loops_.all()},
                                                    std::move(providers));
    if (!directory) return fail(std::move(directory.error()));
    directory_ = std::move(*directory);
    return {};
}

void GrpcProviders::add_metrics(core::MetricsPage& page) {
    page.add([this](std::string& out) {
        const auto providers = directory_->status();
        const auto answering =
            std::ranges::count_if(providers, &sw4rm::ProviderDirectory::Status::answers);
        core::append_metric(out, "crab_grpc_providers", "gauge",
                            "Providers of kind grpc that are configured.",
                            static_cast<double>(providers.size()));
        core::append_metric(out, "crab_grpc_providers_answering", "gauge",
                            "Providers of kind grpc that answer now.",
                            static_cast<double>(answering));
    });
}

void GrpcProviders::stop(Deadline) {
    loops_.run();
    directory_->stop();
}

}  // namespace crab::gateway
