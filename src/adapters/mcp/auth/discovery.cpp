#include "adapters/mcp/auth/discovery.hpp"

#include <utility>
#include "adapters/mcp/auth/url_bounds.hpp"

#include <fmt/format.h>

namespace crab::mcp {
namespace {

/// The text at `url`; empty when there is no document.
Task<Result<std::string>> get(Fetcher& fetcher, std::string url, FetchReach reach) {
    FetchRequest request{.url = std::move(url), .reach = reach};
    auto reply = co_await fetcher.fetch(std::move(request));
    if (!reply) co_return fail(std::move(reply.error()));
    if (reply->status >= 500)
        co_return fail(
            ErrorCode::kUnavailable,
            fmt::format("the server's metadata could not be read: HTTP {}", reply->status));
    if (!reply->ok()) co_return std::string();
    co_return std::move(reply->body);
}

}  // namespace

FetchReach reach_of(std::string_view url) {
    const auto parsed = net::HttpUrl::parse(url);
    return parsed && names_loopback(*parsed) ? FetchReach::kLoopbackToo : FetchReach::kPublic;
}

Task<Result<ResourceMetadata>> find_resource(Fetcher& fetcher, std::string url, std::string named) {
    const FetchReach reach = reach_of(url);
    std::vector<std::string> places = resource_metadata_urls(url);
    if (!named.empty()) places = {std::move(named)};
    for (const std::string& place : places) {
        auto text = co_await get(fetcher, place, reach);
        if (!text) co_return fail(std::move(text.error()));
        if (!text->empty()) co_return read_resource_metadata(*text, url);
    }
    co_return fail(ErrorCode::kNotFound,
                   "the server does not say which authorization server it trusts");
}

Task<Result<ServerMetadata>> find_server(Fetcher& fetcher, std::string issuer, FetchReach reach) {
    for (const std::string& place : server_metadata_urls(issuer)) {
        auto text = co_await get(fetcher, place, reach);
        if (!text) co_return fail(std::move(text.error()));
        if (!text->empty()) co_return read_server_metadata(*text, issuer);
    }
    co_return fail(ErrorCode::kNotFound, "the authorization server has no metadata");
}

Task<Result<std::string>> fetch_keys(Fetcher& fetcher, std::string issuer, std::string jwks) {
    FetchReach reach = FetchReach::kConfigured;
    if (jwks.empty()) {
        auto server = co_await find_server(fetcher, issuer, FetchReach::kConfigured);
        if (!server) co_return fail(std::move(server.error()));
        const auto there = net::HttpUrl::parse(server->jwks_uri);
        const auto here = net::HttpUrl::parse(issuer);
        if (!there || !here)
            co_return fail(ErrorCode::kUnavailable, "the issuer's metadata names no keys");
        // beyond its own origin an issuer reaches no further than any server
        if (!there->same_origin(*here)) reach = reach_of(issuer);
        jwks = server->jwks_uri;
    }
    auto text = co_await get(fetcher, std::move(jwks), reach);
    if (text && text->empty())
        co_return fail(ErrorCode::kUnavailable, "the issuer's keys are not where they should be");
    co_return text;
}

}  // namespace crab::mcp
