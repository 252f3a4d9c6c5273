#pragma once

#include "base/result.hpp"
#include "config/gateway_config.hpp"
#include "gateway/config_key.hpp"
#include "gateway/gateway_context.hpp"

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace crab::gateway {

/// The whole gateway, wired and running: the list of its components. Made and stopped by one
/// thread, which is none of its own; reloaded by any.
class Gateway {
public:
    using ReadConfig = std::function<Result<config::GatewayConfig>()>;

    /// Starts everything; all listeners answer when it returns. `read_config` is asked again for
    /// every reload. `fail_start_of` is for tests: the component whose start is to fail. Errors:
    /// kUnavailable (address in use, store damaged), kInvalidArgs (configuration), kForbidden
    /// (modes); what had started has stopped then.
    static Result<std::unique_ptr<Gateway>> start(config::GatewayConfig config, GatewayPaths paths,
                                                  ReadConfig read_config,
                                                  std::string_view fail_start_of = {});
    /// What every component reads of the configuration, and when a change of it counts.
    static std::vector<ConfigKey> config_keys();
    /// The components' names, in the order in which they start.
    static std::vector<std::string_view> component_names();

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
    /// Takes over what may change while it runs, which the components declare; the log says what
    /// has changed and what waits for a restart. Connections and turns that run stay. Errors:
    /// kInvalidArgs, and then nothing has changed.
    Result<void> reload();
    /// Ends calls, closes connections with 1001, stores what is to be stored, joins all threads.
    /// Idempotent.
    void stop();

private:
    struct List;
    explicit Gateway(std::unique_ptr<List> list);
    std::unique_ptr<List> list_;
};

}  // namespace crab::gateway
