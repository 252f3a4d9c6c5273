#pragma once

#include "gateway/agents/event_agents.hpp"
#include "gateway/agents/event_delivery.hpp"
#include "gateway/agents/turns.hpp"
#include "gateway/context/gateway_context.hpp"
#include "gateway/context/inherited_sockets.hpp"
#include "gateway/context/session_workers.hpp"
#include "gateway/devices/device_fronts.hpp"
#include "gateway/fleet/fleet_node.hpp"
#include "gateway/hosts/built_in_hosts.hpp"
#include "gateway/hosts/command_providers.hpp"
#include "gateway/hosts/grpc_providers.hpp"
#include "gateway/hosts/tool_hosts.hpp"
#include "gateway/listeners/admin_listener.hpp"
#include "gateway/listeners/console_doors.hpp"
#include "gateway/listeners/grpc_listener.hpp"
#include "gateway/listeners/peer_listener.hpp"
#include "gateway/listeners/public_listener.hpp"
#include "gateway/maintenance.hpp"
#include "gateway/mcp/mcp_front.hpp"
#include "gateway/mcp/mcp_oauth.hpp"
#include "gateway/mcp/mcp_server_list.hpp"
#include "gateway/mcp/mcp_servers.hpp"
#include "gateway/mcp/mcp_shared.hpp"
#include "gateway/operator/config_api.hpp"
#include "gateway/operator/health_api.hpp"
#include "gateway/operator/live_data.hpp"
#include "gateway/operator/operator_api.hpp"
#include "gateway/operator/process_metrics.hpp"
#include "gateway/rules/access_rights.hpp"
#include "gateway/rules/call_approvals.hpp"
#include "gateway/rules/current_rules.hpp"
#include "gateway/rules/hitl_service.hpp"
#include "gateway/rules/push_notices.hpp"
#include "gateway/running_work.hpp"
#include "gateway/service_manager.hpp"
#include "gateway/service_watchdog.hpp"
#include "gateway/shared_components.hpp"
#include "gateway/stored/artifacts.hpp"
#include "gateway/stored/chat_sessions.hpp"
#include "gateway/stored/configured_stores.hpp"
#include "gateway/stored/credentials.hpp"
#include "gateway/stored/event_log.hpp"
#include "gateway/stored/peer_records.hpp"
#include "gateway/telemetry/log_settings.hpp"
#include "gateway/telemetry/trace_export.hpp"
#include "runtime/call_ledger.hpp"
#include "runtime/call_path.hpp"
#include "runtime/components.hpp"
#include "runtime/tool_calls.hpp"

#include <functional>

namespace crab::gateway {

/// A gateway is this list: its components, in the order in which they start. A new one, such as an
/// API or a front, is a line here and files of its own.
class GatewayComponents {
public:
    using ReadConfig = std::function<Result<config::GatewayConfig>()>;

    /// `reload_all` is what the operator's API does when it is asked to, `read` reads the file
    /// again, `loaded` is what the latest reload has read.
    GatewayComponents(config::GatewayConfig config_of_start, GatewayPaths paths_of_start,
                      std::function<Result<void>()> reload_all, ReadConfig read,
                      std::function<LoadedConfig()> loaded, InheritedSockets passed = {})
        : config(std::move(config_of_start)),
          paths(std::move(paths_of_start)),
          sockets(std::move(passed)),
          reload(std::move(reload_all)),
          read_config(std::move(read)),
          loaded_config(std::move(loaded)) {}

    const config::GatewayConfig config;  ///< of the start
    const GatewayPaths paths;
    InheritedSockets sockets;  ///< of the service manager, until a listener takes them
    const std::function<Result<void>()> reload;
    const ReadConfig read_config;
    const std::function<LoadedConfig()> loaded_config;
    ReloadOutcome last_reload;
    RealClock clock;
    FleetMembership membership;
    std::unique_ptr<store::Stores> stores;
    core::Registry registry;
    core::MetricsPage metrics;
    McpShared mcp_shared;
    /// Of bytes that principals have sent and that are not yet dealt with
    ByteBudgets budgets{std::size_t{64} << 20, std::size_t{512} << 20};
    const GatewayContext context{.config = config,
                                 .paths = paths,
                                 .clock = clock,
                                 .stores = stores,
                                 .registry = registry,
                                 .metrics = metrics,
                                 .budgets = budgets,
                                 .sockets = sockets};
    runtime::Components all;

    // Stores, and who may do what
    LogSettings& log_settings = all.add<LogSettings>(context);
    runtime::StateFolder& state_folder = all.add<ConfiguredStateFolder>(context);
    ConfiguredStores& configured_stores = all.add<ConfiguredStores>(context, stores, membership);
    Workers& workers = all.add<Workers>(workers_of(config));
    Credentials& credentials = all.add<Credentials>(context, membership);
    ChatSessions& chats = all.add<ChatSessions>(context);
    AuditTrail& audit = all.add<ConfiguredAuditTrail>(context);
    TraceExport& traces = all.add<TraceExport>(context, audit);
    CallLedger& ledger = all.add<CallLedger>(
        clock, audit, CallLedger::Options{.open = [this] { return stores->open_ledger(); }});
    PeerRecords& peer_records = all.add<PeerRecords>(context, membership, workers, audit);
    EventLog& events = all.add<EventLog>(context, workers, chats, ledger, peer_records);
    CurrentRules& rules = all.add<CurrentRules>(context);
    AccessRights& access = all.add<AccessRights>(context, workers, audit, rules);
    CallApprovals& approvals =
        all.add<CallApprovals>(context, workers, audit, events, peer_records);
    Artifacts& artifacts = all.add<Artifacts>(context, audit);
    // The call path, and what runs calls
    EventLoops& loops = all.add<ConfiguredEventLoops>(context);
    // Before what takes its time to stop, during which it is fed too.
    ServiceWatchdog& watchdog = all.add<ServiceWatchdog>(loops, feed_watchdog);
    SessionWorkers& session_workers = all.add<SessionWorkers>();
    HitlService& hitl = all.add<HitlService>(context, loops, workers, approvals);
    BuiltInHosts& built_in_hosts = all.add<BuiltInHosts>(context, loops, events);
    CommandProviders& commands = all.add<CommandProviders>(context, loops, workers, audit);
    FleetNode& fleet = all.add<FleetNode>(
        FleetNode::Uses{.context = context,
                        .loops = loops,
                        .credentials = credentials,
                        .rules = rules,
                        .membership = membership,
                        .events = events,
                        .hub = [this]() -> clawseed::Hub& { return devices.hub(); },
                        .shared = [this] { return shared_by_nodes(); }});
    CallPath& calls = all.add<CallPath>(
        CallPath::Uses{.clock = clock,
                       .registry = registry,
                       .loops = loops,
                       .ledger = ledger,
                       .audit = audit,
                       .controls =
                           [this] {
                               return CallPath::Controls{.rules = rules.rules(),
                                                         .away = &rules.away(),
                                                         .events = &events.calls(),
                                                         .approvals = &approvals.approvals(),
                                                         .traces = traces.share(),
                                                         .lease = fleet.lease(),
                                                         .runner = fleet.runner()};
                           },
                       .cancels = CallPath::CancelScope::kOperatorsCancelAll});
    runtime::ToolCalls& tool_calls = all.add<runtime::ToolCalls>(calls, config.gateway.name);
    McpServerList& mcp_servers_known = all.add<McpServerList>(context, workers);
    McpFront& mcp_front = all.add<McpFront>(McpFront::Uses{.context = context,
                                                           .loops = loops,
                                                           .calls = calls,
                                                           .credentials = credentials,
                                                           .artifacts = artifacts,
                                                           .approvals = approvals,
                                                           .shared = mcp_shared});
    Turns& turns = all.add<Turns>(Turns::Uses{.context = context,
                                              .workers = workers,
                                              .session_workers = session_workers,
                                              .chats = chats,
                                              .calls = calls,
                                              .artifacts = artifacts,
                                              .traces = traces});
    DeviceFronts& devices =
        all.add<DeviceFronts>(DeviceFronts::Uses{.context = context,
                                                 .workers = workers,
                                                 .session_workers = session_workers,
                                                 .credentials = credentials,
                                                 .chats = chats,
                                                 .ledger = ledger,
                                                 .audit = audit,
                                                 .events = events,
                                                 .rules = rules,
                                                 .access = access,
                                                 .approvals = approvals,
                                                 .artifacts = artifacts,
                                                 .calls = calls,
                                                 .turns = turns});
    Maintenance& maintenance = all.add<Maintenance>(Maintenance::Uses{.context = context,
                                                                      .loops = loops,
                                                                      .workers = workers,
                                                                      .audit = audit,
                                                                      .credentials = credentials,
                                                                      .chats = chats,
                                                                      .ledger = ledger,
                                                                      .events = events,
                                                                      .access = access,
                                                                      .artifacts = artifacts});
    ToolHosts& tool_hosts = all.add<ToolHosts>(context, loops, session_workers);
    GrpcProviders& grpc_providers =
        all.add<GrpcProviders>(context, loops, workers, session_workers);
    McpServers& mcp_servers =
        all.add<McpServers>(McpServers::Uses{.context = context,
                                             .workers = workers,
                                             .session_workers = session_workers,
                                             .shared = mcp_shared,
                                             .known = mcp_servers_known});
    // Listeners
    McpOauth& mcp_oauth =
        all.add<McpOauth>(McpOauth::Uses{.context = context, .loops = loops, .workers = workers});
    ConsoleDoors& console_doors =
        all.add<ConsoleDoors>(ConsoleDoors::Uses{.context = context,
                                                 .workers = workers,
                                                 .loops = loops,
                                                 .credentials = credentials,
                                                 .audit = audit,
                                                 .devices = devices});
    PushNotices& push = all.add<PushNotices>(PushNotices::Uses{.context = context,
                                                               .workers = workers,
                                                               .loops = loops,
                                                               .credentials = credentials,
                                                               .approvals = approvals,
                                                               .rules = rules});
    PublicListener& public_listener =
        all.add<PublicListener>(PublicListener::Uses{.context = context,
                                                     .loops = loops,
                                                     .credentials = credentials,
                                                     .devices = devices,
                                                     .oauth = mcp_oauth,
                                                     .console = console_doors});
    GrpcListener& grpc =
        all.add<GrpcListener>(context, loops, calls, credentials, peer_records, grpc_providers);
    PeerListener& peers = all.add<PeerListener>(PeerListener::Uses{.context = context,
                                                                   .loops = loops,
                                                                   .workers = workers,
                                                                   .records = peer_records,
                                                                   .events = events,
                                                                   .access = access,
                                                                   .hosts = tool_hosts});
    OperatorApi& operator_api =
        all.add<OperatorApi>(OperatorApi::Uses{.context = context,
                                               .workers = workers,
                                               .credentials = credentials,
                                               .ledger = ledger,
                                               .audit = audit,
                                               .rules = rules,
                                               .access = access,
                                               .peers = peer_records,
                                               .approvals = approvals,
                                               .calls = calls,
                                               .turns = turns,
                                               .devices = devices,
                                               .hosts = tool_hosts,
                                               .providers = grpc_providers,
                                               .mcp = mcp_servers,
                                               .public_listener = public_listener,
                                               .console = console_doors,
                                               .reload = reload,
                                               .read_config = read_config,
                                               .unhealthy = [this] { return unhealthy(); }});
    HealthApi& health_api =
        all.add<HealthApi>(HealthApi::Uses{.context = context,
                                           .workers = workers,
                                           .turns = turns,
                                           .unhealthy = [this] { return unhealthy(); },
                                           .sources = [this] { return operator_api.sources(); }});
    ConfigApi& config_api = all.add<ConfigApi>(ConfigApi::Uses{
        .workers = workers, .loaded = loaded_config, .read = read_config, .keys = [this] {
            return all.keys();
        }});
    ProcessMetrics& process_metrics =
        all.add<ProcessMetrics>(ProcessMetrics::Uses{.context = context,
                                                     .loops = loops,
                                                     .peers = peer_records,
                                                     .public_listener = public_listener,
                                                     .grpc = grpc,
                                                     .reload = last_reload});
    LiveData& live_data = all.add<LiveData>(LiveData::Uses{.context = context,
                                                           .workers = workers,
                                                           .audit = audit,
                                                           .events = events,
                                                           .approvals = approvals,
                                                           .credentials = credentials,
                                                           .calls = calls,
                                                           .operator_api = operator_api,
                                                           .traces = traces});
    AdminListener& admin = all.add<AdminListener>(context, loops, audit, console_doors);
    // What runs ends before the connections that carry it
    EventDelivery& event_delivery = all.add<EventDelivery>(loops, events, access);
    EventAgents& event_agents =
        all.add<EventAgents>(context, loops, turns, chats, session_workers, events);
    RunningWork& running_work = all.add<RunningWork>(calls, devices, fleet);

private:
    /// What the nodes of a fleet share besides tokens, as FleetNode looks after it.
    std::vector<FleetTrust::Watched> shared_by_nodes() {
        return {{"approval", [this] { return approvals.approvals().refresh(); }},
                {"device_tool", [this] { return refresh_device_tools(); }},
                {"peer", [this] { return peer_records.peers().refresh(); }},
                {"lease", [this] { return access.leases().refresh(); }},
                {"pin", [this] {
                     mcp_servers.read_pins_again();
                     return Result<void>();
                 }}};
    }
    Result<void> refresh_device_tools() {
        const auto released = approvals.device_tools().refresh();
        if (!released) return fail(released.error());
        for (const auto& [device, tools] : *released) devices.hub().release_tools(device, tools);
        return {};
    }
    std::vector<admin::Unhealthy> unhealthy() const {
        std::vector<admin::Unhealthy> found;
        for (const Component* const component : all.in_order())
            if (const auto health = component->health(); !health.ok)
                found.push_back({component->name(), health.reason});
        return found;
    }
};

}  // namespace crab::gateway
