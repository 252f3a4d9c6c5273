#include "push/sending/push_services.hpp"

#include "net/loop/ip_address.hpp"

#include <algorithm>
#include <utility>

namespace crab::push {
namespace {

constexpr std::size_t kMostEndpointBytes = 1024;

}  // namespace

bool PushServices::is_named(const net::HttpUrl& url) const {
    return std::ranges::any_of(
        named_, [&](const net::HttpUrl& service) { return service.same_origin(url); });
}

Result<net::HttpUrl> PushServices::check(std::string_view endpoint) const {
    if (endpoint.size() > kMostEndpointBytes)
        return fail(ErrorCode::kInvalidArgs, "the endpoint is too long");
    auto url = net::HttpUrl::parse(endpoint);
    if (!url) return fail(ErrorCode::kInvalidArgs, "the endpoint is no http or https URL");
    if (is_named(*url)) {
        if (url->tls || net::names_loopback(url->host)) return std::move(*url);
        return fail(ErrorCode::kForbidden, "a push service without TLS is on this machine only");
    }
    if (!url->tls) return fail(ErrorCode::kForbidden, "push services are asked over https only");
    const auto address = net::parse_ip_address(url->host);
    if (url->host == "localhost" || (address && !net::is_public(*address)))
        return fail(ErrorCode::kForbidden,
                    "push services at private addresses are asked only if `push.services` names "
                    "them");
    return std::move(*url);
}

}  // namespace crab::push
