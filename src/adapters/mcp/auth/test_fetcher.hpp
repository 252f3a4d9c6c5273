#pragma once

#include "adapters/mcp/auth/fetcher.hpp"
#include "adapters/mcp/auth/jwt.hpp"
#include "base/base64url.hpp"
#include "base/task/waiter.hpp"
#include "crypto/private_key.hpp"

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

/// For tests of this folder: servers without a network.
namespace crab::mcp::test {

/// Answers each URL as a test says, 404 otherwise, and keeps what was asked.
class TestFetcher : public Fetcher {
public:
    using Answer = std::function<Result<FetchReply>(const FetchRequest&)>;

    void serve(std::string url, Answer answer) { answers_[std::move(url)] = std::move(answer); }
    void serve(std::string url, std::string body, int status = 200) {
        serve(std::move(url), [body = std::move(body), status](const FetchRequest&) {
            return Result<FetchReply>(FetchReply{.status = status, .body = body});
        });
    }
    void serve(std::string url, const json::Value& body) { serve(std::move(url), body.dump()); }

    Task<Result<FetchReply>> fetch(FetchRequest request) override {
        asked.push_back(request);
        if (gate != nullptr && co_await gate->wait(kNoDeadline) == WaitEnd::kCancelled)
            co_return fail(ErrorCode::kCancelled, "the request was cancelled");
        const auto it = answers_.find(request.url);
        if (it == answers_.end()) co_return FetchReply{.status = 404, .body = "none"};
        co_return it->second(request);
    }
    std::size_t times_asked(std::string_view url) const {
        std::size_t times = 0;
        for (const FetchRequest& each : asked) times += each.url == url ? 1 : 0;
        return times;
    }

    std::vector<FetchRequest> asked;
    Waiter* gate = nullptr;  ///< that the next fetches wait for

private:
    std::map<std::string, Answer> answers_;
};

/// The public half of a P-256 key as a JWK.
inline json::Value jwk_of(const crypto::PrivateKey& key, std::string_view kid) {
    const std::string der = key.public_key().der;  // ends with the point
    return json::Value::object({{"kty", "EC"},
                                {"crv", "P-256"},
                                {"kid", kid},
                                {"use", "sig"},
                                {"x", to_base64url(der.substr(der.size() - 64, 32))},
                                {"y", to_base64url(der.substr(der.size() - 32))}});
}
inline json::Value key_set(json::Value::Items keys) {
    return json::Value::object({{"keys", json::Value::array(std::move(keys))}});
}

/// A token with any header; `signature` in base64url.
inline std::string token_of(const json::Value& header, const json::Value& claims,
                            std::string_view signature) {
    return to_base64url(header.dump()) + "." + to_base64url(claims.dump()) + "." +
           std::string(signature);
}

}  // namespace crab::mcp::test
