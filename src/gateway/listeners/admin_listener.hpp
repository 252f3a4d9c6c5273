#pragma once

#include "gateway/context/gateway_context.hpp"
#include "gateway/listeners/console_doors.hpp"
#include "gateway/listeners/public_service.hpp"
#include "net/http/http_server.hpp"
#include "net/loop/listener.hpp"
#include "runtime/audit_trail.hpp"
#include "runtime/event_loops.hpp"

#include <memory>
#include <vector>

namespace crab::gateway {

/// The admin socket, on the first event loop.
class AdminListener final : public Component {
public:
    AdminListener(const GatewayContext& context, EventLoops& loops, AuditTrail& audit,
                  ConsoleDoors& console)
        : context_(context), loops_(loops), audit_(audit), console_(console) {
        console_.take_admin_routes(service_.table());
    }

    std::string_view name() const override { return "admin socket"; }
    std::span<const ConfigKey> keys() const override;
    /// Errors: those of the listener.
    Result<void> start() override;
    std::vector<ListenerRoutes> tables() override;
    void add_routes(const ListenerRoutes& table) override;
    void drain() override;
    void stop(Deadline deadline) override;
    /// OpenAPI.
    std::string api_document() const { return service_.api_document(); }

private:
    const GatewayContext& context_;
    EventLoops& loops_;
    AuditTrail& audit_;
    ConsoleDoors& console_;
    AdminService service_;
    std::unique_ptr<net::Listener> listener_;
    std::unique_ptr<net::HttpServer> server_;
};

}  // namespace crab::gateway
