#include "gateway/listeners/token_watch.hpp"

#include "base/task/spawn.hpp"

#include <algorithm>
#include <utility>

namespace crab::gateway {
namespace {

bool is_refusal(const Error& error) {
    return error.code == ErrorCode::kUnauthenticated || error.code == ErrorCode::kForbidden;
}

/// When to ask again; not at once for a token that counts only because clocks may differ.
Deadline next_question(const Clock& clock, SystemTime good_until) {
    const auto left = std::max<std::chrono::nanoseconds>(good_until - clock.system_now(),
                                                         std::chrono::seconds(1));
    return clock.steady_now() + left;
}

}  // namespace

bool is_endless(const net::HttpRequest& request) {
    return request.method() == "GET" ||
           request.find("mcp-method").value_or("") == "subscriptions/listen";
}

TokenWatch::TokenWatch(net::HttpExchange& exchange, trust::AccessTokens& tokens, std::string token,
                       const trust::Proven& proven)
    : shared_(std::make_shared<Shared>(&exchange)) {
    spawn(
        exchange.loop().executor(), follow(shared_, tokens, std::move(token), proven),
        [shared = shared_](const std::exception_ptr&) {}, &shared_->stop);
}

TokenWatch::~TokenWatch() {
    shared_->exchange = nullptr;
    shared_->stop.emit();
}

Task<void> TokenWatch::follow(std::shared_ptr<Shared> shared, trust::AccessTokens& tokens,
                              std::string token, trust::Proven proven) {
    net::EventLoop& loop = shared->exchange->loop();
    Waiter waiter(loop.timers());
    int failures = 0;
    while (shared->exchange != nullptr && proven.good_until) {
        const Deadline due = failures > 0 ? Deadline(loop.clock().steady_now() + kPause)
                                          : next_question(loop.clock(), *proven.good_until);
        if (co_await waiter.wait(due) == WaitEnd::kCancelled) co_return;
        auto again = co_await tokens.verify(token);
        if (shared->exchange == nullptr) co_return;
        if (again) {
            failures = 0;
            proven = std::move(*again);
        } else if (is_refusal(again.error()) || ++failures >= kMostFailures) {
            // which ends this task, too
            co_return shared->exchange->canceller().emit();
        }
    }
}

ExpiryWatch::ExpiryWatch(net::HttpExchange& exchange, SystemTime good_until)
    : exchange_(exchange), good_until_(good_until) {
    arm();
}

void ExpiryWatch::arm() {
    const Clock& clock = exchange_.loop().clock();
    const auto left = std::chrono::ceil<Milliseconds>(good_until_ - clock.system_now());
    exchange_.loop().timers().arm(*this, clock.steady_now() + left);
}

void ExpiryWatch::on_expired() {
    if (exchange_.loop().clock().system_now() < good_until_) return arm();
    exchange_.canceller().emit();
}

}  // namespace crab::gateway
