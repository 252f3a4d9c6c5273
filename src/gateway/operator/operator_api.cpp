#include "gateway/operator/operator_api.hpp"

#include "agent/event_turns.hpp"
#include "base/version.hpp"
#include "gateway/listeners/device_page.hpp"
#include "setup/policy_rules.hpp"
#include "setup/public_address.hpp"
#include "trust/named_principal.hpp"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

namespace crab::gateway {
namespace {

std::vector<admin::Presence::Refused> shown_refusals(
    const std::vector<clawseed::Rejected>& refusals) {
    std::vector<admin::Presence::Refused> shown;
    for (const clawseed::Rejected& each : refusals)
        shown.push_back({each.name, std::string(token_of(each.code)), each.message, each.at});
    return shown;
}

}  // namespace

std::span<const ConfigKey> OperatorApi::keys() const {
    static constexpr ConfigKey kKeys[] = {restart_key(
        "devices.token_days", [](auto& c) -> auto& { return c.devices.token_lifetime; })};
    return kKeys;
}

Result<void> OperatorApi::start() {
    api_ = std::make_unique<admin::AdminApi>(
        admin::AdminApi::Services{.audit = uses_.audit.log(),
                                  .metrics = uses_.context.metrics,
                                  .tokens = uses_.credentials.tokens(),
                                  .codes = uses_.credentials.codes(),
                                  .pool = uses_.workers.pool()},
        view());
    start_tools();
    start_diagnosis();
    start_details();
    start_principals();
    audit_ = std::make_unique<admin::AuditApi>(admin::AuditApi::Services{
        .log = uses_.audit.log(), .store = uses_.audit.store(), .clock = uses_.context.clock});
    console_ = std::make_unique<admin::ConsoleApi>(uses_.audit.log());
    return {};
}

void OperatorApi::start_tools() {
    principals_ = std::make_unique<admin::AskedPrincipals>(admin::AskedPrincipals::Sources{
        .tokens = uses_.credentials.tokens(),
        .clock = uses_.context.clock,
        .agent_tenant = [this](std::string_view agent) { return uses_.turns.tenant_of(agent); }});
    CallPath::LoopPart& part = uses_.calls.first();
    checks_ = std::make_unique<core::CallCheck>(
        core::CallServices{.clock = uses_.context.clock,
                           .registry = uses_.context.registry,
                           .rules = uses_.rules.rules(),
                           .ledger = uses_.ledger.ledger(),
                           .early_cancels = uses_.ledger.early_cancels(),
                           .audit = uses_.audit.log()},
        part.loop.executor(), part.loop.timers(), part.loop.ids());
    admin::Gateway seen = view();
    tools_ = std::make_unique<admin::ToolsApi>(
        admin::ToolsApi::Services{.sources = {.pipeline = part.pipeline,
                                              .presence = std::move(seen.presence),
                                              .waiting_tools = std::move(seen.waiting_tools)},
                                  .checks = *checks_,
                                  .principals = *principals_});
    matrix_ = std::make_unique<admin::PolicyMatrix>(
        admin::PolicyMatrix::Services{.registry = uses_.context.registry.published(),
                                      .rules = uses_.rules.rules(),
                                      .principals = *principals_});
    explain_ = std::make_unique<admin::PolicyExplain>(
        admin::PolicyExplain::Services{.registry = uses_.context.registry.published(),
                                       .rules = uses_.rules.rules(),
                                       .access = uses_.access.access(),
                                       .approvals = uses_.approvals.approvals(),
                                       .checks = *checks_,
                                       .principals = *principals_,
                                       .clock = uses_.context.clock,
                                       .pool = uses_.workers.pool(),
                                       .read_file = [this]() { return read_policy(); }});
}

void OperatorApi::start_details() {
    admin::Gateway seen = view();
    details_ = std::make_unique<admin::DeviceDetails>(admin::DeviceDetails::Services{
        .tokens = uses_.credentials.tokens(),
        .codes = uses_.credentials.codes(),
        .registry = uses_.context.registry.published(),
        .pool = uses_.workers.pool(),
        .presence = std::move(seen.presence),
        .refused =
            [this](std::string_view device) {
                return shown_refusals(uses_.devices.hub().refused_of(device));
            },
        .waiting_tools = std::move(seen.waiting_tools),
        .held_tools =
            [this](std::string_view device) {
                std::vector<core::ToolRef> held;
                for (auto& live : uses_.devices.hub().connected())
                    if (live.slug == device) std::ranges::move(live.held, std::back_inserter(held));
                return held;
            },
        .approved_form =
            [this](std::string_view device, std::string_view tool) {
                return uses_.approvals.device_tools().approved_form(device, tool);
            }});
}

void OperatorApi::start_principals() {
    known_principals_ = std::make_unique<admin::PrincipalsApi>(admin::PrincipalsApi::Services{
        .tokens = uses_.credentials.tokens(),
        .agents =
            [this] {
                std::vector<admin::OtherPrincipal> all;
                for (const admin::ShownAgent& each : uses_.turns.agents())
                    all.push_back({.id = agent::principal_id_of(each.name),
                                   .name = each.name,
                                   .roles = {core::Role::kCaller}});
                return all;
            },
        .peers =
            [this] {
                std::vector<admin::OtherPrincipal> all;
                for (const auto& [record, problem] : uses_.peers.peers().list()) {
                    const std::string id = record.name.text();
                    all.push_back({.id = id,
                                   .name = record.name.id,
                                   .roles = trust::principal_named(id, std::nullopt).roles,
                                   .last_seen = record.last_seen_at});
                }
                return all;
            }});
}

void OperatorApi::start_diagnosis() {
    diagnosis_ = std::make_unique<admin::Diagnosis>(admin::Diagnosis::Services{
        .tokens = uses_.credentials.tokens(),
        .registry = uses_.context.registry.published(),
        .rules = uses_.rules.rules(),
        .principals = *principals_,
        .clock = uses_.context.clock,
        .pool = uses_.workers.pool(),
        .presence = [this] { return presence(); },
        .refused =
            [this](std::string_view device) {
                return shown_refusals(uses_.devices.hub().refused_of(device));
            },
        .waiting_tools =
            [this](std::string_view device) {
                return uses_.approvals.device_tools().waiting(device);
            },
        .sources = [this] { return sources(); }});
}

/// On the pool.
std::vector<admin::SourceState> OperatorApi::sources() const {
    std::vector<admin::SourceState> all;
    const auto add = [&](core::SourceKind kind,
                         const std::vector<core::ToolListing::Status>& list) {
        for (const auto& each : list)
            all.push_back({.source = fmt::format("{}/{}", core::name_of(kind), each.name),
                           .answers = each.answers,
                           .tools = each.tools,
                           .problem = each.problem});
    };
    add(core::SourceKind::kPeer, uses_.hosts.directory().status());
    add(core::SourceKind::kProvider, uses_.providers.directory().status());
    for (const admin::McpServerState& each : uses_.mcp.states())
        all.push_back(
            {.source = fmt::format("{}/{}", core::name_of(core::SourceKind::kMcpServer), each.name),
             .answers = each.state == "ready",
             .tools = each.tools,
             .problem = each.error.empty() ? each.state : each.error});
    return all;
}

Result<std::shared_ptr<const core::Policy>> OperatorApi::read_policy() const {
    const auto on_disk = uses_.read_config();
    if (!on_disk) return fail(on_disk.error());
    return setup::make_policy(*on_disk);
}

void OperatorApi::add_routes(const ListenerRoutes& table) {
    if (table.kind != ListenerKind::kAdmin) return;
    api_->add_routes(table.routes);
    tools_->add_routes(table.routes);
    matrix_->add_routes(table.routes);
    explain_->add_routes(table.routes);
    diagnosis_->add_routes(table.routes);
    details_->add_routes(table.routes);
    known_principals_->add_routes(table.routes);
    audit_->add_routes(table.routes);
    console_->add_routes(table.routes);
}

std::vector<admin::Presence> OperatorApi::presence() const {
    std::vector<admin::Presence> all;
    for (const auto& device : uses_.devices.hub().connected()) {
        auto& shown = all.emplace_back(admin::Presence{.device = device.slug,
                                                       .name = device.display_name,
                                                       .principal = device.principal,
                                                       .tools = device.tools,
                                                       .since = device.since,
                                                       .battery = device.presence.battery,
                                                       .charging = device.presence.charging,
                                                       .metered = device.presence.metered,
                                                       .foreground = device.presence.foreground});
        shown.refused = shown_refusals(device.refused);
    }
    return all;
}

admin::Gateway OperatorApi::view() {
    admin::Gateway view;
    view.presence = [this] { return presence(); };
    view.running = [this] { return uses_.calls.running(); };
    view.running_count = [this] { return uses_.calls.running_count(); };
    view.cancel = [this](const core::Principal& asker, std::string_view id) {
        return uses_.calls.cancel(asker, {}, id);
    };
    view.waiting_tools = [this](std::string_view device) {
        return uses_.approvals.device_tools().waiting(device);
    };
    view.approve_tools = [this](const std::string& device, const std::vector<std::string>& names) {
        auto approved = uses_.approvals.device_tools().approve(device, names);
        if (approved) uses_.devices.hub().release_tools(device, *approved);
        return approved;
    };
    view.reload = uses_.reload;
    view.unhealthy = uses_.unhealthy;
    view.version = version();
    fill_addresses(view);
    return view;
}

void OperatorApi::fill_addresses(admin::Gateway& view) {
    const config::GatewayConfig& config = uses_.context.config;
    const clawseed::StatusFacts& facts = uses_.devices.facts();
    view.public_endpoint = uses_.public_listener.endpoint();
    if (!view.public_endpoint.empty()) {
        if (const auto place = setup::public_address(config.listen, facts.port))
            view.reach = {.url = place->url("ws", "wss"),
                          .ca_file = place->ca_file,
                          .only_here = place->loopback,
                          .peers = {}};
        view.device_pages = device_page_addresses(config.listen, facts.port);
        view.console_pages = console_page_addresses(config.listen, facts.port);
    }
    view.console_is_open = [&kept = uses_.console.kept()] {
        return kept.mode() != console::DoorMode::kOff;
    };
    view.reach.peers = setup::peer_url(config.listen);
    view.admin_socket = uses_.context.paths.admin_socket;
    view.state_dir = uses_.context.paths.state_dir;
    view.token_lifetime = std::chrono::duration_cast<Milliseconds>(config.devices.token_lifetime);
    view.started = facts.started;
}

}  // namespace crab::gateway
