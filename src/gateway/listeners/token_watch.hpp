#pragma once

#include "base/task/timer_wheel.hpp"
#include "net/http/http_exchange.hpp"
#include "trust/access_tokens.hpp"

#include <memory>
#include <string>

namespace crab::gateway {

/// Whether the answer to this request of MCP is a stream that lasts as long as its caller wants.
bool is_endless(const net::HttpRequest& request);

/// Asks again about an access token when what was known of it is too old, and ends the answer that
/// it opened when it is good no longer. Lives as long as that answer is being given, on its loop.
class TokenWatch {
public:
    /// Until an issuer that cannot be asked is asked again, and how often that is taken for a good
    /// answer.
    static constexpr std::chrono::seconds kPause{15};
    static constexpr int kMostFailures = 4;

    /// All outlive it.
    TokenWatch(net::HttpExchange& exchange, trust::AccessTokens& tokens, std::string token,
               const trust::Proven& proven);
    ~TokenWatch();
    TokenWatch(const TokenWatch&) = delete;
    TokenWatch& operator=(const TokenWatch&) = delete;

private:
    /// What the task and the answer share.
    struct Shared {
        net::HttpExchange* exchange;  ///< null: the answer is over
        CancelSignal stop;
    };
    static Task<void> follow(std::shared_ptr<Shared> shared, trust::AccessTokens& tokens,
                             std::string token, trust::Proven proven);
    std::shared_ptr<Shared> shared_;
};

/// Ends the answer that one of the gateway's own tokens opened when that token ends. Lives as long
/// as that answer is being given, on its loop.
class ExpiryWatch final : private TimerNode {
public:
    /// The exchange outlives it.
    ExpiryWatch(net::HttpExchange& exchange, SystemTime good_until);

private:
    void arm();
    void on_expired() override;

    net::HttpExchange& exchange_;
    const SystemTime good_until_;
};

}  // namespace crab::gateway
