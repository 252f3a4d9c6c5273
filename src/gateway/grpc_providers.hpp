#pragma once

#include "adapters/sw4rm/provider_directory.hpp"
#include "config/gateway_config.hpp"
#include "net/http/name_lookups.hpp"

#include <memory>
#include <string>
#include <vector>

namespace crab::gateway {

/// The configured providers of kind grpc. Errors: kInvalidArgs that names the provider and what of
/// it cannot be used.
Result<std::unique_ptr<sw4rm::ProviderDirectory>> make_grpc_providers(
    const config::GatewayConfig& config, net::NameLookups& names,
    sw4rm::ProviderDirectory::Services services);

/// `crab_grpc_providers` and `crab_grpc_providers_answering`.
void append_provider_metrics(std::string& out,
                             const std::vector<sw4rm::ProviderDirectory::Status>& providers);

}  // namespace crab::gateway
