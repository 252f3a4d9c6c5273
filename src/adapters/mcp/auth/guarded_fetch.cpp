#include "adapters/mcp/auth/guarded_fetch.hpp"

#include "adapters/mcp/auth/url_bounds.hpp"
#include "net/loop/ip_address.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include <sys/socket.h>

#include <fmt/format.h>

namespace crab::mcp {
namespace {

bool may_dial(const net::SocketAddress& socket_address, const net::HttpUrl& url, FetchReach reach) {
    if (socket_address.family() != AF_INET && socket_address.family() != AF_INET6) return false;
    const net::IpAddress address = net::ip_address_of(socket_address);
    // A name of the internet that resolves to loopback must not reach this machine, so that only
    // hosts which say loopback count as it.
    if (net::is_loopback(address)) {
        if (reach == FetchReach::kConfigured) return true;
        return reach == FetchReach::kLoopbackToo && names_loopback(url);
    }
    if (!url.tls) return false;
    return reach == FetchReach::kConfigured || net::is_public(address);
}

}  // namespace

Result<void> check_reach(const net::HttpUrl& url, FetchReach reach) {
    if (url.tls) return {};
    if (reach != FetchReach::kPublic && names_loopback(url)) return {};
    return fail(ErrorCode::kForbidden,
                fmt::format("{} is not https; only https servers are asked", url.origin()));
}

Task<Result<net::DialTarget>> GuardedFetch::find_server(net::HttpUrl url, FetchReach reach,
                                                        Deadline deadline) {
    net::Endpoint endpoint = net::Endpoint::tcp(url.host, url.port);
    auto target =
        co_await names_.find_target(std::move(endpoint), url.tls ? tls_ : nullptr, deadline);
    if (!target) co_return fail(std::move(target.error()));
    std::erase_if(target->addresses, [&](const net::SocketAddress& address) {
        return !may_dial(address, url, reach);
    });
    if (target->addresses.empty()) {
        co_return fail(
            ErrorCode::kForbidden,
            fmt::format("{} has no public address; servers in private networks are not asked",
                        url.origin()));
    }
    // errors name the host that was asked for, not an address of the network
    target->text = url.origin();
    co_return target;
}

Task<Result<FetchReply>> GuardedFetch::fetch(FetchRequest request) {
    const auto url = net::HttpUrl::parse(request.url);
    if (!url) co_return fail(ErrorCode::kForbidden, "this is no URL that can be asked");
    if (auto good = check_reach(*url, request.reach); !good) co_return fail(good.error());
    net::HttpAuthority authority;
    authority.host = url->host_field();
    authority.find_server = [this, url = *url, reach = request.reach](Deadline deadline) {
        return find_server(url, reach, deadline);
    };
    net::HttpClientOptions options;
    options.max_connections = 1;
    options.max_body_bytes = kMostBytes;
    net::HttpClient client(loop_, std::move(authority), options);

    std::vector<net::HttpHeader> headers;
    for (const auto& [name, value] : request.headers) headers.push_back({name, value});
    headers.push_back({"Accept", "application/json"});
    const std::string target = url->target();
    net::HttpCall call;
    call.method = request.content_type.empty() ? "GET" : "POST";
    call.target = target;
    call.content_type = request.content_type;
    call.body = request.body;
    call.headers = headers;
    const Deadline deadline = std::min(request.deadline, loop_.clock().steady_now() + kPatience);
    net::HttpResult reply = co_await client.send(call, deadline);
    client.close();
    if (!reply) co_return fail(std::move(reply.error().error));
    if (reply->status >= 300 && reply->status < 400) {
        co_return fail(
            ErrorCode::kForbidden,
            fmt::format("{} answers with a redirect, which is not followed", url->origin()));
    }
    co_return FetchReply{.status = reply->status, .body = std::move(reply->body)};
}

}  // namespace crab::mcp
