#include "adapters/mcp/client/streamable_transport.hpp"

#include "adapters/mcp/client/coroutine_ends.hpp"
#include "adapters/mcp/wire/request_headers.hpp"
#include "base/doubling_delay.hpp"
#include "base/log.hpp"

#include <algorithm>

namespace crab::mcp {
namespace {

constexpr int kMostResumes = 5;
constexpr Milliseconds kRetry{1'000};  // where the stream names no other delay
constexpr Milliseconds kLeastRetry{100};
constexpr Milliseconds kMostRetry{60'000};
constexpr Milliseconds kDeleteTime{2'000};
constexpr Milliseconds kStreamTime{1'000};  // until the stream of a session has begun
constexpr std::size_t kMostSessionBytes = 1024;

bool fit_for_a_session(std::string_view id) {
    return !id.empty() && id.size() <= kMostSessionBytes &&
           std::ranges::all_of(id, [](char byte) { return byte > 0x20 && byte < 0x7f; });
}

Milliseconds retry_of(const EventStream& stream) {
    return std::clamp(stream.retry().value_or(kRetry), kLeastRetry, kMostRetry);
}

}  // namespace

StreamableTransport::StreamableTransport(UpstreamHttp::Services services, UpstreamOptions options,
                                         net::HttpUrl url)
    : http_(std::move(services), std::move(options), std::move(url)),
      tasks_(http_.loop().executor()) {}

net::OwnedHeaders StreamableTransport::headers() const {
    net::OwnedHeaders own{{"Accept", "application/json, text/event-stream"}};
    if (is_legacy() && !session_.empty()) own.emplace_back("Mcp-Session-Id", session_);
    if (is_legacy() && features_of(revision_).version_header)
        own.emplace_back(kVersionHeader, name_of(revision_));
    return own;
}

Task<void> StreamableTransport::run(UpstreamExchange& exchange, Deadline deadline) {
    UpstreamBody* reading = nullptr;
    UpstreamBody body(http_.options().max_reply, parts_for(exchange, reading));
    reading = &body;
    net::OwnedHeaders all = headers();
    all.insert(all.end(), exchange.headers.begin(), exchange.headers.end());
    UpstreamHttp::Request request{
        .method = "POST", .body = exchange.message, .headers = std::move(all)};
    const net::HttpResult answer = co_await http_.send(std::move(request), body, deadline);
    exchange.http_status = body.status();
    exchange.written = exchange.written || answer || answer.error().written;
    const bool cancelled = (co_await this_chain()).cancelled();
    // What opened the session names it.
    if (exchange.method == "initialize" && fit_for_a_session(body.header("mcp-session-id")))
        session_ = body.header("mcp-session-id");
    if (exchange.over() || cancelled) co_return;
    if (body.is_stream() && is_legacy() && !ended_ && !body.oversize() &&
        !body.stream()->last_id().empty()) {
        co_await resume(exchange, body, deadline);
        if (exchange.over()) co_return;
    }
    settle(exchange, body, answer, deadline);
}

UpstreamBody::OnPart StreamableTransport::parts_for(UpstreamExchange& exchange,
                                                    UpstreamBody*& body) {
    return [this, &exchange, &body](const StreamPart& part) {
        if (part.kind == StreamPart::Kind::kMessage) reader().on_message(part.data, &exchange);
        if (exchange.over()) body->finish();
        return true;
    };
}

void StreamableTransport::settle(UpstreamExchange& exchange, UpstreamBody& body,
                                 const net::HttpResult& answer, Deadline deadline) {
    if (body.oversize())
        return exchange.fail(
            {.code = ErrorCode::kOversize, .message = "the MCP server's answer is too large"});
    if (!answer && !(body.status() != 0 && !body.good())) {
        const Error& why = answer.error().error;
        const bool in_time = http_.loop().clock().steady_now() < deadline;
        if (why.code == ErrorCode::kTimeout && !in_time) {
            if (exchange.written) return;  // the deadline tells
            return exchange.fail(why);  // what was waited for before anything was sent
        }
        if (why.code != ErrorCode::kTimeout && why.code != ErrorCode::kCancelled)
            return exchange.fail(why);
        return exchange.fail(connection_lost(why.message));
    }
    if (!body.good()) return settle_refusal(exchange, body);
    if (body.is_stream())
        return exchange.fail(connection_lost("the MCP server ended its answer without a result"));
    const bool is_message = reader().on_message(body.text(), &exchange);
    if (!exchange.over())
        exchange.fail({.code = ErrorCode::kToolFailed,
                       .message = is_message ? "the MCP server answered something else"
                                             : "what the MCP server answered is not MCP"});
}

void StreamableTransport::settle_refusal(UpstreamExchange& exchange, const UpstreamBody& body) {
    HttpRefusal refusal = http_refusal(body, http_.loop().clock().system_now());
    exchange.refused_unrun = refusal.unrun;
    if (body.status() == 404 && is_legacy() && !session_.empty()) {
        exchange.fail(connection_lost("the MCP server has forgotten the session"));
        return end("the MCP server has forgotten the session");
    }
    const bool own_meaning = body.status() == 401 || body.status() == 403 || body.status() == 429 ||
                             body.status() == 503;
    if (!own_meaning) reader().on_message(body.text(), &exchange);
    if (!exchange.over()) exchange.fail(std::move(refusal.error));
}

/// The rest of a stream that broke, by GET after the id of its last event.
Task<void> StreamableTransport::resume(UpstreamExchange& exchange, const UpstreamBody& first,
                                       Deadline deadline) {
    std::string last_id = first.stream()->last_id();
    Milliseconds delay = retry_of(*first.stream());
    for (int i = 0; i < kMostResumes && !ended_; ++i) {
        co_await pause(delay, deadline);
        if ((co_await this_chain()).cancelled() || http_.loop().clock().steady_now() >= deadline ||
            ended_)
            co_return;
        UpstreamBody* reading = nullptr;
        UpstreamBody body(http_.options().max_reply, parts_for(exchange, reading));
        reading = &body;
        net::OwnedHeaders all = headers();
        all.emplace_back("Last-Event-ID", last_id);
        UpstreamHttp::Request request{.method = "GET", .headers = std::move(all)};
        co_await http_.send(std::move(request), body, deadline);
        if (exchange.over()) co_return;
        if (body.status() != 0 && !body.is_stream()) co_return;
        if (!body.is_stream()) continue;
        if (!body.stream()->last_id().empty()) last_id = body.stream()->last_id();
        if (body.stream()->retry()) delay = retry_of(*body.stream());
    }
}

void StreamableTransport::send(std::string message) {
    if (ended_ || tasks_.size() >= UpstreamHttp::kMostPosts) return;
    tasks_.spawn(
        "post to an MCP server",
        deliver(std::move(message), http_.loop().clock().steady_now() + UpstreamHttp::kPostTime));
}

Task<void> StreamableTransport::deliver(std::string message, Deadline deadline) {
    UpstreamBody body(http_.options().max_reply, [](const StreamPart&) { return false; });
    UpstreamHttp::Request request{.method = "POST", .body = message, .headers = headers()};
    const net::HttpResult answer = co_await http_.send(std::move(request), body, deadline);
    if (!answer || !body.good())
        log::debug("an MCP server did not take a message",
                   {{"source", http_.options().source}, {"status", body.status()}});
}

void StreamableTransport::opened(Revision revision) {
    revision_ = revision;
    is_opened_ = true;
}

Task<void> StreamableTransport::ready(bool questions) {
    if (!is_legacy()) co_return;
    tasks_.spawn("stream of an MCP server", listen());
    if (!questions || stream_known_) co_return;
    Waiter begun(http_.loop().timers());
    opening_ = &begun;
    co_await begun.wait(http_.loop().clock().steady_now() + kStreamTime);
    opening_ = nullptr;
}

void StreamableTransport::note_stream() {
    if (std::exchange(stream_known_, true) || opening_ == nullptr) return;
    opening_->wake();
}

/// What belongs to no request, for as long as the session lasts.
Task<void> StreamableTransport::listen() {
    std::string last_id;
    DoublingDelay delay{.first = kRetry, .longest = kMostRetry};
    std::uint64_t failures = 0;  // in a row
    for (bool ever = false;;) {
        const auto on_part = [this](const StreamPart& part) {
            if (part.kind == StreamPart::Kind::kMessage) reader().on_message(part.data, nullptr);
            return !ended_;
        };
        UpstreamBody body(http_.options().max_reply, on_part, [this] { note_stream(); });
        net::OwnedHeaders all = headers();
        all.front().second = "text/event-stream";
        if (!last_id.empty()) all.emplace_back("Last-Event-ID", last_id);
        UpstreamHttp::Request request{.method = "GET", .headers = std::move(all)};
        co_await http_.send(std::move(request), body, kNoDeadline);
        note_stream();
        if (ended_ || (co_await this_chain()).cancelled()) co_return;
        if (body.status() == 404 && ever && !session_.empty())
            co_return end("the MCP server has forgotten the session");
        if (body.good() && !body.is_stream()) co_return;
        if (body.status() >= 300 && body.status() < 500 && body.status() != 429) co_return;
        if (body.is_stream()) {
            ever = true;
            if (!body.stream()->last_id().empty()) last_id = body.stream()->last_id();
            delay.first = retry_of(*body.stream());
        }
        failures = body.is_stream() ? 1 : failures + 1;
        co_await pause(delay.after(failures), kNoDeadline);
    }
}

Task<void> StreamableTransport::pause(Milliseconds time, Deadline deadline) {
    Waiter waiter(http_.loop().timers());
    co_await waiter.wait(std::min(deadline, http_.loop().clock().steady_now() + time));
}

void StreamableTransport::end(std::string why) {
    if (std::exchange(ended_, true)) return;
    reader().on_end(connection_lost(std::move(why)));
}

Task<void> StreamableTransport::close() {
    const bool forgotten = std::exchange(ended_, true);
    http_.abort();
    tasks_.cancel();
    if (is_legacy() && !session_.empty() && !forgotten) {
        UpstreamBody body(http_.options().max_reply, [](const StreamPart&) { return false; });
        UpstreamHttp::Request request{.method = "DELETE", .headers = headers()};
        co_await http_.send(std::move(request), body,
                            http_.loop().clock().steady_now() + kDeleteTime);
    }
    co_await join(tasks_);
    http_.abort();
    http_.close();
}

}  // namespace crab::mcp
