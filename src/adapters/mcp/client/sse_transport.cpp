#include "adapters/mcp/client/sse_transport.hpp"

#include "adapters/mcp/client/coroutine_ends.hpp"
#include "base/log.hpp"
#include "base/scope_exit.hpp"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

namespace crab::mcp {
namespace {

constexpr Milliseconds kPostGrace{1'000};  // for a POST whose answer has come on the stream

}  // namespace

SseTransport::SseTransport(UpstreamHttp::Services services, UpstreamOptions options,
                           net::HttpUrl url)
    : http_(std::move(services), std::move(options), std::move(url)),
      begun_(http_.loop().timers()),
      tasks_(http_.loop().executor()) {}

Task<Result<void>> SseTransport::start(Deadline deadline) {
    tasks_.spawn("stream of an MCP server", read_stream());
    if (target_.empty() && !end_) co_await begun_.wait(deadline);
    if (end_) co_return fail(*end_);
    if (target_.empty())
        co_return fail(ErrorCode::kTimeout,
                       "the MCP server did not begin its stream before the deadline");
    co_return Result<void>();
}

Task<void> SseTransport::read_stream() {
    UpstreamBody body(http_.options().max_reply,
                      [this](const StreamPart& part) { return on_part(part); });
    UpstreamHttp::Request request{.method = "GET", .headers = {{"Accept", "text/event-stream"}}};
    const net::HttpResult answer = co_await http_.send(std::move(request), body, kNoDeadline);
    if (closing_ || end_) co_return;
    if (body.oversize())
        co_return end({.code = ErrorCode::kOversize, .message = "an event is too large"});
    if (body.status() == 0) co_return end(answer.error().error);
    if (!body.good()) co_return end(http_refusal(body, http_.loop().clock().system_now()).error);
    if (!body.is_stream())
        co_return end({.code = ErrorCode::kToolFailed,
                       .message = "what the MCP server answers is no stream of events"});
    end({.code = ErrorCode::kUnavailable, .message = "the MCP server has ended its stream"});
}

bool SseTransport::on_part(const StreamPart& part) {
    if (part.kind == StreamPart::Kind::kMessage) {
        if (!target_.empty()) reader().on_message(part.data, nullptr);
        return !end_;
    }
    if (!target_.empty()) return true;  // it stays where it was
    const auto place = resolve_reference(http_.url(), part.data);
    if (!place || !place->same_origin(http_.url())) {
        end({.code = ErrorCode::kToolFailed,
             .message = "the MCP server names an endpoint on another server, which is refused"});
        return false;
    }
    target_ = place->target();
    begun_.wake();
    return true;
}

void SseTransport::end(Error why) {
    if (end_) return;
    end_ = why;
    if (target_.empty()) return begun_.wake();  // start() tells
    if (!closing_) reader().on_end(why);
    for (UpstreamExchange* const exchange : std::vector(running_.begin(), running_.end())) {
        if (std::ranges::find(running_, exchange) != running_.end()) exchange->fail(why);
    }
}

/// The answer comes on the stream, and may come before the server has answered the POST.
Task<void> SseTransport::run(UpstreamExchange& exchange, Deadline deadline) {
    if (end_) co_return exchange.fail(*end_);
    const auto place = running_.insert(running_.end(), &exchange);
    const auto post = std::make_shared<Post>(http_.loop(), exchange, deadline);
    const ScopeExit leave([&] {
        running_.erase(place);
        post->exchange = nullptr;
    });
    tasks_.spawn("request to an MCP server", keep_post(post, deadline));
    if (!exchange.over()) co_await exchange.waiter.wait(deadline);
    const SteadyTime now = http_.loop().clock().steady_now();
    // Most end it in a moment, and the connection is of use again.
    if (exchange.reply) co_return post->limit.end_by(now + kPostGrace);
    post->limit.end_by(now);
    // whether the server has the request decides what its caller is told
    co_await uninterrupted([](Wakeup& ended) -> Task<void> { co_await ended.wait(); }(post->ended));
}

Task<void> SseTransport::keep_post(std::shared_ptr<Post> post, Deadline deadline) {
    const ScopeExit ended([&] { post->ended.wake(); });
    co_await post->limit.keep(send_post(*post, deadline));
}

Task<void> SseTransport::send_post(Post& post, Deadline deadline) {
    UpstreamBody body(http_.options().max_reply, [](const StreamPart&) { return false; });
    UpstreamHttp::Request request{.method = "POST",
                                  .target = target_,
                                  .body = post.message,
                                  .headers = {{"Accept", "application/json"}}};
    const net::HttpResult answer = co_await http_.send(std::move(request), body, deadline);
    if (post.exchange == nullptr) co_return;
    UpstreamExchange& exchange = *post.exchange;
    exchange.written = exchange.written || answer || answer.error().written;
    exchange.http_status = body.status();
    if (exchange.over()) co_return;
    if (body.status() != 0 && !body.good()) {
        HttpRefusal refusal = http_refusal(body, http_.loop().clock().system_now());
        exchange.refused_unrun = refusal.unrun;
        co_return exchange.fail(std::move(refusal.error));
    }
    const bool timed_out = http_.loop().clock().steady_now() >= deadline;
    if (body.status() == 0 && !timed_out && answer.error().error.code != ErrorCode::kCancelled)
        exchange.fail(answer.error().error);
}

void SseTransport::send(std::string message) {
    if (end_ || closing_ || tasks_.size() >= UpstreamHttp::kMostPosts) return;
    tasks_.spawn(
        "post to an MCP server",
        deliver(std::move(message), http_.loop().clock().steady_now() + UpstreamHttp::kPostTime));
}

Task<void> SseTransport::deliver(std::string message, Deadline deadline) {
    UpstreamBody body(http_.options().max_reply, [](const StreamPart&) { return false; });
    UpstreamHttp::Request request{.method = "POST",
                                  .target = target_,
                                  .body = message,
                                  .headers = {{"Accept", "application/json"}}};
    co_await http_.send(std::move(request), body, deadline);
    if (!body.good())
        log::debug("an MCP server did not take a message",
                   {{"source", http_.options().source}, {"status", body.status()}});
}

Task<void> SseTransport::close() {
    closing_ = true;
    end({.code = ErrorCode::kUnavailable,
         .message = "the connection to the MCP server was closed"});
    http_.abort();
    co_await join(tasks_);
    http_.close();
}

}  // namespace crab::mcp
