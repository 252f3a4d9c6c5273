#pragma once

#include "adapters/mcp/auth/login_flow.hpp"
#include "gateway/mcp/loop_tasks.hpp"

#include <map>
#include <memory>
#include <string>
#include <string_view>

namespace crab::gateway {

/// Logins of people at MCP servers that have begun and wait for their answer. Both functions wait
/// for other servers: for a thread of a pool.
class McpLogins {
public:
    static constexpr std::chrono::minutes kPatience{15};
    static constexpr std::size_t kMost = 64;  ///< at once; the oldest makes room

    /// All outlive it.
    McpLogins(LoopTasks& tasks, mcp::Fetcher& fetcher, mcp::OAuthCredentials& credentials)
        : tasks_(tasks), fetcher_(fetcher), credentials_(credentials) {}

    struct Begun {
        std::string id, url;
    };
    /// Errors: those of LoginFlow::begin().
    Result<Begun> begin(mcp::LoginOptions options, mcp::BearerChallenge challenge);
    /// Errors: kNotFound for a login of another server, or none; those of LoginFlow::finish().
    Result<void> finish(std::string_view source, std::string_view id, std::string redirected);
    /// Drops those of a server that is gone; on the loop.
    void forget(std::string_view source) {
        std::erase_if(open_, [&](const auto& each) { return each.second.source == source; });
    }

private:
    struct Open {
        std::string source;
        std::shared_ptr<mcp::LoginFlow> flow;
        SteadyTime until;
    };
    Task<Result<Begun>> begin_there(mcp::LoginOptions options, mcp::BearerChallenge challenge);
    Task<Result<void>> finish_there(std::string source, std::string id, std::string redirected);
    void make_room();

    const Clock& clock() const { return tasks_.loop().clock(); }

    LoopTasks& tasks_;
    mcp::Fetcher& fetcher_;
    mcp::OAuthCredentials& credentials_;
    std::map<std::string, Open, std::less<>> open_;  ///< by id; used on the loop
};

}  // namespace crab::gateway
