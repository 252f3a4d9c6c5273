#pragma once

#include "adapters/mcp/auth/guarded_fetch.hpp"
#include "adapters/mcp/auth/oauth_authorizer.hpp"
#include "adapters/mcp/auth/oauth_credentials_file.hpp"
#include "adapters/mcp/client/mcp_connector.hpp"
#include "adapters/mcp/upstreams/upstreams.hpp"
#include "base/ordered_mutex.hpp"
#include "gateway/context/gateway_context.hpp"
#include "gateway/context/session_workers.hpp"
#include "gateway/mcp/mcp_eras.hpp"
#include "gateway/mcp/mcp_logins.hpp"
#include "gateway/mcp/mcp_server_list.hpp"
#include "gateway/mcp/mcp_shared.hpp"
#include "net/loop/loop_group.hpp"
#include "runtime/workers.hpp"
#include "trust/pin_store.hpp"

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

namespace crab::gateway {

/// A configured MCP server as the settings of an upstream. `folder`: in which its program has one
/// to run in, unless it says where. Errors: kInvalidArgs for TLS files that cannot be used.
Result<mcp::UpstreamSettings> upstream_settings(const std::string& source,
                                                const config::McpServerOptions& server,
                                                const config::McpOptions& options,
                                                const std::filesystem::path& folder);

/// How it shows itself to that server: kUser also where nothing is said, for then the server may
/// ask for a login. Reads the key's file. Errors: kInvalidArgs.
Result<mcp::UpstreamAuth> upstream_auth(const std::string& source,
                                        const config::McpServerOptions& server);

/// The gateway as a client of MCP servers: their tools in the registry, their resources and prompts
/// in the catalogs. All of them live on an event loop of their own: what they send is read, hashed
/// and compared where no caller waits.
class McpServers final : public Component, public admin::McpServersControl {
public:
    struct Uses {
        const GatewayContext& context;
        Workers& workers;
        SessionWorkers& session_workers;
        McpShared& shared;
        McpServerList& known;
    };
    explicit McpServers(const Uses& uses) : uses_(uses) {}
    ~McpServers() override {
        if (loop_) loop_->stop_and_join();
    }

    /// Another node has accepted something, or has dropped it; any thread.
    void read_pins_again() {
        if (upstreams_) upstreams_->read_pins_again();
    }

    std::string_view name() const override { return "mcp servers"; }
    std::span<const ConfigKey> keys() const override;
    Result<void> start() override;
    void begin() override { run(); }
    /// Touches only the servers whose configuration differs.
    Result<Change> prepare(const config::GatewayConfig& next) override;
    void add_metrics(core::MetricsPage& page) override;
    void stop(Deadline deadline) override;

    std::vector<admin::McpServerState> states() override;
    Result<std::vector<admin::McpChange>> diff(std::string_view server) override;
    Task<Result<std::vector<std::string>>> approve(
        std::string server, std::vector<admin::McpApproval> entries) override;
    Result<admin::McpLoginBegun> begin_login(std::string_view server, std::string_view principal,
                                             std::string_view redirect_uri) override;
    Result<void> finish_login(std::string_view server, std::string_view login,
                              std::string_view redirected) override;
    Result<void> logout(std::string_view server, std::string_view principal) override;

private:
    Result<void> open_connector();
    void apply();
    void forget(const std::string& source);
    void keep_eras();
    void run();
    net::EventLoop& home() { return loop_->at(0); }
    /// What runs for this server from now on; any that could not be is left out, and said so.
    Result<mcp::UpstreamSettings> usable_settings(const std::string& source,
                                                  const config::McpServerOptions& server);
    void put(const std::string& source, const config::McpServerOptions& server);
    mcp::UpstreamAuth auth_of(const std::string& source);
    Result<mcp::LoginOptions> login_options(std::string_view server, std::string_view principal,
                                            std::string_view redirect_uri);
    using Known = std::optional<mcp::BearerChallenge>;
    mcp::BearerChallenge ask_for_challenge(const mcp::TokenKey& key);
    Task<Result<Known>> last_challenge(mcp::TokenKey key);
    Task<Result<void>> connect_once(mcp::UpstreamOptions options);

    const Uses uses_;
    OrderedMutex<LockRank::kMcpServers> mutex_;
    config::McpOptions options_;  ///< beside the servers, of which `known` has more
    config::McpServers running_;  ///< what the upstreams were made from
    /// Runs until all components have stopped: calls that end late come back to it.
    std::unique_ptr<net::LoopGroup> loop_;
    bool loop_runs_ = false;
    std::unique_ptr<trust::PinStore> pins_;
    std::unique_ptr<mcp::OAuthCredentialsFile> credentials_;
    std::unique_ptr<mcp::GuardedFetch> fetch_;
    std::unique_ptr<mcp::OAuthAuthorizer> authorizer_;  ///< used on the loop
    std::unique_ptr<mcp::McpConnector> connector_;
    std::optional<LoopTasks> waited_for_;  ///< by threads of the pool
    std::unique_ptr<McpLogins> logins_;
    std::unique_ptr<mcp::Upstreams> upstreams_;
    std::optional<McpEras> eras_;
    ChangeSignal::Watch watch_, catalogs_;

    std::mutex auth_mutex_;
    std::map<std::string, mcp::UpstreamAuth> auth_;  ///< by source
};

}  // namespace crab::gateway
