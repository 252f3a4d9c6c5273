#include "gateway/artifact_side.hpp"

#include "base/log.hpp"
#include "core/audit/metrics.hpp"
#include "json/writer.hpp"

namespace crab::gateway {
namespace {

constexpr std::chrono::minutes kForgetEvery{1};

core::ArtifactStore::Limits to_limits(const config::ArtifactOptions& options) {
    return {.artifact_bytes = options.max_bytes,
            .tenant_bytes = options.tenant_bytes,
            .total_bytes = options.total_bytes,
            .ttl = std::chrono::duration_cast<std::chrono::seconds>(options.ttl)};
}

}  // namespace

Result<std::unique_ptr<ArtifactSide>> ArtifactSide::open(const std::filesystem::path& folder,
                                                         const config::ArtifactOptions& options,
                                                         const Clock& clock,
                                                         core::AuditLog& audit) {
    auto store = store::sqlite::ArtifactStoreSqlite::open(folder, to_limits(options), clock);
    if (!store) return fail(std::move(store.error()));
    return std::unique_ptr<ArtifactSide>(new ArtifactSide(std::move(*store), clock, audit));
}

ArtifactSide::ArtifactSide(std::unique_ptr<store::sqlite::ArtifactStoreSqlite> store,
                           const Clock& clock, core::AuditLog& audit)
    : store_(std::move(store)),
      api_({.store = *store_,
            .pool = pool_,
            .on_deleted = [&audit](std::string_view id, const core::Principal& by) {
                audit.append_event(
                    {.kind = "artifact.deleted", .by = by.id}, [&](json::Writer& writer) {
                        writer.key("artifact").string(id).key("principal").string(by.id);
                    });
            }}) {}

std::unique_ptr<net::Periodic> ArtifactSide::keep(net::EventLoop& loop) {
    return std::make_unique<net::Periodic>(
        loop, std::chrono::duration_cast<Milliseconds>(kForgetEvery), [this] {
            pool_.post([this] {
                if (const auto gone = store_->forget_expired(); !gone)
                    log::warn("expired artifacts were not removed",
                              {{"reason", gone.error().message}});
            });
        });
}

void ArtifactSide::set_options(const config::ArtifactOptions& options) {
    store_->set_limits(to_limits(options));
}

void ArtifactSide::append_metrics(std::string& out, const clawseed::Uploads& uploads) const {
    const auto stats = store_->stats();
    core::append_metric(out, "crab_artifacts", "gauge", "Large results that are kept.",
                        static_cast<double>(stats.artifacts));
    core::append_metric(out, "crab_artifact_bytes", "gauge", "Their bytes.",
                        static_cast<double>(stats.bytes));
    core::append_metric(out, "crab_artifact_uploads_running", "gauge", "Uploads under way.",
                        static_cast<double>(uploads.running()));
    core::append_metric(out, "crab_artifact_uploads_total", "counter", "Uploads that were stored.",
                        static_cast<double>(uploads.stored.value()));
    core::append_metric(out, "crab_artifact_uploads_refused_total", "counter",
                        "Uploads of which nothing was kept.",
                        static_cast<double>(uploads.refused.value()));
    core::append_metric(out, "crab_artifact_downloads_total", "counter",
                        "Artifacts, or parts of them, that were fetched.",
                        static_cast<double>(api_.downloads()));
}

}  // namespace crab::gateway
