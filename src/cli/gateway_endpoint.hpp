#pragma once

#include "base/result.hpp"
#include "cli/commands.hpp"
#include "config/paths.hpp"
#include "net/loop/endpoint.hpp"
#include "net/tls/tls_context.hpp"

#include <filesystem>
#include <memory>
#include <string>

namespace crab::cli {

/// The address of a gateway and how to connect to it.
struct GatewayEndpoint {
    net::Endpoint endpoint;
    std::string host = "localhost";          ///< the Host field
    std::shared_ptr<net::TlsContext> tls;    ///< null: plain
    std::string server_name;                 ///< for TLS
    std::string prefix;                      ///< of every path, from the URL
    Secret<std::string> token;               ///< empty on the admin socket
    std::string text;                        ///< the address, for messages

    bool is_remote() const { return !endpoint.is_unix(); }
};

/// The admin socket, whether or not anybody listens there, for a process with these variables.
/// Errors: kNotFound for a configuration that was named and is not there.
Result<std::filesystem::path> find_socket(
    const Target& target, const config::Environment& environment = config::process_environment());

/// Finds the admin socket (config::client_socket()) or reads the URL. Errors: kInvalidArgs for an
/// invalid URL, and for http on another machine unless `allow_plain`.
Result<GatewayEndpoint> find_gateway(const Target& target);

/// The state folder of the gateway with this configuration file; empty: the default file. `system`:
/// that of the system service. Errors: those of config::load_first().
Result<std::filesystem::path> find_state_dir(const std::filesystem::path& config_file, bool system);

}  // namespace crab::cli
