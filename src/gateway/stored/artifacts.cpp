#include "gateway/stored/artifacts.hpp"

#include "base/log.hpp"
#include "core/audit/metrics.hpp"
#include "json/writer.hpp"
#include "store/stores.hpp"

namespace crab::gateway {
namespace {

constexpr std::chrono::minutes kForgetArtifactsEvery{1};

core::ArtifactStore::Limits to_limits(const config::ArtifactOptions& options) {
    return {.artifact_bytes = options.max_bytes,
            .tenant_bytes = options.tenant_bytes,
            .total_bytes = options.total_bytes,
            .ttl = std::chrono::duration_cast<std::chrono::seconds>(options.ttl)};
}

}  // namespace

std::span<const ConfigKey> Artifacts::keys() const {
    static constexpr ConfigKey kKeys[] = {
        reload_key("artifacts.max_bytes", [](auto& c) -> auto& { return c.artifacts.max_bytes; }),
        reload_key("artifacts.tenant_bytes",
                   [](auto& c) -> auto& { return c.artifacts.tenant_bytes; }),
        reload_key("artifacts.total_bytes",
                   [](auto& c) -> auto& { return c.artifacts.total_bytes; }),
        reload_key("artifacts.ttl", [](auto& c) -> auto& { return c.artifacts.ttl; })};
    return kKeys;
}

Result<void> Artifacts::start() {
    auto store =
        context_.stores->open_artifacts(to_limits(context_.config.artifacts), context_.clock);
    if (!store) return fail(std::move(store.error()));
    store_ = std::move(*store);
    pool_ = std::make_unique<BlockingPool>(2);
    reads_ = std::make_unique<FairPool>(2);
    const auto on_deleted = [this](std::string_view id, const core::Principal& by) {
        audit_.log().append_event(
            {.kind = "artifact.deleted", .by = by.id}, [&](json::Writer& writer) {
                writer.key("artifact").string(id).key("principal").string(by.id);
            });
    };
    api_.emplace(
        rtp::ArtifactsApi::Services{.store = *store_, .pool = *reads_, .on_deleted = on_deleted});
    return {};
}

Result<Component::Change> Artifacts::prepare(const config::GatewayConfig& next) {
    return [this, limits = to_limits(next.artifacts)] { store_->set_limits(limits); };
}

void Artifacts::stop(Deadline) {
    reads_->settle();
    pool_->settle();
}

std::unique_ptr<net::Periodic> Artifacts::keep(net::EventLoop& loop) {
    return std::make_unique<net::Periodic>(
        loop, std::chrono::duration_cast<Milliseconds>(kForgetArtifactsEvery), [this] {
            pool_->post([this] {
                if (const auto gone = store_->forget_expired(); !gone)
                    log::warn("expired artifacts were not removed",
                              {{"reason", gone.error().message}});
            });
        });
}

void Artifacts::add_metrics(core::MetricsPage& page) {
    page.add([this](std::string& out) {
        const auto stats = store_->stats();
        core::append_metric(out, "crab_artifacts", "gauge", "Large results that are kept.",
                            static_cast<double>(stats.artifacts));
        core::append_metric(out, "crab_artifact_bytes", "gauge", "Their bytes.",
                            static_cast<double>(stats.bytes));
        core::append_metric(out, "crab_artifact_downloads_total", "counter",
                            "Artifacts, or parts of them, that were fetched.",
                            static_cast<double>(api_->downloads()));
    });
}

void Artifacts::add_routes(const ListenerRoutes& table) {
    if (table.kind == ListenerKind::kPublic || table.kind == ListenerKind::kAdmin)
        api_->add_routes(table.routes);
}

}  // namespace crab::gateway
