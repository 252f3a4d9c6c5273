#include "gateway/gateway.hpp"

#include "base/log.hpp"
#include "gateway/access_rights.hpp"
#include "gateway/admin_listener.hpp"
#include "gateway/artifacts.hpp"
#include "gateway/audit_trail.hpp"
#include "gateway/built_in_hosts.hpp"
#include "gateway/call_approvals.hpp"
#include "gateway/call_ledger.hpp"
#include "gateway/call_path.hpp"
#include "gateway/chat_sessions.hpp"
#include "gateway/command_providers.hpp"
#include "gateway/components.hpp"
#include "gateway/config_changes.hpp"
#include "gateway/credentials.hpp"
#include "gateway/device_fronts.hpp"
#include "gateway/event_agents.hpp"
#include "gateway/event_log.hpp"
#include "gateway/event_loops.hpp"
#include "gateway/grpc_listener.hpp"
#include "gateway/grpc_providers.hpp"
#include "gateway/hitl_service.hpp"
#include "gateway/log_settings.hpp"
#include "gateway/maintenance.hpp"
#include "gateway/peer_listener.hpp"
#include "gateway/peer_records.hpp"
#include "gateway/public_listener.hpp"
#include "gateway/rules_in_force.hpp"
#include "gateway/running_work.hpp"
#include "gateway/session_workers.hpp"
#include "gateway/state_folder.hpp"
#include "gateway/tool_hosts.hpp"
#include "gateway/turns.hpp"
#include "gateway/workers.hpp"

#include <mutex>

#include <sys/resource.h>
#include <unistd.h>

namespace crab::gateway {
namespace {

// bytes of what a principal sends, until they are dealt with
constexpr std::size_t kHeldByOne = std::size_t{64} << 20;
constexpr std::size_t kHeldInAll = std::size_t{512} << 20;

/// Ten thousand connections need more descriptors than the usual soft limit gives.
void raise_descriptor_limit() {
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == limit.rlim_max) return;
    limit.rlim_cur = limit.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace

/// A gateway is this list: its components, in the order in which they start. A new one is a line
/// here and files of its own.
struct Gateway::List {
    List(config::GatewayConfig config_of_start, GatewayPaths paths_of_start, ReadConfig read)
        : config(std::move(config_of_start)),
          paths(std::move(paths_of_start)),
          read_config(std::move(read)),
          last_read(config) {}

    const config::GatewayConfig config;  ///< of the start
    const GatewayPaths paths;
    const ReadConfig read_config;
    std::mutex reloading;
    config::GatewayConfig last_read;  ///< by the latest reload
    RealClock clock;
    core::Registry registry;
    core::MetricsPage metrics;
    ByteBudgets budgets{kHeldByOne, kHeldInAll};
    const GatewayContext context{.config = config,
                                 .paths = paths,
                                 .clock = clock,
                                 .registry = registry,
                                 .metrics = metrics,
                                 .budgets = budgets};
    Components all{clock};

    // Stores, and who may do what
    LogSettings& log_settings = all.add<LogSettings>(context);
    StateFolder& state_folder = all.add<StateFolder>(context);
    Workers& workers = all.add<Workers>(context);
    Credentials& credentials = all.add<Credentials>(context);
    ChatSessions& chats = all.add<ChatSessions>(context);
    AuditTrail& audit = all.add<AuditTrail>(context);
    CallLedger& ledger = all.add<CallLedger>(context, audit);
    PeerRecords& peer_records = all.add<PeerRecords>(context, workers, audit);
    EventLog& events = all.add<EventLog>(context, workers, chats, ledger, peer_records);
    RulesInForce& rules = all.add<RulesInForce>(context);
    AccessRights& access = all.add<AccessRights>(context, workers, audit, rules);
    CallApprovals& approvals =
        all.add<CallApprovals>(context, workers, audit, events, peer_records);
    Artifacts& artifacts = all.add<Artifacts>(context, audit);
    // The call path, and what runs calls
    EventLoops& loops = all.add<EventLoops>(context);
    SessionWorkers& session_workers = all.add<SessionWorkers>();
    HitlService& hitl = all.add<HitlService>(context, loops, workers, approvals);
    BuiltInHosts& built_in_hosts = all.add<BuiltInHosts>(context, loops, events);
    CommandProviders& commands = all.add<CommandProviders>(context, loops, workers, audit);
    CallPath& calls = all.add<CallPath>(CallPath::Uses{.context = context,
                                                       .loops = loops,
                                                       .rules = rules,
                                                       .ledger = ledger,
                                                       .audit = audit,
                                                       .events = events,
                                                       .approvals = approvals,
                                                       .credentials = credentials});
    Turns& turns = all.add<Turns>(Turns::Uses{.context = context,
                                              .workers = workers,
                                              .session_workers = session_workers,
                                              .chats = chats,
                                              .calls = calls,
                                              .artifacts = artifacts});
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
    // Listeners
    PublicListener& public_listener =
        all.add<PublicListener>(context, loops, calls, ledger, devices, artifacts);
    GrpcListener& grpc = all.add<GrpcListener>(context, loops, calls, peer_records, grpc_providers);
    PeerListener& peers = all.add<PeerListener>(PeerListener::Uses{.context = context,
                                                                   .loops = loops,
                                                                   .workers = workers,
                                                                   .records = peer_records,
                                                                   .events = events,
                                                                   .access = access,
                                                                   .approvals = approvals,
                                                                   .hosts = tool_hosts});
    AdminListener& admin =
        all.add<AdminListener>(AdminListener::Uses{.context = context,
                                                   .loops = loops,
                                                   .workers = workers,
                                                   .credentials = credentials,
                                                   .chats = chats,
                                                   .ledger = ledger,
                                                   .audit = audit,
                                                   .events = events,
                                                   .access = access,
                                                   .approvals = approvals,
                                                   .artifacts = artifacts,
                                                   .commands = commands,
                                                   .calls = calls,
                                                   .turns = turns,
                                                   .devices = devices,
                                                   .peer_records = peer_records,
                                                   .peers = peers,
                                                   .public_listener = public_listener,
                                                   .reload = [this] { return reload(); }});
    // What runs ends before the connections that carry it
    EventAgents& event_agents =
        all.add<EventAgents>(context, loops, turns, chats, session_workers, events);
    RunningWork& running_work = all.add<RunningWork>(calls, devices);

    Result<void> reload();
};

/// On a thread that may take its time: everything is compiled here.
Result<void> Gateway::List::reload() {
    const std::scoped_lock one_at_a_time(reloading);
    auto read = read_config();
    if (!read) return fail(std::move(read.error()));
    if (auto applied = all.reload(*read); !applied) return applied;
    // Against what was read last: a change is told once, one that waits for a start until it is
    // taken back.
    const std::vector<ConfigKey> keys = all.keys();
    log_reload(read->source, config_changes(keys, last_read, *read).now,
               config_changes(keys, config, *read).at_next_start);
    last_read = std::move(*read);
    return {};
}

Gateway::Gateway(std::unique_ptr<List> list) : list_(std::move(list)) {}

Gateway::~Gateway() = default;

Result<std::unique_ptr<Gateway>> Gateway::start(config::GatewayConfig config, GatewayPaths paths,
                                                ReadConfig read_config,
                                                std::string_view fail_start_of) {
    raise_descriptor_limit();
    auto list = std::make_unique<List>(std::move(config), std::move(paths), std::move(read_config));
    list->all.fail_start_of(fail_start_of);
    if (auto started = list->all.start(); !started) return fail(std::move(started.error()));
    list->all.begin(list->metrics);
    const std::filesystem::path& source = list->config.source;
    log::info("started", {{"version", CRAB_VERSION},
                          {"config", source.empty() ? "none (defaults)" : source.string()},
                          {"state_dir", list->paths.state_dir.string()},
                          {"admin", list->paths.admin_socket.string()},
                          {"pid", ::getpid()}});
    return std::unique_ptr<Gateway>(new Gateway(std::move(list)));
}

std::vector<ConfigKey> Gateway::config_keys() { return List({}, {}, {}).all.keys(); }
std::vector<std::string_view> Gateway::component_names() { return List({}, {}, {}).all.names(); }
std::string Gateway::public_endpoint() const { return list_->public_listener.endpoint(); }
std::string Gateway::grpc_endpoint() const { return list_->grpc.endpoint(); }
std::string Gateway::peer_endpoint() const { return list_->peers.endpoint(); }
std::string Gateway::admin_socket() const { return list_->paths.admin_socket; }
Gateway::ApiDocuments Gateway::api_documents() const {
    const PeerService* const peers = list_->peers.service();
    return {.public_listener = list_->public_listener.api_document(),
            .admin = list_->admin.api_document(),
            .peers = peers != nullptr ? peers->api_document() : std::string()};
}
Result<void> Gateway::reload() { return list_->reload(); }
void Gateway::stop() { list_->all.stop(); }

}  // namespace crab::gateway
