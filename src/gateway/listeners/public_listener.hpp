#pragma once

#include "gateway/context/gateway_context.hpp"
#include "gateway/devices/device_fronts.hpp"
#include "gateway/listeners/console_doors.hpp"
#include "gateway/listeners/public_service.hpp"
#include "gateway/mcp/mcp_oauth.hpp"
#include "gateway/stored/credentials.hpp"
#include "net/http/http_server.hpp"
#include "net/loop/listener.hpp"
#include "runtime/event_loops.hpp"

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace crab::gateway {

/// The public listener: on every event loop an HTTP server for devices, callers and browsers.
class PublicListener final : public Component {
public:
    struct Uses {
        const GatewayContext& context;
        EventLoops& loops;
        Credentials& credentials;
        DeviceFronts& devices;
        McpOauth& oauth;
        ConsoleDoors& console;
    };
    explicit PublicListener(const Uses& uses) : uses_(uses) {}

    std::string_view name() const override { return "public listener"; }
    std::span<const ConfigKey> keys() const override;
    /// Errors: those of the certificate and of the listener.
    Result<void> start() override;
    /// Reloads the certificate; an invalid one is logged, and the old one is kept.
    Result<Change> prepare(const config::GatewayConfig& next) override;
    std::vector<ListenerRoutes> tables() override;
    /// The device page.
    void add_routes(const ListenerRoutes& table) override;
    void drain() override;
    void stop(Deadline deadline) override;

    /// `127.0.0.1:42617`, with the port that the system chose; empty when it is off.
    std::string endpoint() const {
        return listener_ ? listener_->endpoint().text() : std::string();
    }
    /// When the certificate in use ends; nothing without one. Thread-safe.
    std::optional<SystemTime> certificate_ends() const {
        const SystemTime ends = certificate_ends_;
        return ends == SystemTime{} ? std::nullopt : std::optional(ends);
    }
    /// OpenAPI, also when nothing is listened on.
    std::string api_document() const { return servers_.front().service->api_document(); }

private:
    /// The part of one event loop.
    struct LoopServer {
        net::EventLoop& loop;
        std::unique_ptr<PublicService> service;
        std::unique_ptr<net::HttpServer> server;
    };
    Result<net::HttpServerOptions> server_options();
    void add_server(std::size_t i, net::EventLoop& loop, const net::HttpServerOptions& options);
    Result<void> listen();
    void read_certificate_end();

    const Uses uses_;
    std::atomic<SystemTime> certificate_ends_{SystemTime{}};
    std::shared_ptr<net::TlsContext> tls_;  ///< null: plain
    std::vector<LoopServer> servers_;
    std::unique_ptr<net::Listener> listener_;
};

}  // namespace crab::gateway
