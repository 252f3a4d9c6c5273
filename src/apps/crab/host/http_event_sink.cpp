#include "apps/crab/host/http_event_sink.hpp"

#include "json/value.hpp"

#include <fmt/format.h>

namespace crab::app {
namespace {

constexpr std::chrono::seconds kPatience{10};
constexpr net::HttpClientOptions kOptions{.max_connections = 1, .max_waiting = 16, .max_body_bytes = 64 * 1024};

/// What a status means to whoever repeats; 404 and 405 say that this is no gateway, not that it does not want the event.
ErrorCode code_of(int status) {
    switch (status) {
        case 400: return ErrorCode::kInvalidArgs;
        case 401: return ErrorCode::kUnauthenticated;
        case 403: return ErrorCode::kForbidden;
        case 409: return ErrorCode::kConflict;
        case 413: return ErrorCode::kOversize;
        case 429: return ErrorCode::kRateLimited;
        case 504: return ErrorCode::kTimeout;
        default: return ErrorCode::kUnavailable;
    }
}

std::string message_of(const net::HttpReply& reply) {
    const auto body = json::Value::parse(reply.body);
    const json::Value* const error = body ? body->find("error") : nullptr;
    return error != nullptr && error->as_string() ? *error->as_string() : fmt::format("the gateway answered with HTTP {}", reply.status);
}

}  // namespace

HttpEventSink::HttpEventSink(net::EventLoop& loop, net::HttpAuthority authority) : loop_(loop), client_(loop, std::move(authority), kOptions) {}

HttpEventSink::~HttpEventSink() { client_.close(); }

Result<std::unique_ptr<HttpEventSink>> HttpEventSink::over(net::EventLoop& loop, const std::filesystem::path& socket) {
    const auto address = net::to_socket_address(net::Endpoint::unix_socket(socket.string()));
    if (!address) return fail(address.error());
    net::HttpAuthority authority;
    authority.server.addresses = {*address};
    return std::make_unique<HttpEventSink>(loop, std::move(authority));
}

Task<Result<void>> HttpEventSink::publish(std::string envelope) {
    const net::HttpCall call{.method = "POST", .target = "/v1/events", .content_type = "application/json", .body = envelope, .headers = {}};
    const Deadline deadline = loop_.clock().steady_now() + kPatience;
    const auto reply = co_await client_.send(call, deadline);
    if (!reply) co_return fail(reply.error().error);
    if (reply->status == 202) co_return Result<void>();
    co_return fail(Error{.code = code_of(reply->status), .message = message_of(*reply), .details = {}, .retryable = {}, .retry_after = reply->retry_after()});
}

}  // namespace crab::app
