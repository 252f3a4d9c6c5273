#include "hosting/http_event_sink.hpp"

#include "json/value.hpp"
#include "net/http/status_code.hpp"

#include <fmt/format.h>

namespace crab::hosting {
namespace {

constexpr std::chrono::seconds kPostTime{10};
constexpr net::HttpClientOptions kOptions{
    .max_connections = 1, .max_waiting = 16, .max_body_bytes = 64 * 1024};

/// What a status means to whoever repeats; 404 and 405 say that this is not a gateway, not that it
/// does not want the event.
ErrorCode code_of(int status) {
    if (status == 404) return ErrorCode::kUnavailable;
    return net::code_of_status(status).value_or(ErrorCode::kUnavailable);
}

std::string message_of(const net::HttpReply& reply) {
    const auto body = json::Value::parse(reply.body);
    const json::Value* const error = body ? body->find("error") : nullptr;
    return error != nullptr && error->as_string()
               ? *error->as_string()
               : fmt::format("the gateway answered with HTTP {}", reply.status);
}

}  // namespace

HttpEventSink::~HttpEventSink() {
    if (client_) client_->close();
}

void HttpEventSink::connect_to(net::HttpAuthority authority) {
    client_ = std::make_unique<net::HttpClient>(loop_, std::move(authority), kOptions);
}

Task<Result<void>> HttpEventSink::publish(std::string envelope) {
    if (!client_) co_return fail(ErrorCode::kUnavailable, "there is no gateway to publish at");
    const net::HttpCall call{.method = "POST",
                             .target = "/v1/events",
                             .content_type = "application/json",
                             .body = envelope,
                             .headers = {}};
    const Deadline deadline = loop_.clock().steady_now() + kPostTime;
    const auto reply = co_await client_->send(call, deadline);
    if (!reply) co_return fail(reply.error().error);
    if (reply->status == 202) co_return Result<void>();
    co_return fail(Error{.code = code_of(reply->status),
                         .message = message_of(*reply),
                         .details = {},
                         .retryable = {},
                         .retry_after = reply->retry_after(loop_.clock().system_now())});
}

}  // namespace crab::hosting
