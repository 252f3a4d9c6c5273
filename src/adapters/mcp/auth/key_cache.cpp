#include "adapters/mcp/auth/key_cache.hpp"

#include "adapters/mcp/auth/discovery.hpp"
#include "base/scope_exit.hpp"
#include "net/codec/http_url.hpp"

#include <utility>

namespace crab::mcp {

bool KeyCache::is_fresh() const { return keys_ && clock_.steady_now() < fetched_at_ + kKept; }

bool KeyCache::may_ask_again() const {
    return !asked_at_ || clock_.steady_now() >= *asked_at_ + kPause;
}

const Jwk* KeyCache::known(std::string_view kid, crypto::JwsAlgorithm algorithm) const {
    return is_fresh() ? keys_->find(kid, algorithm) : nullptr;
}

Task<Result<Jwk>> KeyCache::find(std::string kid, crypto::JwsAlgorithm algorithm) {
    if (const Jwk* key = known(kid, algorithm)) co_return *key;
    // A made-up `kid` must not make the gateway ask the issuer with each request, nor may tokens
    // that come while the issuer is down.
    const bool ask = fetching_ || (is_fresh() && keys_->has(kid) ? false : may_ask_again());
    if (ask) {
        if (auto good = co_await refresh(); !good) co_return fail(std::move(good.error()));
        if (const Jwk* key = known(kid, algorithm)) co_return *key;
    }
    if (!is_fresh() && failure_) co_return fail(*failure_);
    co_return fail(ErrorCode::kUnauthenticated, "the token is signed by a key of nobody here");
}

Task<Result<void>> KeyCache::refresh() {
    while (fetching_) {
        Waiting waiting{.waiter = Waiter(timers_)};
        const auto place = waiting_.insert(waiting_.end(), &waiting);
        const ScopeExit leave([&] {
            if (waiting.queued) waiting_.erase(place);
        });
        if (co_await waiting.waiter.wait(kNoDeadline) == WaitEnd::kCancelled)
            co_return fail(ErrorCode::kCancelled, "the request was cancelled");
        // whoever fetched was cancelled: then another does it
        if (fetching_ || !asked_at_) continue;
        if (failure_) co_return fail(*failure_);
        co_return Result<void>();
    }
    co_return co_await fetch();
}

/// Each goes on before wake() returns and may begin to wait anew, behind those that are woken here.
void KeyCache::wake_all() {
    for (std::size_t count = waiting_.size(); count > 0 && !waiting_.empty(); --count) {
        Waiting* const next = waiting_.front();
        waiting_.pop_front();
        next->queued = false;
        next->waiter.wake();
    }
}

Task<Result<void>> KeyCache::fetch() {
    fetching_ = true;
    asked_at_ = clock_.steady_now();
    // whatever happens, a cancellation included: nobody waits for a fetch that has ended
    const ScopeExit over([&] {
        fetching_ = false;
        wake_all();
    });
    failure_ = Error{.code = ErrorCode::kUnavailable, .message = "the issuer's keys did not come"};
    auto text = co_await fetch_keys(fetcher_, options_.issuer, options_.jwks);
    auto keys = text ? JwkSet::parse(*text) : Result<JwkSet>(fail(std::move(text.error())));
    if (!keys) {
        // what the caller is told: its token may be good
        failure_ = Error{.code = ErrorCode::kUnavailable, .message = keys.error().message};
        // a cancelled fetch says nothing about the issuer
        if (keys.error().code == ErrorCode::kCancelled) asked_at_.reset();
        co_return fail(*failure_);
    }
    failure_.reset();
    keys_ = std::move(*keys);
    fetched_at_ = clock_.steady_now();
    co_return Result<void>();
}

}  // namespace crab::mcp
