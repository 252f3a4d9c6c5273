#pragma once

#include "base/result.hpp"
#include "config/gateway_config.hpp"
#include "gateway/context/gateway_context.hpp"
#include "gateway/context/inherited_sockets.hpp"
#include "runtime/config_key.hpp"

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace crab::gateway {

/// A running gateway: the list of its components (gateway_components.hpp), started. Create and stop
/// it on one thread that is not its own; reload() is thread-safe.
class Gateway {
public:
    using ReadConfig = std::function<Result<config::GatewayConfig>()>;

    /// Starts everything; all listeners serve when it returns. `read_config` is called for every
    /// reload. Errors: kUnavailable (address in use, store damaged), kInvalidArgs (configuration),
    /// kForbidden (modes); components that had started are stopped then.
    static Result<std::unique_ptr<Gateway>> start(config::GatewayConfig config, GatewayPaths paths,
                                                  ReadConfig read_config,
                                                  InheritedSockets sockets = {});
    /// The configuration keys of all components, and when changes take effect.
    static std::vector<ConfigKey> config_keys();

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
    /// The OpenAPI documents of its listeners.
    struct ApiDocuments {
        std::string public_listener, admin;
        std::string peers;  ///< empty: it is off
    };
    ApiDocuments api_documents() const;
    /// Applies the keys that components can reload, and logs what has changed and what needs a
    /// restart. Connections and running turns are kept. Errors: kInvalidArgs, and then nothing has
    /// changed.
    Result<void> reload();
    /// Ends calls, closes connections with 1001, flushes stores, joins all threads. Idempotent.
    void stop();

private:
    struct Running;
    explicit Gateway(std::unique_ptr<Running> running);
    std::unique_ptr<Running> running_;
};

}  // namespace crab::gateway
