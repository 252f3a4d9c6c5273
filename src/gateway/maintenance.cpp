#include "gateway/maintenance.hpp"

#include "gateway/built_in_tools.hpp"

#include <utility>

namespace crab::gateway {
namespace {

constexpr Milliseconds kAuditEvery{200};
constexpr std::chrono::seconds kTokensEvery{30};
constexpr std::chrono::hours kPruneEvery{24};
constexpr std::chrono::seconds kForgetRecordsEvery{1};
constexpr std::chrono::seconds kTrimEvery{3};

}  // namespace

Result<void> Maintenance::start() {
    every(kAuditEvery, [this] { uses_.audit.log().flush(); });
    every(kForgetRecordsEvery, [this] { uses_.events.forget_old(); });
    every(kTrimEvery, [this] { trim_memory(); });
    on_worker_every(kTokensEvery, [this] { uses_.credentials.flush(); });
    on_worker_every(kPruneEvery, [this] { uses_.audit.forget_old(); });
    on_worker_every(kPruneEvery, [this] { uses_.chats.forget_old_turns(); });
    on_worker_every(kForgetRecordsEvery, [this] { uses_.ledger.forget_old(); });
    timers_.push_back(uses_.access.keep(uses_.loops.first()));
    timers_.push_back(uses_.artifacts.keep(uses_.loops.first()));
    return {};
}

void Maintenance::every(Milliseconds time, std::function<void()> work) {
    timers_.push_back(std::make_unique<net::Periodic>(uses_.loops.first(), time, std::move(work)));
}

void Maintenance::on_worker_every(Milliseconds time, std::function<void()> work) {
    every(time, [this, work = std::move(work)] { uses_.workers.pool().post(work); });
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
        timers_.clear();
        done();
    });
}

}  // namespace crab::gateway
