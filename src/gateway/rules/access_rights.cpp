#include "gateway/rules/access_rights.hpp"

#include "adapters/rtp/hosts/leases_wire.hpp"
#include "base/log.hpp"
#include "core/audit/metrics.hpp"
#include "json/writer.hpp"
#include "store/stores.hpp"

#include <fmt/format.h>

namespace crab::gateway {
namespace {

constexpr std::chrono::seconds kStoreLeasesEvery{1};
constexpr std::chrono::hours kKeptAfterTheEnd{24 * 30};

trust::Leases::Options to_options(const config::LeaseOptions& options) {
    return {.ttl = options.ttl,
            .max_ttl = options.max_ttl,
            .renewal_window = options.renewal_window,
            .max_per_owner = options.max_per_peer};
}

/// `{"event":"lease.granted","time":…,"lease":{…}}` for whatever happens to a lease.
trust::Leases::Observer auditor(core::AuditLog& audit) {
    return [&audit](std::string_view what, const trust::Lease& lease) {
        const std::string kind = fmt::format("lease.{}", what);
        audit.append_event({.kind = kind, .by = lease.owner}, [&lease](json::Writer& writer) {
            rtp::append_lease(writer.key("lease"), lease);
        });
    };
}

}  // namespace

std::span<const ConfigKey> AccessRights::keys() const {
    static constexpr ConfigKey kKeys[] = {
        reload_key("leases", [](auto& c) -> auto& { return c.leases; })};
    return kKeys;
}

Result<void> AccessRights::start() {
    const Clock& clock = context_.clock;
    auto store = context_.stores->open_leases();
    if (!store) return fail(std::move(store.error()));
    store_ = std::move(*store);
    if (auto forgotten = store_->forget(clock.system_now() - kKeptAfterTheEnd); !forgotten)
        return fail(std::move(forgotten.error()));
    auto leases = trust::Leases::load(*store_, clock, to_options(context_.config.leases),
                                      auditor(audit_.log()));
    if (!leases) return fail(std::move(leases.error()));
    leases_ = std::move(*leases);
    access_.emplace(rules_.rules(), *leases_);
    leases_api_.emplace(
        rtp::LeasesApi::Services{.access = *access_, .leases = *leases_, .pool = workers_.pool()});
    policy_api_.emplace(*access_);
    housekeeping_ = std::make_unique<BlockingPool>(1);
    return {};
}

Result<Component::Change> AccessRights::prepare(const config::GatewayConfig& next) {
    return [this, options = to_options(next.leases)] { leases_->set_options(options); };
}

void AccessRights::flush() {
    if (const auto stored = leases_->flush(); !stored)
        log::warn("the ends of leases were not stored", {{"reason", stored.error().message}});
}

void AccessRights::stop(Deadline) {
    housekeeping_->settle();
    flush();
}

std::unique_ptr<net::Periodic> AccessRights::keep(net::EventLoop& loop) {
    return std::make_unique<net::Periodic>(
        loop, std::chrono::duration_cast<Milliseconds>(kStoreLeasesEvery),
        [this] { housekeeping_->post([this] { flush(); }); });
}

std::function<void(const core::Principal& owner, const core::ChatSession& session)>
AccessRights::on_session_deleted() {
    return [this](const core::Principal& owner, const core::ChatSession& session) {
        if (const auto ended = leases_->end_session(owner, session.id.text(), session.created_at);
            !ended)
            log::warn("the ends of leases were not stored", {{"reason", ended.error().message}});
    };
}

std::function<void(const trust::PeerChange&)> AccessRights::on_peer_changed() {
    return [this](const trust::PeerChange& change) {
        if (change.is_active()) return;
        const auto ended = leases_->revoke_owner(
            change.peer->name.text(), fmt::format("the peer is {}", to_text(change.peer->status)));
        if (!ended)
            log::warn("the ends of leases were not stored", {{"reason", ended.error().message}});
    };
}

void AccessRights::add_metrics(core::MetricsPage& page) {
    page.add([this](std::string& out) {
        core::append_metric(out, "crab_leases", "gauge", "Leases that live.",
                            static_cast<double>(leases_->list({}).size()));
    });
}

void AccessRights::add_routes(const ListenerRoutes& table) {
    const bool admin = table.kind == ListenerKind::kAdmin;
    if (admin || table.kind == ListenerKind::kPeers) leases_api_->add_routes(table.routes);
    if (admin) policy_api_->add_routes(table.routes);
}

}  // namespace crab::gateway
