#pragma once

#include "base/result.hpp"
#include "config/gateway_config.hpp"

#include <filesystem>
#include <functional>
#include <memory>
#include <string>

namespace crab::gateway {

/// The whole gateway, wired and running: event loops, listeners, stores, adapters. Made, reloaded
/// and stopped by one thread, which is none of its own.
class Gateway {
public:
    struct Places {
        std::filesystem::path state_dir, admin_socket;
    };
    /// Starts everything; both listeners answer when it returns. `read_config` is asked again for
    /// every reload that the admin socket wants. Errors: kUnavailable (address in use, store
    /// damaged), kInvalidArgs (configuration), kForbidden (modes).
    static Result<std::unique_ptr<Gateway>> start(
        config::GatewayConfig config, Places places,
        std::function<Result<config::GatewayConfig>()> read_config);
    Gateway(const Gateway&) = delete;
    Gateway& operator=(const Gateway&) = delete;
    /// stop().
    ~Gateway();

    /// `127.0.0.1:42617`, with the port that the system chose; empty when the public listener is
    /// off.
    std::string public_endpoint() const;
    /// The same of the gRPC listener.
    std::string grpc_endpoint() const;
    /// The same of the peer listener.
    std::string peer_endpoint() const;
    std::string admin_socket() const;
    /// Takes over what may change while it runs: policy, rates, hooks, limits of tools, models and
    /// agents, log level, devices. Connections and turns that run stay. Errors: kInvalidArgs, and
    /// then nothing has changed.
    Result<void> reload();
    /// Ends calls, closes connections with 1001, stores what is to be stored, joins all threads.
    /// Idempotent.
    void stop();

private:
    struct Parts;
    explicit Gateway(std::unique_ptr<Parts> parts);
    std::unique_ptr<Parts> parts_;
};

}  // namespace crab::gateway
