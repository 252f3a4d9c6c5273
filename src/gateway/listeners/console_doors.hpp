#pragma once

#include "console/door/console_door.hpp"
#include "crypto/random_source.hpp"
#include "gateway/context/gateway_context.hpp"
#include "gateway/devices/device_fronts.hpp"
#include "gateway/stored/credentials.hpp"
#include "net/loop/periodic.hpp"
#include "runtime/audit_trail.hpp"
#include "runtime/event_loops.hpp"
#include "runtime/workers.hpp"

#include <memory>
#include <vector>

namespace crab::gateway {

/// The console on the public listener (`listen.console`): its sessions in `trust.db`, and a door
/// on every event loop. While it is off, the doors are shut.
class ConsoleDoors final : public Component {
public:
    struct Uses {
        const GatewayContext& context;
        Workers& workers;
        EventLoops& loops;
        Credentials& credentials;
        AuditTrail& audit;
        DeviceFronts& devices;
    };
    explicit ConsoleDoors(const Uses& uses) : uses_(uses) {}

    std::string_view name() const override { return "console"; }
    std::span<const ConfigKey> keys() const override;
    /// Errors: those of the store.
    Result<void> start() override;
    void begin() override;
    Result<Change> prepare(const config::GatewayConfig& next) override;
    void add_routes(const ListenerRoutes& table) override;
    void stop(Deadline deadline) override;

    /// Before it starts: what the admin socket serves, which outlives it.
    void take_admin_routes(const net::RouteTable& routes) { admin_routes_ = &routes; }
    console::KeptSessions& kept() { return *kept_; }
    /// The door of the event loop with that index.
    console::ConsoleDoor& door(std::size_t i) { return *doors_[i]; }

private:
    bool record(const console::KeptSessions::Change& change);
    void end_what_is_over();
    Result<void> open_passkeys();
    void add_door(std::size_t i, net::EventLoop& loop, const net::SocketAddress& admin);
    void look(std::size_t i);

    const Uses uses_;
    const net::RouteTable* admin_routes_ = nullptr;
    crypto::SystemRandom random_;
    std::unique_ptr<console::KeptSessions> kept_;
    std::unique_ptr<console::Passkeys> passkeys_;
    std::vector<std::unique_ptr<console::ConsoleDoor>> doors_;
    std::vector<std::unique_ptr<net::Periodic>> looks_;  ///< each of its loop
    int looks_until_flush_ = 0;                          ///< on the first loop
};

}  // namespace crab::gateway
