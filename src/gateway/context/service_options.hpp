#pragma once

#include "adapters/sw4rm/service_client.hpp"
#include "config/gateway_config.hpp"
#include "net/http/name_lookups.hpp"

namespace crab::gateway {

/// The client options for a configured gRPC server. `names` resolves it and must outlive the
/// client. Errors: kInvalidArgs for an invalid address, token file or certificate.
Result<sw4rm::ServiceClient::Options> service_options(const config::RemoteServiceOptions& service,
                                                      net::NameLookups& names);

}  // namespace crab::gateway
