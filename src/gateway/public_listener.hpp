#pragma once

#include "adapters/rtp/calls/tools_api.hpp"
#include "gateway/device_fronts.hpp"
#include "gateway/public_service.hpp"
#include "net/http/http_server.hpp"
#include "net/loop/listener.hpp"

#include <memory>
#include <string>
#include <vector>

namespace crab::gateway {

/// The public listener: on every event loop an HTTP server for devices, callers and browsers.
class PublicListener final : public Component {
public:
    PublicListener(const GatewayContext& context, EventLoops& loops, CallPath& calls,
                   CallLedger& ledger, DeviceFronts& devices, Artifacts& artifacts)
        : context_(context),
          loops_(loops),
          calls_(calls),
          ledger_(ledger),
          devices_(devices),
          artifacts_(artifacts) {}

    std::string_view name() const override { return "public listener"; }
    std::span<const ConfigKey> keys() const override;
    /// Errors: those of the certificate and of the listener.
    Result<void> start() override;
    /// Reloads the certificate; an invalid one is logged, and the old one is kept.
    Result<Change> prepare(const config::GatewayConfig& next) override;
    void drain() override;
    void stop(Deadline deadline) override;

    /// `127.0.0.1:42617`, with the port that the system chose; empty when it is off.
    std::string endpoint() const {
        return listener_ ? listener_->endpoint().text() : std::string();
    }
    /// OpenAPI, also when nothing is listened on.
    std::string api_document() const { return servers_.front().service->api_document(); }
    /// What its event loops count.
    net::ListenerMetrics metrics() const;
    /// Cancels calls for a rtp::ToolsApi.
    rtp::ToolsApi::Cancel canceller();

private:
    /// The part of one event loop.
    struct LoopServer {
        net::EventLoop& loop;
        std::unique_ptr<rtp::ToolsApi> tools;
        std::unique_ptr<PublicService> service;
        std::unique_ptr<net::HttpServer> server;
    };
    Result<net::HttpServerOptions> server_options();
    void add_server(std::size_t i, CallPath::Lane& lane, const net::HttpServerOptions& options);
    Result<void> listen();

    const GatewayContext& context_;
    EventLoops& loops_;
    CallPath& calls_;
    CallLedger& ledger_;
    DeviceFronts& devices_;
    Artifacts& artifacts_;
    std::shared_ptr<net::TlsContext> tls_;  ///< null: plain
    std::vector<LoopServer> servers_;
    std::unique_ptr<net::Listener> listener_;
};

}  // namespace crab::gateway
