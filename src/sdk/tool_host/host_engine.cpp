#include "sdk/tool_host/host_engine.hpp"

#include "runtime/call_path.hpp"
#include "runtime/components.hpp"
#include "runtime/lifecycle.hpp"
#include "runtime/periodic_jobs.hpp"
#include "runtime/state_folder.hpp"
#include "runtime/tool_calls.hpp"
#include "sdk/tool_host/host_listener.hpp"
#include "sdk/tool_host/offered_tools.hpp"

#include <utility>

namespace crab::sdk {
namespace {

constexpr Milliseconds kAuditEvery{200};
constexpr std::chrono::hours kPruneEvery{24};
constexpr std::chrono::days kAuditKept{90};
constexpr std::chrono::seconds kForgetEvery{1};

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

/// A file in the host's folder; none without a folder.
std::filesystem::path file_in(const std::filesystem::path& folder, std::string_view name) {
    return folder.empty() ? std::filesystem::path() : folder / name;
}

}  // namespace

/// A tool host is this list: components in the order in which they start, those of a gateway where
/// there are such (src/runtime).
struct HostEngine::Running {
    explicit Running(Options given) : options(std::move(given)) {}

    const Options options;
    RealClock clock;
    core::Registry registry;
    core::MetricsPage metrics;  ///< which no host shows
    Published<core::CallRules> rules{open_rules()};
    runtime::Components all;

    runtime::StateFolder& state_folder = all.add<runtime::StateFolder>(options.state_dir);
    runtime::Workers& workers = all.add<runtime::Workers>(runtime::Workers::Options{.threads = 2});
    runtime::AuditTrail& audit = all.add<runtime::AuditTrail>(
        clock,
        runtime::AuditTrail::Options{
            .file = file_in(options.state_dir, "audit.db"), .kept = kAuditKept, .threads = 1});
    runtime::CallLedger& ledger = all.add<runtime::CallLedger>(
        clock, audit,
        runtime::CallLedger::Options{
            .open = runtime::CallLedger::in_file(file_in(options.state_dir, "ledger.db")),
            .unfinished = runtime::CallLedger::Options::Unfinished::kForget});
    runtime::EventLoops& loops = all.add<runtime::EventLoops>(clock, 1);
    OfferedTools& tools = all.add<OfferedTools>(OfferedTools::Uses{
        .options = options, .registry = registry, .loops = loops, .audit = audit});
    runtime::CallPath& calls = all.add<runtime::CallPath>(runtime::CallPath::Uses{
        .clock = clock,
        .registry = registry,
        .loops = loops,
        .ledger = ledger,
        .audit = audit,
        .controls = [this] { return runtime::CallPath::Controls{.rules = rules}; }});
    runtime::ToolCalls& tool_calls = all.add<runtime::ToolCalls>(calls, options.service);
    runtime::PeriodicJobs& jobs = all.add<runtime::PeriodicJobs>(loops, workers, periodic_jobs());
    HostListener& listener = all.add<HostListener>(
        HostListener::Uses{.clock = clock, .options = options, .loops = loops, .workers = workers});

    runtime::Lifecycle lifecycle{clock, all.in_order()};

private:
    std::vector<runtime::PeriodicJobs::Job> periodic_jobs() {
        using enum runtime::PeriodicJobs::Job::Place;
        return {{kAuditEvery, [this] { audit.log().flush(); }},
                {kPruneEvery, [this] { audit.forget_old(); }, kWorkers},
                {kForgetEvery, [this] { ledger.forget_old(); }, kWorkers}};
    }
};

HostEngine::HostEngine(std::unique_ptr<Running> running) : running_(std::move(running)) {}

HostEngine::~HostEngine() = default;

Result<std::unique_ptr<HostEngine>> HostEngine::start(const Options& options) {
    auto running = std::make_unique<Running>(options);
    if (auto started = running->lifecycle.start(); !started)
        return fail(std::move(started.error()));
    running->lifecycle.begin(running->metrics);
    return std::unique_ptr<HostEngine>(new HostEngine(std::move(running)));
}

void HostEngine::stop() { running_->lifecycle.stop(); }

const net::Endpoint& HostEngine::endpoint() const { return running_->listener.endpoint(); }

std::string HostEngine::remote_key() const { return running_->listener.remote_key(); }

}  // namespace crab::sdk
