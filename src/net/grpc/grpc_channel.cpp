#include "net/grpc/grpc_channel.hpp"

#include "base/scope_exit.hpp"
#include "net/codec/grpc_message.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace crab::net {
namespace {

const Http2Limits kLimits{};  // sessions may outlive their channel

}  // namespace

Task<Result<GrpcClientCall>> GrpcChannel::begin(std::string_view path,
                                                std::span<const HttpHeader> metadata,
                                                Deadline deadline, Deadline patience) {
    auto opened = co_await session(patience);
    if (!opened) co_return fail(std::move(opened.error()));
    std::vector<HttpHeader> fields{{":method", "POST"},
                                   {":scheme", options_.secure ? "https" : "http"},
                                   {":path", path},
                                   {":authority", options_.authority},
                                   {"te", "trailers"},
                                   {"content-type", "application/grpc"},
                                   {"user-agent", options_.user_agent},
                                   {"grpc-accept-encoding", kGrpcEncodings}};
    if (server_->takes_gzip) fields.push_back({"grpc-encoding", kGrpcGzip});
    std::string timeout;
    if (deadline != kNoDeadline) {
        timeout = grpc_timeout_text(
            std::max<std::chrono::nanoseconds>(deadline - loop_.now(), Milliseconds(1)));
        fields.push_back({"grpc-timeout", timeout});
    }
    fields.insert(fields.end(), metadata.begin(), metadata.end());
    auto stream = (*opened)->open(fields, Http2Stream::Last::kNo);
    if (!stream) co_return fail(ErrorCode::kUnavailable, "the connection takes no more calls");
    co_return GrpcClientCall(std::move(stream), server_);
}

// The one there is, a new one, or what somebody else's attempt comes to.
Task<Result<GrpcChannel::SessionRef>> GrpcChannel::session(Deadline patience) {
    for (;;) {
        if (closed_) co_return fail(ErrorCode::kUnavailable, "the channel is closed");
        if (is_connected()) co_return session_;
        if (!dialling_) break;
        Waiter waiter(loop_.timers());
        const auto place = waiting_.insert(waiting_.end(), &waiter);
        const ScopeExit leave([&] { waiting_.erase(place); });
        const WaitEnd end = co_await waiter.wait(patience);
        if (end == WaitEnd::kExpired)
            co_return fail(ErrorCode::kTimeout, "connecting took too long");
        if (end == WaitEnd::kCancelled)
            co_return fail(ErrorCode::kCancelled,
                           "the call was cancelled while it waited for a connection");
        if (failure_ && !dialling_) co_return fail(*failure_);
    }
    dialling_ = true;
    const Deadline full = loop_.clock().steady_now() + options_.connect;
    Result<SessionRef> made = fail(ErrorCode::kCancelled, "connecting was cancelled");
    {
        const ScopeExit over([&] {
            dialling_ = false;
            // A cancellation, or too little time, affects this call only: the next waiting one
            // makes its own attempt.
            const bool own =
                !made && (made.error().code == ErrorCode::kCancelled ||
                          (made.error().code == ErrorCode::kTimeout && patience < full));
            failure_ = !made && !own ? std::optional(made.error()) : std::nullopt;
        });
        made = co_await connect(std::min(patience, full));
        if ((co_await this_chain()).cancelled() && !made)
            made = fail(ErrorCode::kCancelled, "connecting was cancelled");
    }
    if (made) session_ = *made;
    // Each that is woken goes on at once, and may leave the list or join it again.
    for (Waiter* const waiter : std::vector(waiting_.begin(), waiting_.end())) {
        if (std::ranges::find(waiting_, waiter) != waiting_.end()) waiter->wake();
    }
    co_return made;
}

Task<Result<GrpcChannel::SessionRef>> GrpcChannel::connect(Deadline patience) {
    auto target = co_await options_.find_server(patience);
    if (!target) co_return fail(std::move(target.error()));
    auto session = std::make_shared<Http2Session>(loop_, Http2Session::Role::kClient, kLimits,
                                                  Http2Session::Events{});
    auto dialled = co_await dial(loop_, std::move(*target), session, patience);
    if (!dialled) co_return fail(std::move(dialled.error()));
    if (closed_ || !session->is_open()) {
        session->stop();
        co_return fail(ErrorCode::kUnavailable, "the connection ended as soon as it was made");
    }
    co_return session;
}

void GrpcChannel::retire() {
    if (session_) session_->finish();
    session_ = nullptr;
    server_ = std::make_shared<GrpcClientCall::Server>();  // the next may be another
}

void GrpcChannel::close() {
    closed_ = true;
    if (session_) std::exchange(session_, nullptr)->stop();
    for (Waiter* const waiter : std::vector(waiting_.begin(), waiting_.end())) {
        if (std::ranges::find(waiting_, waiter) != waiting_.end()) waiter->wake();
    }
}

}  // namespace crab::net
