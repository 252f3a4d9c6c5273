#pragma once

#include "adapters/mcp/auth/fetcher.hpp"
#include "adapters/mcp/auth/jwk_set.hpp"
#include "base/task/timer_wheel.hpp"
#include "base/task/waiter.hpp"

#include <list>
#include <optional>
#include <string>
#include <string_view>

namespace crab::mcp {

/// The keys of one issuer: kept for ten minutes, fetched anew for an unknown `kid` at most each 30
/// s, one fetch at a time, for which all who need a key wait. When the issuer cannot be asked, keys
/// that are too old are not used. On one event loop. Source: docs/protocols/mcp.md, 6.2.
class KeyCache {
public:
    static constexpr std::chrono::minutes kKept{10};
    static constexpr std::chrono::seconds kPause{30};

    /// `issuer`: whose metadata names the keys, unless `jwks` (a URL) does. All outlive it.
    struct Options {
        std::string issuer, jwks;
    };
    KeyCache(Fetcher& fetcher, TimerWheel& timers, const Clock& clock, Options options)
        : fetcher_(fetcher), timers_(timers), clock_(clock), options_(std::move(options)) {}
    /// When every find() has ended.
    ~KeyCache() = default;
    KeyCache(const KeyCache&) = delete;
    KeyCache& operator=(const KeyCache&) = delete;

    /// The key of a token's header. Errors: kUnauthenticated (no such key), those of the fetch.
    Task<Result<Jwk>> find(std::string kid, crypto::JwsAlgorithm algorithm);

private:
    /// Lives in the frame of refresh().
    struct Waiting {
        Waiter waiter;
        bool queued = true;
    };
    bool is_fresh() const;
    bool may_ask_again() const;
    const Jwk* known(std::string_view kid, crypto::JwsAlgorithm algorithm) const;
    /// Fetches, or waits for the fetch under way.
    Task<Result<void>> refresh();
    Task<Result<void>> fetch();
    void wake_all();

    Fetcher& fetcher_;
    TimerWheel& timers_;
    const Clock& clock_;
    const Options options_;
    std::optional<JwkSet> keys_;
    SteadyTime fetched_at_{};
    std::optional<SteadyTime> asked_at_;  ///< whatever came of it
    std::optional<Error> failure_;  ///< of the last fetch
    std::list<Waiting*> waiting_;
    bool fetching_ = false;
};

}  // namespace crab::mcp
