#include "runtime/call_path.hpp"

#include <algorithm>
#include <iterator>
#include <thread>

namespace crab::runtime {

Result<void> CallPath::start() {
    controls_.emplace(uses_.controls());
    const core::CallServices services{.clock = uses_.clock,
                                      .registry = uses_.registry,
                                      .rules = controls_->rules,
                                      .ledger = uses_.ledger.ledger(),
                                      .early_cancels = uses_.ledger.early_cancels(),
                                      .audit = uses_.audit.log(),
                                      .journal = uses_.ledger.journal(),
                                      .events = controls_->events,
                                      .approvals = controls_->approvals,
                                      .traces = controls_->traces,
                                      .lease = controls_->lease};
    for (net::EventLoop* loop : uses_.loops.all())
        parts_.push_back(
            std::make_unique<LoopPart>(parts_.size(), *loop, services, controls_->runner));
    return {};
}

void CallPath::add_metrics(core::MetricsPage& page) {
    page.add([this](std::string& out) {
        core::append_metric(out, "crab_tools", "gauge", "Tools registered now.",
                            static_cast<double>(uses_.registry.snapshot()->size()));
        core::append_metric(out, "crab_calls_running", "gauge", "Calls being worked on.",
                            static_cast<double>(running_count()));
    });
    for (const auto& part : parts_) page.add(part->pipeline.metrics());
}

std::vector<core::RunningCallInfo> CallPath::running() const {
    std::vector<core::RunningCallInfo> all;
    for (const auto& part : parts_) {
        auto calls = part->pipeline.running().list();
        all.insert(all.end(), std::make_move_iterator(calls.begin()),
                   std::make_move_iterator(calls.end()));
    }
    return all;
}

std::size_t CallPath::running_count() const {
    std::size_t count = 0;
    for (const auto& part : parts_) count += part->pipeline.running().size();
    return count;
}

std::vector<core::RunningCallInfo> CallPath::oldest(std::size_t most) const {
    std::vector<core::RunningCallInfo> all;
    for (const auto& part : parts_) {
        auto calls = part->pipeline.running().oldest(most);
        all.insert(all.end(), std::make_move_iterator(calls.begin()),
                   std::make_move_iterator(calls.end()));
    }
    std::ranges::sort(all, std::ranges::greater{}, &core::RunningCallInfo::elapsed);
    if (all.size() > most) all.erase(all.begin() + static_cast<std::ptrdiff_t>(most), all.end());
    return all;
}

std::size_t CallPath::cancel(const core::Principal& asker, std::string_view tenant,
                             std::string_view call_id) {
    const bool all = uses_.cancels == CancelScope::kOperatorsCancelAll;
    const auto allowed = [all, any = all && asker.roles.has(core::Role::kOperator), id = asker.id,
                          wanted = std::string(tenant)](const core::Principal& owner,
                                                        std::string_view of_tenant) {
        if (any) return true;
        return owner.id == id && ((all && wanted.empty()) || of_tenant == wanted);
    };
    std::size_t found = controls_->away != nullptr ? controls_->away->cancel(call_id, allowed) : 0;
    for (const auto& part : parts_)
        found += part->pipeline.running().cancel(call_id, allowed, asker.id);
    return found;
}

core::CancelAnswer CallPath::cancel_or_remember(const core::Principal& asker,
                                                std::string_view tenant, std::string_view call_id) {
    if (cancel(asker, tenant, call_id) > 0) return core::CancelAnswer::kCancelling;
    if (has_finished(asker, tenant, call_id)) return core::CancelAnswer::kFinished;
    uses_.ledger.early_cancels().remember(tenant, asker.id, call_id, uses_.clock.steady_now());
    return core::CancelAnswer::kNotFound;
}

bool CallPath::has_finished(const core::Principal& asker, std::string_view tenant,
                            std::string_view call_id) const {
    return uses_.ledger.ledger().has_finished(
        {.tenant = tenant, .principal = asker.id, .key = call_id});
}

std::string CallPath::home_tenant(const core::Principal& principal) const {
    return std::string(controls_->rules.get()->policy->home_tenant(principal));
}

void CallPath::wait_for_end(Deadline deadline, std::string_view front) const {
    const auto counts = [&](const core::RunningCallInfo& call) {
        return front.empty() || call.front == front;
    };
    while (std::ranges::any_of(running(), counts) && uses_.clock.steady_now() < deadline)
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
}

}  // namespace crab::runtime
