#include "gateway/gateway.hpp"

#include "adapters/clawseed/front.hpp"
#include "adapters/rtp/calls/tools_api.hpp"
#include "adapters/rtp/hosts/host_directory.hpp"
#include "admin/admin_api.hpp"
#include "base/log.hpp"
#include "base/process/folder_lock.hpp"
#include "base/process/memory_trim.hpp"
#include "gateway/access_side.hpp"
#include "gateway/agent_side.hpp"
#include "gateway/approval_side.hpp"
#include "gateway/artifact_side.hpp"
#include "gateway/built_in_tools.hpp"
#include "gateway/call_rules.hpp"
#include "gateway/config_changes.hpp"
#include "gateway/device_page.hpp"
#include "gateway/event_side.hpp"
#include "gateway/grpc_providers.hpp"
#include "gateway/grpc_side.hpp"
#include "gateway/hooks.hpp"
#include "gateway/peer_side.hpp"
#include "gateway/public_service.hpp"
#include "gateway/service_options.hpp"
#include "gateway/tool_hosts.hpp"
#include "gateway/turn_runners.hpp"
#include "gateway/worktree_service_side.hpp"
#include "hosting/cron_sinks.hpp"
#include "hosting/hosted_commands.hpp"
#include "hosting/hosted_cron.hpp"
#include "hosting/hosted_memory.hpp"
#include "hosts/command/worktree_file.hpp"
#include "net/http/http_server.hpp"
#include "net/loop/finish_on.hpp"
#include "net/loop/listener.hpp"
#include "net/loop/loop_group.hpp"
#include "net/loop/periodic.hpp"
#include "sdk/tool_host/hosted_tools.hpp"
#include "setup/public_place.hpp"
#include "store/sqlite/audit_store_sqlite.hpp"
#include "store/sqlite/chat_session_store_sqlite.hpp"
#include "store/sqlite/event_turn_store_sqlite.hpp"
#include "store/sqlite/ledger_file.hpp"
#include "store/sqlite/token_store_sqlite.hpp"
#include "store/sqlite/tool_index_sqlite.hpp"

#include <atomic>
#include <future>
#include <mutex>
#include <thread>

#include <sys/resource.h>
#include <unistd.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace crab::gateway {
namespace {

constexpr Milliseconds kAuditEvery{200};
constexpr std::chrono::seconds kTokensEvery{30};
constexpr std::chrono::hours kPruneEvery{24};
constexpr std::chrono::seconds kForgetEvery{1};
constexpr std::chrono::seconds kTrimEvery{3};
constexpr std::size_t kPoolThreads = 4;
// for the tools of peers, whose schemas take time to compile
constexpr std::size_t kSchemaThreads = 2;
constexpr std::size_t kAuditThreads = 2;        // one writes, one searches
constexpr std::chrono::seconds kDrain{10};
constexpr std::chrono::seconds kGrpcDrain{30};  // docs/protocols/sw4rm.md, section 2
constexpr std::chrono::seconds kAnswers{2};  // for calls that the end has cancelled to be answered
constexpr std::string_view kGrpcFront = "grpc";
// bytes of what a principal sends, until they are dealt with
constexpr std::size_t kHeldByOne = std::size_t{64} << 20;
constexpr std::size_t kHeldInAll = std::size_t{512} << 20;

std::size_t threads_of(const config::GatewayConfig& config) {
    return config.gateway.threads != 0 ? config.gateway.threads
                                       : std::max(1u, std::thread::hardware_concurrency());
}

/// As many names as may hang at once: one for each server that the configuration names, and some of
/// peers.
std::size_t names_of(const config::GatewayConfig& config) {
    const std::size_t named = config.providers.size() + config.models.size() + config.hosts.size() +
                              (config.hitl ? 1 : 0) + (config.worktree_service ? 1 : 0);
    return std::clamp<std::size_t>(named + 2, 4, 16);
}

/// Ten thousand connections need more descriptors than the usual soft limit gives.
void raise_descriptor_limit() {
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == limit.rlim_max) return;
    limit.rlim_cur = limit.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &limit);
}

/// As many connections as were wanted, if that leaves a quarter of the descriptors for files, hosts
/// and models.
std::size_t connections_that_fit(std::size_t wanted) {
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return wanted;
    return std::min<std::size_t>(wanted, limit.rlim_cur - limit.rlim_cur / 4);
}

}  // namespace

/// Everything, in the order of its construction; what is used outlives its users.
struct Gateway::Parts {
    /// What one event loop has of its own.
    struct LoopSide {
        LoopSide(net::EventLoop& event_loop, core::CallServices services, trust::Tokens& tokens)
            : loop(event_loop),
              credentials(tokens, services.clock),
              pipeline(services, event_loop.executor(), event_loop.timers(), event_loop.ids()) {}
        net::EventLoop& loop;
        trust::CredentialCache credentials;
        core::Pipeline pipeline;
        std::unique_ptr<CurrentRunner> runner;
        std::unique_ptr<clawseed::Front> front;
        std::unique_ptr<rtp::ToolsApi> tools;
        std::unique_ptr<PublicService> service;
        std::unique_ptr<net::HttpServer> server;
    };

    config::GatewayConfig config;
    config::GatewayConfig last_read;  ///< by the latest reload
    Places places;
    std::function<Result<config::GatewayConfig>()> read_config;
    RealClock clock;
    Descriptor state_lock;
    BlockingPool pool{kPoolThreads};
    std::unique_ptr<net::NameLookups> names;  ///< of servers, which may hang
    BlockingPool audit_pool{kAuditThreads};  ///< what waits for the trail waits for nothing else
    std::unique_ptr<BlockingPool> hook_pool;  ///< programs that may hang
    std::mutex reloading;
    BlockingPool chat_pool{1};
    FairPool schema_pool{kSchemaThreads};
    ByteBudgets budgets{kHeldByOne, kHeldInAll};
    store::sqlite::ToolIndexSqlite tool_index;
    std::unique_ptr<store::sqlite::TokenStoreSqlite> token_store;
    std::unique_ptr<trust::Tokens> tokens;
    crypto::SystemRandom random;
    std::unique_ptr<trust::PairingCodes> codes;
    std::unique_ptr<trust::DeviceKeys> keys;
    std::unique_ptr<store::sqlite::ChatSessionStoreSqlite> chats;
    std::unique_ptr<store::sqlite::EventTurnStoreSqlite> event_turns;
    std::shared_ptr<store::sqlite::AuditStoreSqlite> audit_store;
    std::unique_ptr<core::AuditLog> audit;
    std::unique_ptr<store::sqlite::LedgerStoreSqlite> ledger_store;
    BlockingPool ledger_pool{1};
    /// Of earlier lives, until all who owe something for them have it
    std::vector<core::UnfinishedCall> unfinished;
    std::unique_ptr<core::LedgerJournal> journal;
    core::Registry registry;
    core::Ledger ledger{clock, core::Ledger::Options{}};
    core::EarlyCancels early_cancels;
    std::unique_ptr<EventSide> events;
    std::unique_ptr<Published<core::CallRules>> rules;
    std::unique_ptr<core::AwayCalls> away;
    std::unique_ptr<AccessSide> access;
    std::unique_ptr<ApprovalSide> approvals;
    std::unique_ptr<ArtifactSide> artifacts;
    core::MetricsPage metrics;
    clawseed::StatusFacts facts;
    std::unique_ptr<net::LoopGroup> loops;
    std::vector<std::unique_ptr<sdk::HostedTools>> hosted;
    std::shared_ptr<command::Worktrees> worktrees;
    std::unique_ptr<WorktreeServiceSide> worktree_service;  ///< null: the bindings count
    std::unique_ptr<HitlSide> hitl;  ///< null: operators and chats only
    std::unique_ptr<clawseed::Hub> hub;
    std::unique_ptr<Published<TurnSetup>> turn_setup;
    std::vector<std::unique_ptr<LoopSide>> sides;
    std::unique_ptr<AgentSide> agents;
    std::unique_ptr<rtp::HostDirectory> hosts;
    std::unique_ptr<sw4rm::ProviderDirectory> providers;
    std::unique_ptr<PeerSide> peers;
    std::shared_ptr<net::TlsContext> public_tls;  ///< null: plain
    std::unique_ptr<net::Listener> public_listener, admin_listener;
    std::unique_ptr<GrpcSide> grpc;  ///< null: off
    std::unique_ptr<rtp::ToolsApi> admin_tools;
    std::unique_ptr<admin::AdminApi> admin_api;
    std::unique_ptr<rtp::EventsApi> admin_events;
    std::unique_ptr<admin::WorktreesApi> worktrees_api;
    std::unique_ptr<AgentsApi> agents_api;
    std::unique_ptr<AdminService> admin_service;
    std::unique_ptr<net::HttpServer> admin_server;
    MemoryTrim trim;
    std::atomic<bool> trimming = false;
    std::vector<std::unique_ptr<net::Periodic>> periodic;
    bool started = false;

    Result<void> open_stores();
    Result<void> open_peers();
    Result<void> open_hosted();
    Result<void> open_commands();
    Result<void> build();
    Result<void> listen();
    void add_metrics();
    admin::Gateway admin_view();
    std::vector<core::RunningCallInfo> running() const;
    std::size_t cancel(const core::Principal& asker, std::string_view tenant,
                       std::string_view call_id);
    Result<void> open_grpc();
    Result<void> reload();
    void stop();
};

Result<void> Gateway::Parts::open_stores() {
    // Two gateways on one folder would each take the other's running calls for lost ones.
    auto locked = lock_folder(places.state_dir);
    if (!locked) return fail(std::move(locked.error()));
    state_lock = std::move(*locked);
    auto opened_tokens = store::sqlite::TokenStoreSqlite::open(places.state_dir / "trust.db");
    if (!opened_tokens) return fail(std::move(opened_tokens.error()));
    token_store = std::move(*opened_tokens);
    auto loaded = trust::Tokens::load(*token_store, clock);
    if (!loaded) return fail(std::move(loaded.error()));
    tokens = std::move(*loaded);
    codes = std::make_unique<trust::PairingCodes>(*tokens, clock);
    keys = std::make_unique<trust::DeviceKeys>(*tokens, clock);
    auto opened_chats =
        store::sqlite::ChatSessionStoreSqlite::open(places.state_dir / "sessions.db");
    if (!opened_chats) return fail(std::move(opened_chats.error()));
    chats = std::move(*opened_chats);
    constexpr std::string_view kUnanswered =
        "[no answer: the turn failed, or the gateway stopped before its end]";
    if (auto closed = chats->close_unanswered(kUnanswered, clock.system_now()); !closed)
        return fail(std::move(closed.error()));
    auto opened_turns = store::sqlite::EventTurnStoreSqlite::open(places.state_dir / "agents.db");
    if (!opened_turns) return fail(std::move(opened_turns.error()));
    event_turns = std::move(*opened_turns);
    auto opened_audit = store::sqlite::AuditStoreSqlite::open(places.state_dir / "audit.db");
    if (!opened_audit) return fail(std::move(opened_audit.error()));
    audit_store = std::move(*opened_audit);
    audit = std::make_unique<core::AuditLog>(audit_store, audit_pool, clock);
    auto opened_ledger =
        store::sqlite::open_ledger(places.state_dir / "ledger.db", *audit_store, clock);
    if (!opened_ledger) return fail(std::move(opened_ledger.error()));
    ledger_store = std::move(opened_ledger->store);
    unfinished = std::move(opened_ledger->unfinished);
    journal = std::make_unique<core::LedgerJournal>(*ledger_store, ledger_pool, clock);
    return {};
}

/// Peers are kept beside the tokens, whose store has checked the file.
Result<void> Gateway::Parts::open_peers() {
    auto opened = PeerSide::open(places.state_dir, config,
                                 {.clock = clock,
                                  .pool = pool,
                                  .names = *names,
                                  .random = random,
                                  .audit = *audit,
                                  .budgets = budgets});
    if (!opened) return fail(std::move(opened.error()));
    peers = std::move(*opened);
    auto earlier_turns = EarlierTurns::find(*event_turns, *chats, config, clock);
    if (!earlier_turns) return fail(std::move(earlier_turns.error()));
    auto opened_events = EventSide::open(
        places.state_dir / "events.db", config.events, peers->keys().identity.gateway_id,
        {.calls = unfinished, .turns = *earlier_turns}, {.pool = pool, .clock = clock});
    if (!opened_events) return fail(std::move(opened_events.error()));
    if (auto recorded = earlier_turns->record_ends(); !recorded) return recorded;
    if (auto told = ledger_store->mark_told(); !told) return told;
    unfinished = {};
    events = std::move(*opened_events);
    peers->on_pairing(events->pairing_witness(peers->keys().identity.gateway_id));
    return {};
}

/// The tool hosts that the configuration wants inside this process; jobs fire on the first loop.
Result<void> Gateway::Parts::open_hosted() {
    if (config.built_in_hosts.memory) {
        auto opened = hosting::HostedMemory::open(places.state_dir / "memory.db", clock);
        if (!opened) return fail(std::move(opened.error()));
        hosted.push_back(std::move(*opened));
    }
    if (config.built_in_hosts.cron) {
        auto opened = hosting::HostedCron::open(
            places.state_dir / "cron.db", loops->at(0),
            std::make_unique<hosting::OutboxEventSink>(events->outbox(), clock));
        if (!opened) return fail(std::move(opened.error()));
        hosted.push_back(std::move(*opened));
    }
    if (auto opened = open_commands(); !opened) return opened;
    for (const auto& each : hosted) {
        if (auto registered = each->register_in(registry); !registered) return registered;
    }
    return {};
}

/// The providers of commands; nothing of the sandbox is looked for when there are none.
Result<void> Gateway::Parts::open_commands() {
    const std::vector<std::filesystem::path> own_folders{
        places.state_dir, std::filesystem::path(places.admin_socket).parent_path()};
    auto made = hosting::make_worktrees(config, own_folders);
    if (!made) return fail(std::move(made.error()));
    worktrees = std::move(*made);
    auto bindings = command::load_bindings(places.state_dir / "worktrees.json");
    if (!bindings) return fail(std::move(bindings.error()));
    worktrees->set_bindings(std::move(*bindings));
    if (!hosting::has_commands(config)) return {};
    command::CommandServices::BoundWorktree bound_worktree;
    if (config.worktree_service) {
        auto service = service_options(*config.worktree_service, *names);
        if (!service)
            return fail(service.error().code,
                        fmt::format("worktree_service: {}", service.error().message));
        worktree_service = std::make_unique<WorktreeServiceSide>(*loops, *service);
        bound_worktree = [side = worktree_service.get()](std::string agent, std::string call) {
            return side->bound_worktree(std::move(agent), std::move(call));
        };
    }
    auto opened = hosting::HostedCommands::open(config, worktrees, loops->at(0), *audit,
                                                own_folders, std::move(bound_worktree));
    if (!opened) return fail(std::move(opened.error()));
    hosted.push_back(std::move(*opened));
    return {};
}

std::vector<core::RunningCallInfo> Gateway::Parts::running() const {
    std::vector<core::RunningCallInfo> all;
    for (const auto& side : sides) {
        auto calls = side->pipeline.running().list();
        all.insert(all.end(), std::make_move_iterator(calls.begin()),
                   std::make_move_iterator(calls.end()));
    }
    return all;
}

/// Callers reach only their own calls of that tenant, operators any.
std::size_t Gateway::Parts::cancel(const core::Principal& asker, std::string_view tenant,
                                   std::string_view call_id) {
    const bool is_operator = asker.roles.has(core::Role::kOperator);
    const auto allowed = [is_operator, id = asker.id, wanted = std::string(tenant)](
                             const core::Principal& owner, std::string_view of_tenant) {
        return is_operator || (owner.id == id && (wanted.empty() || of_tenant == wanted));
    };
    std::size_t found = away->cancel(call_id, allowed);
    for (const auto& side : sides)
        found += side->pipeline.running().cancel(call_id, allowed, asker.id);
    return found;
}

Result<void> Gateway::Parts::open_grpc() {
    const auto cancel_call = [this](const core::Principal& asker, std::string_view id) {
        using Answer = sw4rm::CallService::CancelAnswer;
        if (asker.roles.has(core::Role::kOperator)) {
            std::string owner;
            for (const auto& call : running()) {
                if (call.call_id != id || call.principal == owner) continue;
                if (!owner.empty()) return Answer::kAmbiguous;
                owner = call.principal;
            }
        }
        if (cancel(asker, {}, id) > 0) return Answer::kCancelling;
        return ledger.has_finished({.tenant = rules->get()->policy->home_tenant(asker),
                                    .principal = asker.id,
                                    .key = id})
                   ? Answer::kFinished
                   : Answer::kNotFound;
    };
    std::vector<GrpcSide::Loop> all;
    for (const auto& side : sides)
        all.push_back(
            {.loop = side->loop, .pipeline = side->pipeline, .credentials = side->credentials});
    const auto register_provider = [this](std::string principal, std::string id,
                                          std::vector<sw4rm::OfferedTool> tools) {
        return providers->register_tools(std::move(principal), std::move(id), std::move(tools));
    };
    auto opened = GrpcSide::open(config.grpc, all,
                                 {.certificates = peers->certificates(),
                                  .budgets = budgets,
                                  .cancel = cancel_call,
                                  .register_provider = register_provider});
    if (!opened) return fail(std::move(opened.error()));
    grpc = std::move(*opened);
    return {};
}

Result<void> Gateway::Parts::build() {
    hook_pool = std::make_unique<BlockingPool>(threads_of(config.hooks));
    auto made_rules = make_call_rules(config, *hook_pool);
    if (!made_rules) return fail(std::move(made_rules.error()));
    rules = std::make_unique<Published<core::CallRules>>(*made_rules);
    away = std::make_unique<core::AwayCalls>(*rules);
    auto opened_access =
        AccessSide::open(places.state_dir / "trust.db", config.leases,
                         {.rules = *rules, .clock = clock, .pool = pool, .audit = *audit});
    if (!opened_access) return fail(std::move(opened_access.error()));
    access = std::move(*opened_access);
    auto opened_approvals = ApprovalSide::open(places.state_dir / "trust.db", config.approvals,
                                               {.clock = clock,
                                                .pool = pool,
                                                .audit = *audit,
                                                .outbox = events->outbox(),
                                                .gateway_id = peers->keys().identity.gateway_id});
    if (!opened_approvals) return fail(std::move(opened_approvals.error()));
    approvals = std::move(*opened_approvals);
    auto opened_artifacts =
        ArtifactSide::open(places.state_dir / "artifacts", config.artifacts, clock, *audit);
    if (!opened_artifacts) return fail(std::move(opened_artifacts.error()));
    artifacts = std::move(*opened_artifacts);
    facts.started = clock.steady_now();
    loops = std::make_unique<net::LoopGroup>(threads_of(config), clock);
    if (config.hitl) {
        auto service = service_options(*config.hitl, *names);
        if (!service)
            return fail(service.error().code, fmt::format("hitl: {}", service.error().message));
        hitl =
            std::make_unique<HitlSide>(approvals->approvals(), loops->at(0), std::move(*service));
        approvals->also_ask(*hitl);
    }
    if (auto opened = open_hosted(); !opened) return fail(std::move(opened.error()));
    const core::CallServices services{.clock = clock,
                                      .registry = registry,
                                      .rules = *rules,
                                      .ledger = ledger,
                                      .early_cancels = early_cancels,
                                      .audit = *audit,
                                      .journal = journal.get(),
                                      .events = &events->calls(),
                                      .approvals = &approvals->approvals()};
    for (std::size_t i = 0; i < loops->size(); ++i)
        sides.push_back(std::make_unique<LoopSide>(loops->at(i), services, *tokens));
    auto turns = make_turn_setup(config);
    if (!turns) return fail(std::move(turns.error()));
    turn_setup = std::make_unique<Published<TurnSetup>>(*turns);
    for (const auto& side : sides) {
        side->runner = std::make_unique<CurrentRunner>(
            *turn_setup, CurrentRunner::Services{.loop = side->loop,
                                                 .pipeline = side->pipeline,
                                                 .chats = *chats,
                                                 .store_pool = chat_pool,
                                                 .index = tool_index,
                                                 .pool = pool,
                                                 .names = *names,
                                                 .artifacts = &artifacts->store(),
                                                 .artifact_pool = &artifacts->pool()});
    }
    LoopSide& home = *sides.front();
    if (const auto readable = AgentSide::read_agents(config); !readable)
        return fail(readable.error());
    agents = std::make_unique<AgentSide>(AgentSide::Services{.loop = home.loop,
                                                             .runner = *home.runner,
                                                             .outbox = events->outbox(),
                                                             .turns = *event_turns,
                                                             .chats = *chats,
                                                             .chat_pool = chat_pool,
                                                             .log = events->turns()});
    const auto runner_of = [this](net::EventLoop& loop) -> core::TurnRunner* {
        for (const auto& side : sides) {
            if (&side->loop == &loop) return side->runner.get();
        }
        return nullptr;
    };
    hub = std::make_unique<clawseed::Hub>(
        clawseed::Hub::Services{
            .clock = clock,
            .registry = registry,
            .rules = *rules,
            .audit = *audit,
            .chats = *chats,
            .store_pool = chat_pool,
            .schemas = &schema_pool,
            .device_tools = &approvals->device_tools(),
            .approvals = &approvals->approvals(),
            .turn_log = &events->turns(),
            .away = away.get(),
            .artifacts = &artifacts->store(),
            .artifact_pool = &artifacts->pool(),
            .on_left = [this](const std::string& credential_id) { tokens->seen(credential_id); }},
        make_clawseed_options(config), runner_of);
    tokens->on_revoked([this](const std::string& credential) {
        hub->close_credential(credential);
        approvals->approvals().withdraw(credential);
    });
    registry.reserve(agent::kFindTools);
    register_built_in_tools(
        registry,
        {.connected = [this] { return hub->connected(); },
         .paired = [this] { return devices_that_may_connect(*tokens, clock.system_now()); }});
    const auto cancel_call = [this](const core::Principal& asker, std::string_view tenant,
                                    std::string_view id) {
        using Answer = rtp::ToolsApi::CancelAnswer;
        if (cancel(asker, tenant, id) > 0) return Answer::kCancelling;
        if (ledger.has_finished({.tenant = tenant, .principal = asker.id, .key = id}))
            return Answer::kFinished;
        early_cancels.remember(tenant, asker.id, id, clock.steady_now());
        return Answer::kNotFound;
    };
    auto host_options = make_tool_host_options(config);
    if (!host_options) return fail(std::move(host_options.error()));
    std::vector<net::EventLoop*> all_loops;
    for (const auto& side : sides) all_loops.push_back(&side->loop);
    hosts = std::make_unique<rtp::HostDirectory>(
        rtp::HostDirectory::Services{.registry = registry,
                                     .schemas = schema_pool,
                                     .home = *all_loops.front(),
                                     .loops = all_loops},
        std::move(*host_options));
    auto made_providers = make_grpc_providers(config, *names,
                                              {.registry = registry,
                                               .schemas = schema_pool,
                                               .home = *all_loops.front(),
                                               .loops = all_loops});
    if (!made_providers) return fail(std::move(made_providers.error()));
    providers = std::move(*made_providers);
    peers->peers().on_change(access->on_peer_changed());
    peers->begin(sides.front()->loop, *hosts);
    auto connections = std::make_shared<std::atomic<std::size_t>>(0);
    if (config.listen.tls) {
        net::TlsContext::Options tls_options;
        tls_options.certificate.file = config.listen.tls->cert;
        tls_options.key.file = config.listen.tls->key;
        auto made = net::TlsContext::make(std::move(tls_options));
        if (!made) return fail(std::move(made.error()));
        public_tls = std::move(*made);
    }
    for (const auto& side : sides) {
        side->tools = std::make_unique<rtp::ToolsApi>(side->pipeline, config.gateway.name,
                                                      cancel_call, away.get());
        side->front = std::make_unique<clawseed::Front>(
            side->loop,
            clawseed::Front::Services{
                .hub = *hub,
                .pipeline = side->pipeline,
                .runner = *side->runner,
                .credentials = side->credentials,
                .codes = *codes,
                .keys = *keys,
                .pool = pool,
                .ledger = ledger,
                .journal = journal.get(),
                .facts = facts,
                .budgets = &budgets,
                .session_deleted = [this, end_leases = access->on_session_deleted()](
                                       const core::Principal& owner, const std::string& session) {
                    approvals->approvals().end_session(owner.id, session);
                    end_leases(owner, session);
                }});
        side->service = std::make_unique<PublicService>(
            *side->front, *side->tools, artifacts->api(), side->credentials, metrics, config.listen,
            config.limits.request_body_bytes, budgets);
        net::HttpServerOptions options;
        options.max_connections = connections_that_fit(config.listen.max_connections);
        options.count = connections;
        options.tls = public_tls;
        options.connection.max_queued_bytes = config.limits.outgoing_queue_bytes;
        options.connection.stall =
            std::chrono::duration_cast<Milliseconds>(config.limits.slow_reader);
        side->server =
            std::make_unique<net::HttpServer>(side->loop, *side->service, std::move(options));
        metrics.add(side->pipeline.metrics());
    }
    LoopSide& first = *sides.front();
    admin_tools = std::make_unique<rtp::ToolsApi>(first.pipeline, config.gateway.name, cancel_call,
                                                  away.get());
    return {};
}

admin::Gateway Gateway::Parts::admin_view() {
    admin::Gateway view;
    view.presence = [this] {
        std::vector<admin::Presence> all;
        for (const auto& device : hub->connected()) {
            auto& shown =
                all.emplace_back(admin::Presence{.device = device.slug,
                                                 .name = device.display_name,
                                                 .principal = device.principal,
                                                 .tools = device.tools,
                                                 .since = device.since,
                                                 .battery = device.presence.battery,
                                                 .charging = device.presence.charging,
                                                 .metered = device.presence.metered,
                                                 .foreground = device.presence.foreground});
            for (const auto& refused : device.refused)
                shown.refused.push_back(
                    {refused.name, std::string(token_of(refused.code)), refused.message});
        }
        return all;
    };
    view.running = [this] { return running(); };
    view.cancel = [this](const core::Principal& asker, std::string_view id) {
        return cancel(asker, {}, id);
    };
    view.waiting_tools = [this](std::string_view device) {
        return approvals->device_tools().waiting(device);
    };
    view.approve_tools = [this](const std::string& device, const std::vector<std::string>& names) {
        auto approved = approvals->device_tools().approve(device, names);
        if (approved) hub->release_tools(device, *approved);
        return approved;
    };
    view.reload = [this] { return reload(); };
    view.ledger_failing = [this] { return journal->failing(); };
    view.version = CRAB_VERSION;
    view.public_endpoint = public_listener ? public_listener->endpoint().text() : std::string();
    if (const auto place = setup::public_place(config.listen, facts.port);
        place && public_listener) {
        view.reach = {.url = place->url("ws", "wss"),
                      .ca_file = place->ca_file,
                      .only_here = place->loopback,
                      .peers = {}};
    }
    view.reach.peers = setup::peer_url(config.listen);
    view.device_page =
        public_listener ? device_page_address(config.listen, facts.port) : std::string();
    view.admin_socket = places.admin_socket;
    view.state_dir = places.state_dir;
    view.token_lifetime = std::chrono::duration_cast<Milliseconds>(config.devices.token_lifetime);
    view.started = facts.started;
    return view;
}

Result<void> Gateway::Parts::listen() {
    if (config.listen.public_address) {
        auto listener = net::Listener::bind(net::Endpoint::tcp(config.listen.public_address->host,
                                                               config.listen.public_address->port));
        if (!listener) return fail(std::move(listener.error()));
        public_listener = std::move(*listener);
        facts.port = public_listener->endpoint().port;
        for (const auto& side : sides) {
            if (auto listening = side->server->listen(*public_listener); !listening)
                return fail(std::move(listening.error()));
        }
    }
    if (config.grpc.is_on()) {
        if (auto opened = open_grpc(); !opened) return opened;
    }
    auto listener = net::Listener::bind(net::Endpoint::unix_socket(places.admin_socket));
    if (!listener) return fail(std::move(listener.error()));
    admin_listener = std::move(*listener);
    LoopSide& first = *sides.front();
    admin_api =
        std::make_unique<admin::AdminApi>(admin::AdminApi::Services{.pipeline = first.pipeline,
                                                                    .audit = *audit,
                                                                    .metrics = metrics,
                                                                    .tokens = *tokens,
                                                                    .codes = *codes,
                                                                    .pool = pool},
                                          admin_view());
    admin_events = std::make_unique<rtp::EventsApi>(first.loop, events->services(access->access()));
    worktrees_api =
        std::make_unique<admin::WorktreesApi>(worktrees, places.state_dir / "worktrees.json", pool);
    agents_api = std::make_unique<AgentsApi>(AgentsApi::Services{.setup = *turn_setup,
                                                                 .pipeline = first.pipeline,
                                                                 .turns = *event_turns,
                                                                 .chats = *chats,
                                                                 .pool = pool});
    admin_service = std::make_unique<AdminService>(
        *admin_api, *admin_tools, peers->records_api(), peers->pairings_api(), *admin_events,
        access->leases_api(), access->policy_api(), *worktrees_api, *agents_api, approvals->api(),
        artifacts->api(), *first.front);
    admin_server = std::make_unique<net::HttpServer>(first.loop, *admin_service);
    if (auto listening = admin_server->listen(*admin_listener); !listening) return listening;
    return peers->listen(events->services(access->access()), access->access(), access->leases_api(),
                         approvals->api());
}

void Gateway::Parts::add_metrics() {
    metrics.add([this](std::string& out) {
        const auto live = hub->connected();
        core::append_metric(out, "crab_devices_connected", "gauge",
                            "Live connections of devices and chat clients.",
                            static_cast<double>(live.size()));
        core::append_metric(out, "crab_tools", "gauge", "Tools registered now.",
                            static_cast<double>(registry.snapshot()->size()));
        core::append_metric(out, "crab_calls_running", "gauge", "Calls being worked on.",
                            static_cast<double>(running().size()));
        core::append_metric(out, "crab_calls_waiting_for_devices", "gauge",
                            "Calls that wait for a device that is away.",
                            static_cast<double>(away->waiting()));
        core::append_metric(out, "crab_ledger_entries", "gauge",
                            "Calls that a repeat would join or replay.",
                            static_cast<double>(ledger.entries()));
        core::append_metric(out, "crab_ledger_commits_total", "counter",
                            "Durable commits of the ledger.",
                            static_cast<double>(journal->commits()));
        core::append_metric(out, "crab_ledger_writes_total", "counter",
                            "Admissions and ends made durable.",
                            static_cast<double>(journal->changes()));
        core::append_metric(out, "crab_ledger_refused_total", "counter",
                            "Admissions and ends that the disk refused.",
                            static_cast<double>(journal->refused()));
        core::append_metric(out, "crab_ledger_failing", "gauge",
                            "1 while calls with side effects or a key are refused.",
                            journal->failing() ? 1 : 0);
        core::append_metric(out, "crab_audit_backlog_bytes", "gauge",
                            "Audit records not stored yet.",
                            static_cast<double>(audit->backlog_bytes()));
        core::append_metric(out, "crab_audit_lost_total", "counter",
                            "Audit records that the store refused.",
                            static_cast<double>(audit->lost()));
        core::append_metric(
            out, "crab_uptime_seconds", "gauge", "Since the start.",
            std::chrono::duration<double>(clock.steady_now() - facts.started).count());
        events->append_metrics(out);
        append_host_metrics(out, hosts->status());
        append_provider_metrics(out, providers->status());
        access->append_metrics(out);
        approvals->append_metrics(out);
        artifacts->append_metrics(out, hub->uploads());
        std::vector<const CurrentRunner*> runners;
        for (const auto& side : sides) runners.push_back(side->runner.get());
        append_turn_metrics(out, runners);
        agents->append_metrics(out);
        append_allocation_metric(out);
    });
}

/// On a thread that may take its time: everything is compiled here.
Result<void> Gateway::Parts::reload() {
    const std::scoped_lock one_at_a_time(reloading);
    auto read = read_config();
    if (!read) return fail(std::move(read.error()));
    auto made = make_call_rules(*read, *hook_pool, rules->get().get());
    if (!made) return fail(std::move(made.error()));
    auto turns = make_turn_setup(*read);
    if (!turns) return fail(std::move(turns.error()));
    auto event_agents = AgentSide::read_agents(*read);
    if (!event_agents) return fail(std::move(event_agents.error()));
    rules->set(*made);
    turn_setup->set(*turns);
    sides.front()->loop.post(
        [this, changed = std::move(*event_agents)] { agents->set_agents(changed); });
    access->set_options(read->leases);
    approvals->set_options(read->approvals);
    artifacts->set_options(read->artifacts);
    hub->set_options(make_clawseed_options(*read));
    log::configure(read->gateway.log.level, read->gateway.log.format);
    if (public_tls) {
        if (const auto fresh = public_tls->reload(); !fresh)
            log::error("the old certificate stays", {{"reason", fresh.error().message}});
    }
    // Against what was read last: a change is told once, one that waits for a start until it is
    // taken back.
    const ConfigChanges changes = config_changes(last_read, *read),
                        waiting = config_changes(config, *read);
    if (!waiting.at_next_start.empty())
        log::warn("some changes of the configuration take effect with the next start",
                  {{"keys", fmt::format("{}", fmt::join(waiting.at_next_start, ", "))}});
    log::info("configuration reloaded",
              {{"file", read->source.string()},
               {"changed", changes.now.empty() ? "nothing that counts at once"
                                               : fmt::format("{}", fmt::join(changes.now, ", "))}});
    last_read = std::move(*read);
    return {};
}

void Gateway::Parts::stop() {
    if (!std::exchange(started, false)) return;
    for (const auto& side : sides) {
        side->loop.post([raw = side.get()] {
            raw->service->stop();
            raw->server->stop_accepting();
        });
    }
    sides.front()->loop.post([this] {
        admin_service->stop();
        admin_server->stop_accepting();
        peers->stop_accepting();
    });
    if (grpc) grpc->drain();
    approvals->approvals().stop();  // whoever waits for a person does not hold the end up
    if (hitl) hitl->stop();
    // Calls that run have some time to end by themselves (docs/protocols/rtp.md, section 3,
    // "Stopping").
    const auto began = std::chrono::steady_clock::now();
    const auto wait_for_calls = [&](auto limit, std::string_view front) {
        const auto counts = [&](const core::RunningCallInfo& call) {
            return front.empty() || call.front == front;
        };
        while (std::ranges::any_of(running(), counts) &&
               std::chrono::steady_clock::now() < began + limit) {
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
        }
    };
    wait_for_calls(kDrain, {});
    if (grpc) {
        wait_for_calls(kGrpcDrain, kGrpcFront);
        grpc->cancel();
        wait_for_calls(kGrpcDrain + kAnswers, kGrpcFront);
    }
    // Turns and calls end first, then their connections, then the loops that carried them.
    std::promise<void> chats_ended;
    hub->stop_chats([&] { chats_ended.set_value(); });
    chats_ended.get_future().wait_for(std::chrono::seconds(5));
    net::EventLoop& front = sides.front()->loop;
    net::finish_on(front, [&](auto done) { agents->stop(std::move(done)); });
    // pairings end as soon as they are cancelled, but for a commit that runs
    net::finish_on(front, [&](auto done) { peers->stop(std::move(done)); });
    net::finish_on(front, [&](auto done) { admin_events->stop(std::move(done)); });
    if (grpc) grpc->stop(std::chrono::seconds(10));
    std::vector<std::promise<void>> ended(sides.size() + 1);
    for (std::size_t i = 0; i < sides.size(); ++i) {
        sides[i]->loop.post([this, i, &ended] {
            if (i == 0) periodic.clear();
            sides[i]->server->stop([i, &ended] { ended[i].set_value(); });
        });
    }
    front.post([this, &ended] { admin_server->stop([&ended] { ended.back().set_value(); }); });
    for (auto& end : ended) end.get_future().wait_for(std::chrono::seconds(10));
    hosts->stop();
    providers->stop();
    if (worktree_service) worktree_service->stop();
    for (const auto& each : hosted)
        net::finish_on(front, [&](auto done) { each->stop(std::move(done)); });
    schema_pool.settle();  // lists of tools that were read are taken in on loops
    chat_pool.settle();  // what chats still decide or store answers on loops
    loops->stop_and_join();
    journal.reset();  // what waits is written while the loops that asked for it still exist
    events.reset();
    if (const auto flushed = tokens->flush(); !flushed)
        log::warn("token uses were not stored", {{"reason", flushed.error().message}});
    peers->flush();
    if (const auto flushed = access->leases().flush(); !flushed)
        log::warn("the ends of leases were not stored", {{"reason", flushed.error().message}});
    audit->flush_and_wait();
    audit_pool.settle();
    names->settle();  // who asked waits on a loop
    pool.settle();  // what it runs refers to the stores, which end before it
    public_listener.reset();
    admin_listener.reset();
}

Gateway::Gateway(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

Gateway::~Gateway() { stop(); }

Result<std::unique_ptr<Gateway>> Gateway::start(
    config::GatewayConfig config, Places places,
    std::function<Result<config::GatewayConfig>()> read_config) {
    raise_descriptor_limit();
    log::configure(config.gateway.log.level, config.gateway.log.format);
    auto parts = std::make_unique<Parts>();
    parts->last_read = config;
    parts->config = std::move(config);
    parts->places = std::move(places);
    parts->read_config = std::move(read_config);
    parts->names = std::make_unique<net::NameLookups>(names_of(parts->config));
    if (auto opened = parts->open_stores(); !opened) return fail(std::move(opened.error()));
    if (auto opened = parts->open_peers(); !opened) return fail(std::move(opened.error()));
    if (auto built = parts->build(); !built) return fail(std::move(built.error()));
    if (auto listening = parts->listen(); !listening) return fail(std::move(listening.error()));
    parts->add_metrics();
    net::EventLoop& first = parts->loops->at(0);
    Parts* const raw = parts.get();
    parts->periodic.push_back(
        std::make_unique<net::Periodic>(first, kAuditEvery, [raw] { raw->audit->flush(); }));
    parts->periodic.push_back(std::make_unique<net::Periodic>(
        first, std::chrono::duration_cast<Milliseconds>(kTokensEvery), [raw] {
            raw->pool.post([raw] {
                if (const auto flushed = raw->tokens->flush(); !flushed)
                    log::warn("token uses were not stored", {{"reason", flushed.error().message}});
            });
        }));
    parts->periodic.push_back(std::make_unique<net::Periodic>(
        first, std::chrono::duration_cast<Milliseconds>(kPruneEvery), [raw] {
            raw->pool.post([raw] {
                (void)raw->audit_store->prune(raw->clock.system_now() -
                                              raw->config.audit.retention);
            });
            raw->pool.post([raw] { raw->agents->forget_old(); });
        }));
    parts->periodic.push_back(std::make_unique<net::Periodic>(
        first, std::chrono::duration_cast<Milliseconds>(kForgetEvery),
        [raw] { raw->events->forget_old(); }));
    parts->periodic.push_back(std::make_unique<net::Periodic>(
        first, std::chrono::duration_cast<Milliseconds>(kForgetEvery), [raw] {
            raw->pool.post([raw] {
                (void)raw->ledger_store->forget(raw->clock.system_now() -
                                                core::LedgerJournal::Options{}.keep);
            });
        }));
    parts->periodic.push_back(std::make_unique<net::Periodic>(
        first, std::chrono::duration_cast<Milliseconds>(kTrimEvery), [raw] {
            if (raw->trimming.exchange(true)) return;
            raw->pool.post([raw] {
                raw->trim.run();
                raw->trimming = false;
            });
        }));
    parts->periodic.push_back(parts->access->keep(first));
    parts->periodic.push_back(parts->artifacts->keep(first));
    first.post([raw] {
        for (const auto& each : raw->hosted) each->start();
        raw->peers->start();
        raw->agents->set_agents(AgentSide::read_agents(raw->config).value());
    });
    parts->loops->start();
    parts->hosts->start();
    parts->providers->start();
    parts->started = true;
    log::info("started", {{"version", CRAB_VERSION},
                          {"config", parts->config.source.empty() ? "none, the defaults count"
                                                                  : parts->config.source.string()},
                          {"state_dir", parts->places.state_dir.string()},
                          {"admin", parts->places.admin_socket.string()},
                          {"pid", ::getpid()}});
    return std::unique_ptr<Gateway>(new Gateway(std::move(parts)));
}

std::string Gateway::public_endpoint() const {
    return parts_->public_listener ? parts_->public_listener->endpoint().text() : std::string();
}
std::string Gateway::grpc_endpoint() const {
    return parts_->grpc ? parts_->grpc->endpoint() : std::string();
}
std::string Gateway::peer_endpoint() const { return parts_->peers->endpoint(); }
std::string Gateway::admin_socket() const { return parts_->places.admin_socket; }
Result<void> Gateway::reload() { return parts_->reload(); }
void Gateway::stop() { parts_->stop(); }

}  // namespace crab::gateway
