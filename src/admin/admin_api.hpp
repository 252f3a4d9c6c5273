#pragma once

#include "admin/presence.hpp"
#include "core/audit/audit_log.hpp"
#include "core/audit/metrics.hpp"
#include "core/call/running_calls.hpp"
#include "json/parser.hpp"
#include "json/writer.hpp"
#include "net/http/routes.hpp"
#include "trust/pairing_codes.hpp"
#include "trust/tokens.hpp"

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace crab::admin {

/// A component that does not work as it should, and what does not.
struct Unhealthy {
    std::string_view component;
    std::string reason;
};

/// Functions of the process that the API calls, on the admin socket's event loop.
struct Gateway {
    std::function<std::vector<Presence>()> presence;
    std::function<std::vector<core::RunningCallInfo>()> running;
    std::function<std::size_t()> running_count;
    std::function<std::size_t(const core::Principal& asker, std::string_view call_id)> cancel;
    /// Errors: kInvalidArgs with every problem in the file; then nothing changes.
    std::function<Result<void>()> reload;   ///< called on the pool; blocks, compiles
    /// Tools of a device that need approval.
    std::function<std::vector<std::string>(std::string_view device)> waiting_tools;
    /// Approves these tools, or all if empty; returns the approved ones. May block; called on the
    /// pool.
    std::function<Result<std::vector<std::string>>(const std::string& device,
                                                   const std::vector<std::string>& names)>
        approve_tools;
    std::function<std::vector<Unhealthy>()> unhealthy;
    std::string version, public_endpoint, admin_socket, state_dir;
    /// The gateway's addresses and CA as clients need them; used in lines that people paste.
    struct ClientAddresses {
        std::string url;  ///< `wss://host:port/prefix`; empty: the public listener is off
        std::string ca_file;  ///< on this machine; empty: none has to be named
        bool only_here = false;  ///< a loopback address
        std::string peers;  ///< `https://host:port` of the peer listener; empty: off
    } reach;
    /// An address under which a browser finds the device page.
    struct Page {
        std::string url;
        std::string_view reach;  ///< `loopback`: this machine alone; `name`, `address`
        bool tls = false;
        /// Whether it is of use to the camera of another device: not here alone, and with TLS
        bool can_be_scanned() const { return tls && reach != "loopback"; }
    };
    /// Best first; empty: the page is not served
    std::vector<Page> device_pages;
    std::vector<Page> console_pages;  ///< the same of the console's, which may be shut
    std::function<bool()> console_is_open;
    Milliseconds token_lifetime = std::chrono::hours(24 * 365);
    SteadyTime started;
};

/// `/metrics` and the routes below `/v1/admin/` for calls, devices and the gateway itself; for
/// tools see ToolsApi. One, on the admin socket's event loop.
class AdminApi {
public:
    struct Services {
        core::AuditLog& audit;
        core::MetricsPage& metrics;
        trust::Tokens& tokens;
        trust::PairingCodes& codes;
        BlockingPool& pool;
    };
    AdminApi(Services services, Gateway gateway)
        : services_(services), gateway_(std::move(gateway)) {}

    void add_routes(net::Routes<core::PrincipalRef>& routes);
    /// Appends the answer of `/v1/admin/status`.
    void append_status(std::string& out, SteadyTime now) const;

private:
    using Request = net::Routes<core::PrincipalRef>::Request;

    void add_call_routes(net::Routes<core::PrincipalRef>& routes);
    void add_device_routes(net::Routes<core::PrincipalRef>& routes);
    Task<void> calls(net::HttpExchange& exchange);
    Task<void> call(net::HttpExchange& exchange, std::string id);
    void cancel(net::HttpExchange& exchange, const core::Principal& principal, std::string id);
    void devices(net::HttpExchange& exchange);
    Task<void> pair(net::HttpExchange& exchange);
    Task<void> issue_token(net::HttpExchange& exchange, trust::PairingOffer offer);
    void append_pages(json::Writer& writer, std::string_view code,
                      const std::vector<Gateway::Page>& pages) const;
    Task<void> open_console_code(net::HttpExchange& exchange, trust::PairingOffer offer);
    Task<void> open_code(net::HttpExchange& exchange, trust::PairingOffer offer,
                         const std::vector<Gateway::Page>& pages);
    Task<void> vouch(net::HttpExchange& exchange);
    Task<void> revoke(net::HttpExchange& exchange);
    Task<void> approve_tools(net::HttpExchange& exchange);
    void status(net::HttpExchange& exchange);
    Task<void> reload(net::HttpExchange& exchange);

    Services services_;
    Gateway gateway_;
    json::Parser parser_;
};

}  // namespace crab::admin
