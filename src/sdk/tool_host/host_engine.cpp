#include "sdk/tool_host/host_engine.hpp"

#include "adapters/rtp/calls/tools_api.hpp"
#include "adapters/rtp/pairing/pairing_remote.hpp"
#include "base/descriptor.hpp"
#include "base/log.hpp"
#include "base/process/folder_lock.hpp"
#include "core/audit/audit_store_none.hpp"
#include "core/pipeline/pipeline.hpp"
#include "net/http/http_server.hpp"
#include "net/loop/finish_on.hpp"
#include "net/loop/listener.hpp"
#include "net/loop/loop_group.hpp"
#include "net/loop/periodic.hpp"
#include "sdk/tool_host/host_service.hpp"
#include "store/sqlite/audit_store_sqlite.hpp"
#include "store/sqlite/ledger_file.hpp"

#include <utility>

namespace crab::sdk {
namespace {

constexpr Milliseconds kAuditEvery{200};
constexpr std::chrono::hours kPruneEvery{24};
constexpr std::chrono::days kAuditKept{90};
constexpr std::chrono::seconds kForgetEvery{1};
constexpr std::size_t kMostConnections = 256;
constexpr Milliseconds kDrain{10'000};

/// What a configuration would say about calls: nothing is denied, nobody is counted.
std::shared_ptr<const core::CallRules> open_rules() {
    auto rules = std::make_shared<core::CallRules>();
    rules->policy = std::move(core::Policy::make({}).value());
    rules->callers_are_gateways = true;
    rules->operation_ids = true;
    rules->max_retries = 0;  // who calls this host repeats
    rules->rates = std::make_shared<core::RateLimits>(std::vector<core::RateRule>());
    return rules;
}

}  // namespace

/// Everything, in the order of its construction; what is used outlives its users.
struct HostEngine::Parts {
    RealClock clock;
    Descriptor state_lock;
    BlockingPool pool{2};
    std::shared_ptr<core::AuditStore> audit_store;
    std::unique_ptr<core::AuditLog> audit;
    // it and the journal: null without a folder for state
    std::unique_ptr<store::sqlite::LedgerStoreSqlite> ledger_store;
    BlockingPool ledger_pool{1};
    std::unique_ptr<core::LedgerJournal> journal;
    core::Registry registry;
    core::Ledger ledger{clock, core::Ledger::Options{}};
    core::EarlyCancels early_cancels;
    Published<core::CallRules> rules{open_rules()};
    net::LoopGroup loops{1, clock};
    std::unique_ptr<HostedTools> hosted;
    std::unique_ptr<core::Pipeline> pipeline;
    std::unique_ptr<rtp::ToolsApi> tools;
    std::unique_ptr<net::Listener> listener;
    std::unique_ptr<RemoteTrust> trust;             // null on a Unix socket
    std::unique_ptr<rtp::PairingRemote> pairing;    // likewise
    std::unique_ptr<HostCallers> callers;
    std::unique_ptr<HostService> service;
    std::unique_ptr<net::HttpServer> server;
    std::vector<std::unique_ptr<net::Periodic>> periodic;
    bool started = false;

    Result<void> open_stores(const Options& options);
    void build(const Options& options);
    Result<void> admit_callers(const Options& options);
    Result<void> listen(const Options& options);
    rtp::ToolsApi::CancelAnswer cancel(const core::Principal& asker, std::string_view tenant,
                                       std::string_view call_id);
    void start();
    void stop();
};

Result<void> HostEngine::Parts::open_stores(const Options& options) {
    const auto file = [&](std::string_view name) {
        return options.state_dir / (std::string(name) + ".db");
    };
    audit_store = std::make_shared<core::AuditStoreNone>();
    if (!options.state_dir.empty()) {
        // Two hosts on one folder would each take the other's running calls for lost ones.
        auto locked = lock_folder(options.state_dir);
        if (!locked) return fail(std::move(locked.error()));
        state_lock = std::move(*locked);
        auto opened_audit = store::sqlite::AuditStoreSqlite::open(file("audit"));
        if (!opened_audit) return fail(std::move(opened_audit.error()));
        audit_store = std::move(*opened_audit);
        auto opened_ledger = store::sqlite::open_ledger(file("ledger"), *audit_store, clock);
        if (!opened_ledger) return fail(std::move(opened_ledger.error()));
        ledger_store = std::move(opened_ledger->store);
        if (auto told = ledger_store->mark_told(); !told) return told;
        journal = std::make_unique<core::LedgerJournal>(*ledger_store, ledger_pool, clock);
    }
    audit = std::make_unique<core::AuditLog>(audit_store, pool, clock);
    auto opened = options.make_tools(loops.at(0), *audit);
    if (!opened) return fail(std::move(opened.error()));
    hosted = std::move(*opened);
    return hosted->register_in(registry);
}

/// Whoever calls reaches only calls of its own.
rtp::ToolsApi::CancelAnswer HostEngine::Parts::cancel(const core::Principal& asker,
                                                      std::string_view tenant,
                                                      std::string_view call_id) {
    using Answer = rtp::ToolsApi::CancelAnswer;
    const auto allowed = [id = asker.id, wanted = std::string(tenant)](const core::Principal& owner,
                                                                       std::string_view of_tenant) {
        return owner.id == id && of_tenant == wanted;
    };
    if (pipeline->running().cancel(call_id, allowed) > 0) return Answer::kCancelling;
    if (ledger.has_finished({.tenant = tenant, .principal = asker.id, .key = call_id}))
        return Answer::kFinished;
    early_cancels.remember(tenant, asker.id, call_id, clock.steady_now());
    return Answer::kNotFound;
}

void HostEngine::Parts::build(const Options& options) {
    net::EventLoop& loop = loops.at(0);
    const core::CallServices services{.clock = clock,
                                      .registry = registry,
                                      .rules = rules,
                                      .ledger = ledger,
                                      .early_cancels = early_cancels,
                                      .audit = *audit,
                                      .journal = journal.get()};
    pipeline =
        std::make_unique<core::Pipeline>(services, loop.executor(), loop.timers(), loop.ids());
    tools = std::make_unique<rtp::ToolsApi>(
        *pipeline, options.service,
        [this](const core::Principal& asker, std::string_view tenant, std::string_view id) {
            return cancel(asker, tenant, id);
        });
}

/// Who may call through the listener that is bound.
Result<void> HostEngine::Parts::admit_callers(const Options& options) {
    if (!options.paired) {
        callers = std::make_unique<LocalCallers>();
        return {};
    }
    auto opened = RemoteTrust::open({.folder = options.state_dir / "pairing",
                                     .component_id = options.paired->component_id,
                                     .gateway_key = options.paired->gateway_key,
                                     .endpoint = options.paired->endpoint,
                                     .operator_made = options.paired->operator_made},
                                    clock);
    if (!opened) return fail(std::move(opened.error()));
    trust = std::move(*opened);
    if (options.on_trust) options.on_trust(*trust);
    const auto ended = [](const trust::PairingStep& end) {
        if (end.error) {
            log::warn("pairing failed",
                      {{"code", trust::token_of(end.error->code)}, {"reason", end.error->message}});
        } else {
            log::info("paired with the gateway");
        }
    };
    pairing = std::make_unique<rtp::PairingRemote>(
        loops.at(0), pool,
        rtp::PairingRemote::Options{.path = options.paired->pair_path,
                                    .identity = [this] { return trust->identity(); },
                                    .on_end = ended});
    callers = std::make_unique<PairedCallers>(*trust, *pairing, pool);
    return {};
}

Result<void> HostEngine::Parts::listen(const Options& options) {
    auto bound = net::Listener::bind(options.paired ? options.paired->endpoint
                                                    : net::Endpoint::unix_socket(options.socket));
    if (!bound) return fail(std::move(bound.error()));
    listener = std::move(*bound);
    if (auto admitted = admit_callers(options); !admitted) return admitted;
    service = std::make_unique<HostService>(*tools, *callers);
    net::HttpServerOptions server_options;
    server_options.max_connections = kMostConnections;
    if (trust) server_options.tls = trust->tls();
    server = std::make_unique<net::HttpServer>(loops.at(0), *service, std::move(server_options));
    return server->listen(*listener);
}

void HostEngine::Parts::start() {
    net::EventLoop& loop = loops.at(0);
    periodic.push_back(
        std::make_unique<net::Periodic>(loop, kAuditEvery, [this] { audit->flush(); }));
    periodic.push_back(std::make_unique<net::Periodic>(
        loop, std::chrono::duration_cast<Milliseconds>(kPruneEvery), [this] {
            pool.post([this] { (void)audit_store->prune(clock.system_now() - kAuditKept); });
        }));
    periodic.push_back(std::make_unique<net::Periodic>(
        loop, std::chrono::duration_cast<Milliseconds>(kForgetEvery), [this] {
            if (ledger_store)
                pool.post([this] {
                    (void)ledger_store->forget(clock.system_now() -
                                               core::LedgerJournal::Options{}.keep);
                });
        }));
    loop.post([this] { hosted->start(); });
    loops.start();
    started = true;
}

void HostEngine::Parts::stop() {
    if (!std::exchange(started, false)) return;
    net::finish_on(loops.at(0), [this](auto done) {
        service->stop();
        server->drain(kDrain, std::move(done));
    });
    if (pairing) net::finish_on(loops.at(0), [this](auto done) { pairing->stop(std::move(done)); });
    net::finish_on(loops.at(0), [this](auto done) {
        periodic.clear();
        server->stop(std::move(done));
    });
    net::finish_on(loops.at(0), [this](auto done) { hosted->stop(std::move(done)); });
    loops.stop_and_join();
    journal.reset();  // what waits is written while the loop that asked for it still exists
    audit->flush_and_wait();
    pool.settle();  // what it runs refers to the stores, which end before it
    listener.reset();
}

HostEngine::HostEngine(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

HostEngine::~HostEngine() { stop(); }

Result<std::unique_ptr<HostEngine>> HostEngine::start(const Options& options) {
    auto parts = std::make_unique<Parts>();
    if (auto opened = parts->open_stores(options); !opened) return fail(std::move(opened.error()));
    parts->build(options);
    if (auto listening = parts->listen(options); !listening)
        return fail(std::move(listening.error()));
    parts->start();
    return std::unique_ptr<HostEngine>(new HostEngine(std::move(parts)));
}

void HostEngine::stop() { parts_->stop(); }

const net::Endpoint& HostEngine::endpoint() const { return parts_->listener->endpoint(); }

std::string HostEngine::remote_key() const {
    return parts_->trust ? parts_->trust->key_text() : std::string();
}

}  // namespace crab::sdk
