#pragma once

#include "base/result.hpp"
#include "json/writer.hpp"
#include "net/http/http_request.hpp"
#include "trust/lease.hpp"

#include <string>
#include <string_view>

namespace crab::rtp {

// The bodies of `/v1/leases`, and how a request names a lease. Source: docs/protocols/rtp.md,
// section 8.

/// The body of `POST /v1/leases`. Errors: kInvalidArgs naming the member, also for unknown members.
Result<trust::LeaseRequest> parse_lease_request(std::string_view body);
void append_lease(json::Writer& writer, const trust::Lease& lease);
/// The lease id in the header `Crab-Lease`, else in the query parameter `lease`; empty: none.
std::string named_lease(const net::HttpRequest& request);

}  // namespace crab::rtp
