#include "adapters/rtp/hosts/peer_hosts.hpp"

#include "base/log.hpp"

namespace crab::rtp {

PeerHosts::PeerHosts(HostDirectory& hosts, PeerRoute::Services route, Options options)
    : hosts_(hosts), route_(std::move(route)), options_(std::move(options)) {
    route_.peers.on_change([this](const trust::PeerChange& change) { on_change(change); });
}

void PeerHosts::start() {
    for (const auto& [record, problem] : route_.peers.list()) {
        const bool is_host = record.name.type == trust::ComponentType::kToolHost;
        if (is_host && record.status == trust::PeerStatus::kActive &&
            !options_.always.contains(record.name))
            add(record.name, &record);
    }
    for (const trust::PeerName& name : options_.always) add(name, route_.peers.find(name).get());
}

void PeerHosts::on_change(const trust::PeerChange& change) {
    const trust::PeerRecord& peer = *change.peer;
    if (peer.name.type != trust::ComponentType::kToolHost) return;
    const bool was_active = change.before && change.before->status == trust::PeerStatus::kActive;
    const bool has_moved = change.before && (change.before->endpoint != peer.endpoint ||
                                             change.before->tool_url != peer.tool_url);
    if (was_active != change.is_active() || has_moved) {
        hosts_.remove(peer.name.id);
        if (change.is_active() || options_.always.contains(peer.name)) add(peer.name, &peer);
    } else if (change.ends_connections()) {
        hosts_.reconnect(peer.name.id);
    }
}

/// `peer` null: not paired yet, so it is nowhere.
void PeerHosts::add(const trust::PeerName& name, const trust::PeerRecord* peer) {
    PeerRoute::Base base;
    if (peer != nullptr) {
        auto found = PeerRoute::base_of(*peer);
        if (!found)
            return log::warn("a paired host is left out",
                             {{"peer_id", name.text()}, {"reason", found.error().message}});
        base = std::move(*found);
    }
    RtpHost::Options options;
    options.name = name.id;
    options.path = base.path;
    options.authority = std::make_shared<PeerRoute>(route_, name, std::move(base))->authority();
    options.max_reply_bytes = options_.max_reply_bytes;
    hosts_.add(std::move(options));
}

}  // namespace crab::rtp
