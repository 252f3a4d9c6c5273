#include "gateway/call_path.hpp"

#include <algorithm>
#include <iterator>
#include <thread>

namespace crab::gateway {

Result<void> CallPath::start() {
    const core::CallServices services{.clock = uses_.context.clock,
                                      .registry = uses_.context.registry,
                                      .rules = uses_.rules.rules(),
                                      .ledger = uses_.ledger.ledger(),
                                      .early_cancels = uses_.ledger.early_cancels(),
                                      .audit = uses_.audit.log(),
                                      .journal = &uses_.ledger.journal(),
                                      .events = &uses_.events.calls(),
                                      .approvals = &uses_.approvals.approvals()};
    for (net::EventLoop* loop : uses_.loops.all())
        lanes_.push_back(std::make_unique<Lane>(*loop, services, uses_.credentials.tokens()));
    return {};
}

void CallPath::add_metrics(core::MetricsPage& page) {
    page.add([this](std::string& out) {
        core::append_metric(out, "crab_tools", "gauge", "Tools registered now.",
                            static_cast<double>(uses_.context.registry.snapshot()->size()));
        core::append_metric(out, "crab_calls_running", "gauge", "Calls being worked on.",
                            static_cast<double>(running().size()));
    });
    for (const auto& lane : lanes_) page.add(lane->pipeline.metrics());
}

std::vector<core::RunningCallInfo> CallPath::running() const {
    std::vector<core::RunningCallInfo> all;
    for (const auto& lane : lanes_) {
        auto calls = lane->pipeline.running().list();
        all.insert(all.end(), std::make_move_iterator(calls.begin()),
                   std::make_move_iterator(calls.end()));
    }
    return all;
}

std::size_t CallPath::cancel(const core::Principal& asker, std::string_view tenant,
                             std::string_view call_id) {
    const bool is_operator = asker.roles.has(core::Role::kOperator);
    const auto allowed = [is_operator, id = asker.id, wanted = std::string(tenant)](
                             const core::Principal& owner, std::string_view of_tenant) {
        return is_operator || (owner.id == id && (wanted.empty() || of_tenant == wanted));
    };
    std::size_t found = uses_.rules.away().cancel(call_id, allowed);
    for (const auto& lane : lanes_)
        found += lane->pipeline.running().cancel(call_id, allowed, asker.id);
    return found;
}

bool CallPath::has_finished(const core::Principal& asker, std::string_view tenant,
                            std::string_view call_id) const {
    return uses_.ledger.ledger().has_finished(
        {.tenant = tenant, .principal = asker.id, .key = call_id});
}

std::string CallPath::home_tenant(const core::Principal& principal) const {
    return std::string(uses_.rules.rules().get()->policy->home_tenant(principal));
}

void CallPath::wait_for_end(Deadline deadline, std::string_view front) const {
    const auto counts = [&](const core::RunningCallInfo& call) {
        return front.empty() || call.front == front;
    };
    while (std::ranges::any_of(running(), counts) && uses_.context.clock.steady_now() < deadline)
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
}

}  // namespace crab::gateway
