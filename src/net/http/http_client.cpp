#include "net/http/http_client.hpp"

#include "base/scope_exit.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace crab::net {

Task<HttpResult> HttpClient::send(const HttpCall& call, Deadline deadline) {
    auto acquired = co_await acquire(deadline);
    if (!acquired)
        co_return std::unexpected(
            HttpFailure{.error = std::move(acquired.error()), .written = false});
    std::shared_ptr<HttpLink> link = std::move(*acquired);
    busy_.push_back(link);
    HttpResult result = co_await link->exchange(call, authority_.host, deadline);
    std::erase(busy_, link);
    give_back(std::move(link));
    co_return result;
}

/// A kept connection, a new one, or the first that others leave. The place it takes in `open_` is
/// the caller's until give_back().
Task<Result<std::shared_ptr<HttpLink>>> HttpClient::acquire(Deadline deadline) {
    if (closed_) co_return fail(ErrorCode::kUnavailable, "the client is closed");
    if (auto kept = take_kept()) co_return kept;
    if (open_ < options_.max_connections) {
        ++open_;
        co_return co_await connect(deadline);
    }
    if (queue_.size() >= options_.max_waiting) {
        co_return fail(
            ErrorCode::kRateLimited,
            fmt::format("{} requests wait for a connection already; send again in a moment",
                        queue_.size()));
    }
    Waiting waiting{.waiter = Waiter(loop_.timers()), .link = nullptr};
    const auto place = queue_.insert(queue_.end(), &waiting);
    const ScopeExit leave([&] {
        if (waiting.queued) queue_.erase(place);
    });
    const WaitEnd end = co_await waiting.waiter.wait(deadline);
    if (waiting.link) co_return std::move(waiting.link);
    if (waiting.may_dial) co_return co_await connect(deadline);
    if (end == WaitEnd::kCancelled)
        co_return fail(ErrorCode::kCancelled,
                       "the request was cancelled while it waited for a connection");
    if (end == WaitEnd::kExpired)
        co_return fail(ErrorCode::kRateLimited, "no connection became free before the deadline");
    co_return fail(ErrorCode::kUnavailable, "the client is closed");
}

Task<Result<std::shared_ptr<HttpLink>>> HttpClient::connect(Deadline deadline) {
    const std::uint64_t era = era_;
    const auto link = std::make_shared<HttpLink>(loop_.timers(), options_.max_body_bytes);
    Result<void> good =
        co_await connect(link, std::min(deadline, loop_.clock().steady_now() + options_.connect));
    if (good && (era != era_ || closed_))
        good = fail(ErrorCode::kUnavailable, "the client was closed");
    if (good) co_return link;
    link->close();
    free_place();
    co_return fail(std::move(good.error()));
}

Task<Result<void>> HttpClient::connect(std::shared_ptr<HttpLink> link, Deadline deadline) {
    DialTarget server = authority_.server;
    if (authority_.find_server) {
        auto found = co_await authority_.find_server(deadline);
        if (!found) co_return fail(std::move(found.error()));
        server = std::move(*found);
    }
    auto dialled = co_await dial(loop_, std::move(server), link, deadline);
    if (!dialled) co_return fail(std::move(dialled.error()));
    if (!authority_.check_certificate) co_return Result<void>();
    co_return co_await authority_.check_certificate(link->peer_certificate_der());
}

std::shared_ptr<HttpLink> HttpClient::take_kept() {
    const SteadyTime oldest = loop_.clock().steady_now() - options_.idle;
    while (!kept_.empty()) {
        std::shared_ptr<HttpLink> link = std::move(kept_.back());
        kept_.pop_back();
        if (link->kept_since() >= oldest && link->is_still_good()) {
            link->keep_for(nullptr, {});
            return link;
        }
        link->close();
        --open_;
    }
    return nullptr;
}

void HttpClient::give_back(std::shared_ptr<HttpLink> link) {
    if (closed_ || !link->is_idle()) {
        link->close();
        return free_place();
    }
    if (Waiting* next = next_waiting()) {
        next->link = std::move(link);
        return next->waiter.wake();
    }
    link->keep_for(this, loop_.clock().steady_now());
    kept_.push_back(std::move(link));
}

void HttpClient::free_place() {
    if (Waiting* next = closed_ ? nullptr : next_waiting()) {
        next->may_dial = true;
        return next->waiter.wake();
    }
    --open_;
}

HttpClient::Waiting* HttpClient::next_waiting() {
    if (queue_.empty()) return nullptr;
    Waiting* const next = queue_.front();
    queue_.pop_front();
    next->queued = false;
    return next;
}

void HttpClient::on_kept_link_closed(HttpLink& link) {
    const auto it = std::ranges::find(kept_, &link, &std::shared_ptr<HttpLink>::get);
    if (it == kept_.end()) return;
    const std::shared_ptr<HttpLink> last = std::move(*it);
    kept_.erase(it);
    free_place();
}

void HttpClient::retire() {
    ++era_;
    for (const auto& link : busy_) link->retire();
    for (const auto& link : std::exchange(kept_, {})) {
        link->close();
        free_place();
    }
}

void HttpClient::abort() {
    retire();
    // each ends its request, which may begin another
    for (const auto& link : std::vector(busy_)) link->close();
}

void HttpClient::close() {
    closed_ = true;
    retire();
    while (Waiting* waiting = next_waiting()) waiting->waiter.wake();
}

}  // namespace crab::net
