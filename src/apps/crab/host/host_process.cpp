#include "apps/crab/host/host_process.hpp"

#include "adapters/rtp/tools_api.hpp"
#include "apps/crab/gateway/periodic.hpp"
#include "apps/crab/host/cron_sinks.hpp"
#include "apps/crab/host/host_service.hpp"
#include "apps/crab/host/hosted_cron.hpp"
#include "apps/crab/host/hosted_memory.hpp"
#include "apps/crab/host/ledger_file.hpp"
#include "base/log.hpp"
#include "core/pipeline.hpp"
#include "net/http_server.hpp"
#include "net/listener.hpp"
#include "net/loop_group.hpp"
#include "store/sqlite/audit_store_sqlite.hpp"

#include <future>

namespace crab::app {
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
    rules->rates = std::make_shared<core::RateLimits>(std::vector<core::RateRule>());
    return rules;
}

}  // namespace

std::string_view name_of(HostKind kind) {
    switch (kind) {
        case HostKind::kMemory: return "memory";
        case HostKind::kCron: return "cron";
    }
    return "";
}

/// Everything, in the order of its construction; what is used outlives its users.
struct HostProcess::Parts {
    RealClock clock;
    BlockingPool pool{2};
    std::shared_ptr<store::sqlite::AuditStoreSqlite> audit_store;
    std::unique_ptr<core::AuditLog> audit;
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
    std::unique_ptr<HostService> service;
    std::unique_ptr<net::Listener> listener;
    std::unique_ptr<net::HttpServer> server;
    std::vector<std::unique_ptr<Periodic>> periodic;
    bool started = false;

    Result<void> open_stores(const Options& options);
    Result<void> listen(const Options& options);
    rtp::ToolsApi::CancelAnswer cancel(const core::Principal& asker, std::string_view tenant, std::string_view call_id);
    void start();
    void stop();
    /// Runs `begin(done)` on the loop and waits until it calls `done`.
    template <class F>
    void finish(F begin) {
        std::promise<void> ended;
        loops.at(0).post([&] { begin([&ended] { ended.set_value(); }); });
        ended.get_future().wait();
    }
};

Result<void> HostProcess::Parts::open_stores(const Options& options) {
    const auto file = [&](std::string_view name) { return options.state_dir / (std::string(name) + ".db"); };
    auto opened_audit = store::sqlite::AuditStoreSqlite::open(file("audit"));
    if (!opened_audit) return fail(std::move(opened_audit.error()));
    audit_store = std::move(*opened_audit);
    audit = std::make_unique<core::AuditLog>(audit_store, pool, clock);
    auto opened_ledger = open_ledger(file("ledger"), *audit_store, clock);
    if (!opened_ledger) return fail(std::move(opened_ledger.error()));
    ledger_store = std::move(*opened_ledger);
    journal = std::make_unique<core::LedgerJournal>(*ledger_store, ledger_pool, clock);
    auto opened = options.kind == HostKind::kMemory ? HostedMemory::open(file(name_of(options.kind)), clock)
                                                    : HostedCron::open(file(name_of(options.kind)), loops.at(0), std::make_unique<NoEventSink>());
    if (!opened) return fail(std::move(opened.error()));
    hosted = std::move(*opened);
    register_hosted_tools(registry, *hosted);
    return {};
}

/// Whoever calls reaches only calls of its own.
rtp::ToolsApi::CancelAnswer HostProcess::Parts::cancel(const core::Principal& asker, std::string_view tenant, std::string_view call_id) {
    using Answer = rtp::ToolsApi::CancelAnswer;
    const auto allowed = [id = asker.id, wanted = std::string(tenant)](const core::Principal& owner, std::string_view of_tenant) {
        return owner.id == id && of_tenant == wanted;
    };
    if (pipeline->running().cancel(call_id, allowed) > 0) return Answer::kCancelling;
    if (ledger.has_finished({.tenant = tenant, .principal = asker.id, .key = call_id})) return Answer::kFinished;
    early_cancels.remember(tenant, asker.id, call_id, clock.steady_now());
    return Answer::kNotFound;
}

Result<void> HostProcess::Parts::listen(const Options& options) {
    net::EventLoop& loop = loops.at(0);
    const core::CallServices services{.clock = clock,
                                      .registry = registry,
                                      .rules = rules,
                                      .ledger = ledger,
                                      .early_cancels = early_cancels,
                                      .audit = *audit,
                                      .journal = journal.get()};
    pipeline = std::make_unique<core::Pipeline>(services, loop.executor(), loop.timers(), loop.ids());
    tools = std::make_unique<rtp::ToolsApi>(
        *pipeline, std::string(name_of(options.kind)),
        [this](const core::Principal& asker, std::string_view tenant, std::string_view id) { return cancel(asker, tenant, id); });
    service = std::make_unique<HostService>(*tools);
    auto bound = net::Listener::bind(net::Endpoint::unix_socket(options.socket));
    if (!bound) return fail(std::move(bound.error()));
    listener = std::move(*bound);
    net::HttpServerOptions server_options;
    server_options.max_connections = kMostConnections;
    server = std::make_unique<net::HttpServer>(loop, *service, std::move(server_options));
    return server->listen(*listener);
}

void HostProcess::Parts::start() {
    net::EventLoop& loop = loops.at(0);
    periodic.push_back(std::make_unique<Periodic>(loop, kAuditEvery, [this] { audit->flush(); }));
    periodic.push_back(std::make_unique<Periodic>(loop, std::chrono::duration_cast<Milliseconds>(kPruneEvery),
                                                  [this] { pool.post([this] { (void)audit_store->prune(clock.system_now() - kAuditKept); }); }));
    periodic.push_back(std::make_unique<Periodic>(loop, std::chrono::duration_cast<Milliseconds>(kForgetEvery), [this] {
        pool.post([this] { (void)ledger_store->forget(clock.system_now() - core::LedgerJournal::Options{}.keep); });
    }));
    loop.post([this] { hosted->start(); });
    loops.start();
    started = true;
}

void HostProcess::Parts::stop() {
    if (!std::exchange(started, false)) return;
    finish([this](auto done) {
        service->stop();
        server->drain(kDrain, std::move(done));
    });
    finish([this](auto done) {
        periodic.clear();
        server->stop(std::move(done));
    });
    finish([this](auto done) { hosted->stop(std::move(done)); });
    loops.stop_and_join();
    journal.reset();  // what waits is written while the loop that asked for it still exists
    audit->flush_and_wait();
    listener.reset();
}

HostProcess::HostProcess(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

HostProcess::~HostProcess() { stop(); }

Result<std::unique_ptr<HostProcess>> HostProcess::start(const Options& options) {
    auto parts = std::make_unique<Parts>();
    if (auto opened = parts->open_stores(options); !opened) return fail(std::move(opened.error()));
    if (auto listening = parts->listen(options); !listening) return fail(std::move(listening.error()));
    parts->start();
    return std::unique_ptr<HostProcess>(new HostProcess(std::move(parts)));
}

void HostProcess::stop() { parts_->stop(); }

}  // namespace crab::app
