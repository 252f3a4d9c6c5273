#include "gateway/access_side.hpp"

#include "adapters/rtp/hosts/leases_wire.hpp"
#include "base/log.hpp"
#include "core/audit/metrics.hpp"
#include "json/writer.hpp"

#include <fmt/format.h>

namespace crab::gateway {
namespace {

constexpr std::chrono::seconds kStoreEvery{1};
constexpr std::chrono::hours kKeptAfterTheEnd{24 * 30};

trust::Leases::Options to_options(const config::LeaseOptions& options) {
    return {.ttl = options.ttl,
            .max_ttl = options.max_ttl,
            .renewal_window = options.renewal_window,
            .max_per_owner = options.max_per_peer};
}

/// `{"event":"lease.granted","time":…,"lease":{…}}` for whatever happens to a lease.
trust::Leases::Witness auditor(core::AuditLog& audit) {
    return [&audit](std::string_view what, const trust::Lease& lease) {
        const std::string kind = fmt::format("lease.{}", what);
        audit.append_event({.kind = kind, .by = lease.owner}, [&lease](json::Writer& writer) {
            rtp::append_lease(writer.key("lease"), lease);
        });
    };
}

}  // namespace

Result<std::unique_ptr<AccessSide>> AccessSide::open(const std::filesystem::path& trust_db,
                                                     const config::LeaseOptions& options,
                                                     Services services) {
    auto store = store::sqlite::LeaseStoreSqlite::open(trust_db,
                                                       {.check = store::sqlite::StartCheck::kNone});
    if (!store) return fail(std::move(store.error()));
    if (auto forgotten = (*store)->forget(services.clock.system_now() - kKeptAfterTheEnd);
        !forgotten)
        return fail(std::move(forgotten.error()));
    auto leases =
        trust::Leases::load(**store, services.clock, to_options(options), auditor(services.audit));
    if (!leases) return fail(std::move(leases.error()));
    return std::unique_ptr<AccessSide>(
        new AccessSide(std::move(*store), std::move(*leases), services));
}

AccessSide::AccessSide(std::unique_ptr<store::sqlite::LeaseStoreSqlite> store,
                       std::unique_ptr<trust::Leases> leases, Services services)
    : store_(std::move(store)),
      leases_(std::move(leases)),
      access_(services.rules, *leases_),
      leases_api_({.access = access_, .leases = *leases_, .pool = services.pool}),
      policy_api_(access_) {}

std::unique_ptr<net::Periodic> AccessSide::keep(net::EventLoop& loop) {
    return std::make_unique<net::Periodic>(
        loop, std::chrono::duration_cast<Milliseconds>(kStoreEvery), [this] {
            housekeeping_.post([this] {
                if (const auto stored = leases_->flush(); !stored)
                    log::warn("the ends of leases were not stored",
                              {{"reason", stored.error().message}});
            });
        });
}

void AccessSide::set_options(const config::LeaseOptions& options) {
    leases_->set_options(to_options(options));
}

std::function<void(const core::Principal& owner, const std::string& session_id)>
AccessSide::on_session_deleted() {
    return [this](const core::Principal& owner, const std::string& session_id) {
        if (const auto ended = leases_->end_session(owner, session_id); !ended)
            log::warn("the ends of leases were not stored", {{"reason", ended.error().message}});
    };
}

std::function<void(const trust::PeerChange&)> AccessSide::on_peer_changed() {
    return [this](const trust::PeerChange& change) {
        if (change.is_active()) return;
        const auto ended = leases_->revoke_owner(
            change.peer->name.text(), fmt::format("the peer is {}", to_text(change.peer->status)));
        if (!ended)
            log::warn("the ends of leases were not stored", {{"reason", ended.error().message}});
    };
}

void AccessSide::append_metrics(std::string& out) const {
    core::append_metric(out, "crab_leases", "gauge", "Leases that live.",
                        static_cast<double>(leases_->list({}).size()));
}

}  // namespace crab::gateway
