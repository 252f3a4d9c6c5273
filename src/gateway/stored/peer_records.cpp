#include "gateway/stored/peer_records.hpp"

#include "base/log.hpp"
#include "store/stores.hpp"
#include "trust/refused_credentials.hpp"
#include "trust/shared_identity.hpp"

#include <utility>

#include <fmt/format.h>

namespace crab::gateway {
namespace {

/// What the gateway shows and demands with an operator-made CA (section 5.1); null without one.
Result<std::shared_ptr<net::TlsContext>> make_operator_tls(const config::PairingOptions& pairing) {
    if (pairing.ca.empty()) return nullptr;
    net::TlsContext::Options options;
    options.role = net::TlsContext::Role::kClient;
    options.versions = net::TlsContext::Versions::k13Only;
    options.peer_check = net::TlsContext::PeerCheck::kChainAndName;
    options.certificate.file = pairing.cert;
    options.key.file = pairing.key;
    options.ca.file = pairing.ca;
    auto made = net::TlsContext::make(std::move(options));
    if (!made)
        return fail(ErrorCode::kInvalidArgs, fmt::format("pairing: {}", made.error().message));
    return made;
}

}  // namespace

std::span<const ConfigKey> PeerRecords::keys() const {
    static constexpr ConfigKey kKeys[] = {
        restart_key("gateway.name", [](auto& c) -> auto& { return c.gateway.name; }),
        restart_key("pairing", [](auto& c) -> auto& { return c.pairing; })};
    return kKeys;
}

Result<void> PeerRecords::start() {
    const std::filesystem::path& folder = context_.paths.state_dir;
    auto store = context_.stores->open_peers();
    if (!store) return fail(std::move(store.error()));
    store_ = std::move(*store);
    auto peers = trust::Peers::load(*store_);
    if (!peers) return fail(std::move(peers.error()));
    peers_ = std::move(*peers);
    const auto key_folder = crypto::KeyFolder::open(folder);
    if (!key_folder) return fail(key_folder.error());
    if (membership_.exists()) {
        if (auto shared = share_keys(*key_folder); !shared) return shared;
    }
    auto keys = load_keys(*key_folder);
    if (!keys) return fail(std::move(keys.error()));
    auto operator_tls = make_operator_tls(context_.config.pairing);
    if (!operator_tls) return fail(std::move(operator_tls.error()));
    operator_tls_ = std::move(*operator_tls);
    keys_.emplace(std::move(*keys));
    tls_.emplace(*keys_, context_.clock);
    api_.emplace(rtp::PeersApi::Services{
        .peers = *peers_, .keys = *keys_, .pool = workers_.pool(), .clock = context_.clock});
    return {};
}

Result<trust::GatewayKeys> PeerRecords::load_keys(const crypto::KeyFolder& folder) {
    return trust::GatewayKeys::load_or_make(folder, context_.config.gateway.name,
                                            context_.clock.system_now(), random_);
}

Result<void> PeerRecords::share_keys(const crypto::KeyFolder& folder) {
    const auto keys = membership_.keys().derived_for("secrets");
    const trust::SharedIdentity identity{.folder = folder,
                                         .shelf = membership_.trust(),
                                         .keys = keys,
                                         .make = [&]() -> Result<void> {
                                             if (const auto made = load_keys(folder); !made)
                                                 return fail(made.error());
                                             return {};
                                         }};
    const auto had_another = identity.take();
    if (!had_another) return fail(had_another.error());
    if (*had_another)
        log::warn("this gateway has the fleet's identity now: its own peers have to pair again",
                  {{"kept_as", "*.before_fleet"}});
    return {};
}

void PeerRecords::stop(Deadline) { flush(); }

void PeerRecords::flush() {
    if (const auto stored = peers_->store_seen(); !stored)
        log::warn("when peers were seen was not stored", {{"reason", stored.error().message}});
}

PeerCertificates::Services PeerRecords::certificates() {
    return {.peers = *peers_,
            .ca = keys_->authority.certificate(),
            .clock = context_.clock,
            .pool = workers_.pool(),
            .on_mismatch = mismatch_recorder()};
}

std::function<void(const trust::PeerName&, std::string_view)> PeerRecords::mismatch_recorder() {
    return [this](const trust::PeerName& peer, std::string_view problem) {
        trust::count_refused_credential(trust::Entrance::kPeers);
        const auto members = [&](json::Writer& writer) {
            writer.key("problem").string_lossy(problem);
        };
        if (record("peer.mismatch", peer, members))
            log::warn("a connection is not its peer's",
                      {{"peer_id", peer.text()}, {"reason", problem}});
    };
}

bool PeerRecords::record(std::string_view kind, const trust::PeerName& peer,
                         const std::function<void(json::Writer&)>& members) {
    const std::string by = peer.text();
    return audit_.log().append_event({.kind = kind, .by = by}, [&](json::Writer& writer) {
        writer.key("peer_id").string(by);
        members(writer);
    });
}

void PeerRecords::add_routes(const ListenerRoutes& table) {
    if (table.kind == ListenerKind::kAdmin || table.kind == ListenerKind::kPeers)
        api_->add_routes(table.routes);
}

}  // namespace crab::gateway
