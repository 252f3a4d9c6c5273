#include "adapters/mcp/client/upstream_http.hpp"

#include <limits>

#include <fmt/format.h>

namespace crab::mcp {
namespace {

constexpr std::size_t kMostOfARefusal = std::size_t{64} << 10;
constexpr Milliseconds kSilence = std::chrono::hours(1);  // deadlines are shorter
constexpr Milliseconds kLastBytes{200};

net::HttpAuthority authority_of(const UpstreamHttp::Services& services,
                                const UpstreamOptions& options, const net::HttpUrl& url) {
    net::HttpAuthority authority;
    const auto& secure = options.tls ? options.tls : services.tls;
    authority.host = url.host_field();
    const net::Endpoint endpoint = net::Endpoint::tcp(url.host, url.port);
    authority.find_server = [&names = services.names, endpoint,
                             tls = url.tls ? secure : nullptr](Deadline deadline) {
        return names.find_target(endpoint, tls, deadline);
    };
    return authority;
}

bool wants_another_credential(const UpstreamBody& body) {
    return body.status() == 401 ||
           (body.status() == 403 && body.header("www-authenticate").contains("insufficient_scope"));
}

}  // namespace

std::string UpstreamBody::header(std::string_view name) const {
    return std::string(head_.find(name).value_or(""));
}

void UpstreamBody::forget() {
    head_ = {};
    status_ = 0;
    text_.clear();
    stream_.reset();
}

bool UpstreamBody::takes(const net::HttpReply& head) {
    head_ = {.status = head.status, .headers = head.headers, .body = {}};
    status_ = head.status;
    text_.clear();
    stream_.reset();
    if (status_ == 200 && header("content-type").starts_with("text/event-stream"))
        stream_.emplace(max_message_);
    if (on_head_) on_head_();
    return true;
}

bool UpstreamBody::on_body(std::string_view piece) {
    if (!stream_) {
        const std::size_t most = good() ? max_message_ : kMostOfARefusal;
        if (piece.size() > most - text_.size()) {
            oversize_ = good();
            return false;
        }
        text_ += piece;
        return true;
    }
    for (;;) {
        const StreamPart part = stream_->next(piece);
        if (part.kind == StreamPart::Kind::kNeedMore) return true;
        oversize_ = part.kind == StreamPart::Kind::kOversize;
        if (oversize_ || !on_part_(part)) return false;
    }
}

Milliseconds UpstreamBody::patience() const { return finished_ ? kLastBytes : kSilence; }

UpstreamHttp::UpstreamHttp(Services services, UpstreamOptions options, net::HttpUrl url)
    : services_(std::move(services)),
      options_(std::move(options)),
      url_(std::move(url)),
      target_(url_.target()),
      client_(services_.loop, authority_of(services_, options_, url_)) {}

Task<net::HttpResult> UpstreamHttp::send(Request request, UpstreamBody& body, Deadline deadline) {
    std::optional<RefusedCredential> refused;
    for (int attempt = 0;; ++attempt) {
        std::string sent;
        net::OwnedHeaders owned = options_.headers;
        owned.insert(owned.end(), request.headers.begin(), request.headers.end());
        if (services_.authorizer != nullptr) {
            auto given = co_await services_.authorizer->authorization(options_, refused, deadline);
            if (!given) {
                body.forget();  // what a person has to do says more than a 401
                co_return std::unexpected(net::HttpFailure{.error = std::move(given.error())});
            }
            sent = std::move(*given).value_or("");
            if (!sent.empty()) owned.emplace_back("Authorization", sent);
        }
        std::vector<net::HttpHeader> headers;
        for (const auto& [name, value] : owned) headers.push_back({name, value});
        const net::HttpCall call{
            .method = request.method,
            .target = request.target.empty() ? target_ : request.target,
            .content_type = request.body.empty() ? "" : "application/json",
            .body = request.body,
            .headers = headers,
            .sink = &body,
            .max_body_bytes = std::numeric_limits<std::int64_t>::max()};  // the sink has a limit
        auto answer = co_await client_.send(call, deadline);
        if (!answer || attempt > 0 || services_.authorizer == nullptr ||
            !wants_another_credential(body))
            co_return answer;
        refused.emplace(body.header("www-authenticate"), std::move(sent));
        if (refused->challenge.empty()) refused->challenge = "Bearer";
    }
}

HttpRefusal http_refusal(const UpstreamBody& body, SystemTime now) {
    const int status = body.status();
    const auto error = [&](ErrorCode code, std::string message) {
        return Error{.code = code,
                     .message = std::move(message),
                     .details = {},
                     .retryable = {},
                     .retry_after = body.retry_after(now)};
    };
    if (status == 401 || status == 403)
        return {.error = error(ErrorCode::kAuthRequired,
                               fmt::format("the MCP server wants another credential (HTTP {}); "
                                           "look at its `auth` in the configuration",
                                           status))};
    if (status == 429)
        return {.error = error(ErrorCode::kRateLimited, "the MCP server has too many requests")};
    // a proxy says 503, too, when the server behind it has died over a request
    if (status == 503)
        return {.error = error(ErrorCode::kUnavailable, "the MCP server is not available"),
                .unrun = body.retry_after(now).has_value()};
    if (status >= 500)
        return {.error = error(ErrorCode::kUnavailable,
                               fmt::format("the MCP server failed with HTTP {}", status)),
                .unrun = false};
    if (status >= 300 && status < 400)
        return {.error = error(ErrorCode::kToolFailed,
                               fmt::format("the MCP server redirects (HTTP {}), which is refused; "
                                           "configure the URL it redirects to",
                                           status))};
    return {.error = error(ErrorCode::kToolFailed,
                           fmt::format("the MCP server refused the request with HTTP {}", status))};
}

}  // namespace crab::mcp
