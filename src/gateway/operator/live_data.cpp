#include "gateway/operator/live_data.hpp"

#include "base/version.hpp"

namespace crab::gateway {
namespace {

constexpr std::size_t kOldestShown = 50;
constexpr Milliseconds kDevicesFresh{500};

std::vector<Glob> globs_of(const std::vector<std::string>& patterns) {
    return {patterns.begin(), patterns.end()};
}

}  // namespace

std::span<const ConfigKey> LiveData::keys() const {
    static constexpr ConfigKey kKeys[] = {
        reload_key("metrics.tools", [](auto& c) -> auto& { return c.metrics.tools; })};
    return kKeys;
}

Result<Component::Change> LiveData::prepare(const config::GatewayConfig& next) {
    return [this, tools = globs_of(next.metrics.tools)] { feed_->want_by_name(tools); };
}

Result<void> LiveData::start() {
    feed_ = std::make_shared<core::CallFeed>(
        uses_.context.clock,
        [&traces = uses_.traces](const core::FinishedCall& call, std::string_view trace_id) {
            return traces.keeps(call, trace_id);
        });
    feed_->want_by_name(globs_of(uses_.context.config.metrics.tools));
    uses_.audit.log().show_to(feed_);
    api_ = std::make_unique<admin::LiveApi>(
        admin::LiveSources{
            .calls = *feed_,
            .approvals = uses_.approvals.approvals(),
            .questions = uses_.approvals.feed(),
            .events = uses_.events.outbox(),
            .unrecorded_calls = [this] { return uses_.audit.log().unrecorded_calls(); },
            .tools_generation = [this] { return uses_.context.registry.snapshot()->number(); },
            .running =
                [this] {
                    return admin::RunningSummary{.count = uses_.calls.running_count(),
                                                 .oldest = uses_.calls.oldest(kOldestShown)};
                },
            .devices = [this] { return devices(); },
            .pairings = [this] { return uses_.credentials.codes().recent(); },
            .status =
                [this] {
                    std::string status;
                    uses_.operator_api.append_status(status);
                    return status;
                },
            .version = std::string(version())},
        uses_.workers.pool(), uses_.context.clock);
    return {};
}

/// The same object until something has changed, so that streams see that at a glance.
std::shared_ptr<const admin::DeviceRows> LiveData::devices() {
    const SteadyTime now = uses_.context.clock.steady_now();
    if (devices_ && now < devices_at_ + kDevicesFresh) return devices_;
    devices_at_ = now;
    auto rows = admin::device_rows(uses_.operator_api.presence());
    if (!devices_ || rows != *devices_)
        devices_ = std::make_shared<const admin::DeviceRows>(std::move(rows));
    return devices_;
}

void LiveData::add_metrics(core::MetricsPage& page) {
    page.add([this](std::string& out) { feed_->append_metrics(out); });
    page.set_exemplars([this] { return feed_->exemplars(); });
}

void LiveData::add_routes(const ListenerRoutes& table) {
    if (table.kind == ListenerKind::kAdmin) api_->add_routes(table.routes);
}

}  // namespace crab::gateway
