#include "gateway/maintenance.hpp"

#include "gateway/devices/built_in_tools.hpp"

#include <utility>

namespace crab::gateway {
namespace {

constexpr Milliseconds kAuditEvery{200};
constexpr std::chrono::seconds kTokensEvery{30};
constexpr std::chrono::hours kPruneEvery{24};
constexpr std::chrono::seconds kForgetRecordsEvery{1};
constexpr std::chrono::seconds kTrimEvery{3};

}  // namespace

std::vector<Maintenance::Job> Maintenance::jobs_of(Maintenance& self) {
    using enum Job::Place;
    return {{kAuditEvery, [&self] { self.uses_.audit.log().flush(); }},
            {kForgetRecordsEvery, [&self] { self.uses_.events.forget_old(); }},
            {kForgetRecordsEvery, [&self] { self.uses_.events.look_for_others(); }},
            {kTrimEvery, [&self] { self.trim_memory(); }},
            {kTokensEvery, [&self] { self.uses_.credentials.flush(); }, kWorkers},
            {kPruneEvery, [&self] { self.uses_.audit.forget_old(); }, kWorkers},
            {kPruneEvery, [&self] { self.uses_.chats.forget_old_turns(); }, kWorkers},
            {kForgetRecordsEvery, [&self] { self.uses_.ledger.forget_old(); }, kWorkers}};
}

Result<void> Maintenance::start() {
    kept_.push_back(uses_.access.keep(uses_.loops.first()));
    kept_.push_back(uses_.artifacts.keep(uses_.loops.first()));
    return PeriodicJobs::start();
}

void Maintenance::trim_memory() {
    if (trimming_.exchange(true)) return;
    uses_.workers.pool().post([this] {
        trim_.run();
        trimming_ = false;
    });
}

void Maintenance::add_metrics(core::MetricsPage& page) {
    page.add([](std::string& out) { append_allocation_metric(out); });
}

void Maintenance::stop(Deadline deadline) {
    uses_.loops.finish(uses_.loops.first(), deadline, [this](const std::function<void()>& done) {
        kept_.clear();
        done();
    });
    PeriodicJobs::stop(deadline);
}

}  // namespace crab::gateway
