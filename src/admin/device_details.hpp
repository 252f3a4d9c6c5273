#pragma once

#include "admin/all_tools.hpp"
#include "admin/presence.hpp"
#include "base/published.hpp"
#include "base/task/blocking_pool.hpp"
#include "core/registry/registry.hpp"
#include "json/parser.hpp"
#include "json/writer.hpp"
#include "net/http/routes.hpp"
#include "trust/pairing_codes.hpp"
#include "trust/tokens.hpp"

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace crab::admin {

/// One device whole, and another name for it: `GET` and `PATCH /v1/admin/devices/{device}`; and
/// the end of a pairing that nobody took: `DELETE /v1/admin/pairings/{id}`. One, on the admin
/// socket's event loop.
class DeviceDetails {
public:
    struct Services {
        trust::Tokens& tokens;
        trust::PairingCodes& codes;
        const Published<core::RegistrySnapshot>& registry;
        BlockingPool& pool;
        std::function<std::vector<Presence>()> presence;
        /// What a device offered in vain, over its latest connection
        std::function<std::vector<Presence::Refused>(std::string_view device)> refused;
        std::function<std::vector<std::string>(std::string_view device)> waiting_tools;
        /// Those among them that the device offers now
        std::function<std::vector<core::ToolRef>(std::string_view device)> held_tools;
        /// What one of them was when it was let in, as JSON; nothing: it is new
        std::function<std::optional<std::string>(std::string_view device, std::string_view tool)>
            approved_form;
    };
    explicit DeviceDetails(Services services)
        : services_(std::move(services)), tools_(services_.registry) {}

    void add_routes(net::Routes<core::PrincipalRef>& routes);

private:
    using Request = net::Routes<core::PrincipalRef>::Request;

    void show(const Request& request);
    Task<void> rename(const Request& request);
    Task<void> end_pairing(const Request& request);
    void append_connections(json::Writer& writer, std::string_view principal) const;
    void append_offered(json::Writer& writer, std::string_view device) const;
    void append_rejected(json::Writer& writer, std::string_view device) const;
    void append_waiting(json::Writer& writer, std::string_view device) const;

    const Services services_;
    const AllTools tools_;
    json::Parser parser_;
};

}  // namespace crab::admin
