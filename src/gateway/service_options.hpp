#pragma once

#include "adapters/sw4rm/service_client.hpp"
#include "config/gateway_config.hpp"
#include "net/http/name_lookups.hpp"

namespace crab::gateway {

/// How a gRPC server that the configuration names is reached. `names` finds it and outlives the
/// client. Errors: kInvalidArgs for an address, a token file or a certificate that cannot be used.
Result<sw4rm::ServiceClient::Options> service_options(const config::RemoteServiceOptions& service,
                                                      net::NameLookups& names);

}  // namespace crab::gateway
