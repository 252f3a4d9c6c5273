#pragma once

#include "base/ordered_mutex.hpp"
#include "trust/pairing/peer_store.hpp"

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace crab::trust {

/// A peer's record at one moment; immutable. Another pointer means that something has changed.
using PeerRef = std::shared_ptr<const PeerRecord>;

/// Something happened to a peer's record, and is durable.
struct PeerChange {
    enum class Kind : std::uint8_t {
        kPaired,   ///< for the first time, again, or in another's place
        kRenewed,  ///< the same keys, another certificate
        /// Put aside or used again, by the operator or because another peer took its endpoint
        kStatus,
        kToolUrl,
        kRevoked,
    };
    Kind kind = Kind::kStatus;
    PeerRef peer;  ///< as it is now
    PeerRef before;  ///< as it was; null for a name that was unknown or pending

    bool is_active() const { return peer->status == PeerStatus::kActive; }
    /// What connections proved before proves nothing any more: they have to end.
    bool ends_connections() const {
        return before &&
               (!is_active() || peer->mtls_cert_fingerprint != before->mtls_cert_fingerprint);
    }
};

/// In-memory view of all peers in front of their store, for the listener, the hosts and the
/// operator's routes. All writes go through it, so it can notify of every change. Reads never
/// block; writes do. Thread-safe. Source: docs/protocols/rtp.md, section 6.
class Peers final : public PeerStore {
public:
    /// A peer as operators see it.
    struct Known {
        PeerRecord record;  ///< with the latest activity, stored or not
        /// Why its last connection was not accepted as its own; empty when it was
        std::string problem;
    };

    /// Reads all records. `store` outlives this. Errors: those of the store.
    static Result<std::unique_ptr<Peers>> load(PeerStore& store);

    /// Null for an unknown name.
    PeerRef find(const PeerName& name) const;
    std::optional<Known> show(const PeerName& name) const;
    /// Sorted by name, in text form.
    std::vector<Known> list() const;
    /// `told` is notified of every change, in order, on the thread that made it; it must not write
    /// here. Registered before there are changes.
    void on_change(std::function<void(const PeerChange&)> told) {
        told_.push_back(std::move(told));
    }

    /// The peer proved itself at `at`. Counts once a minute; store_seen() makes it durable.
    void saw(const PeerName& name, SystemTime at);
    /// A connection that should have been the peer's was not, says `problem`; forgotten when the
    /// peer proves itself.
    void mistrust(const PeerName& name, std::string problem);
    /// Stores pending last-seen times; blocks. Errors: those of the store, and the rest is tried
    /// next time.
    Result<void> store_seen();

    /// Takes from the store what other nodes have changed, and tells of it; blocks. Errors: those
    /// of the store.
    Result<void> refresh();

    Result<std::optional<PeerRecord>> find_peer(const PeerName& name) override {
        return store_.find_peer(name);
    }
    Result<std::optional<PeerRecord>> find_active_at(std::string_view endpoint) override {
        return store_.find_active_at(endpoint);
    }
    Result<std::optional<PeerCertificate>> find_certificate(std::string_view fingerprint) override {
        return store_.find_certificate(fingerprint);
    }
    Result<bool> has_key(const crypto::Sha256Digest& key_digest) override {
        return store_.has_key(key_digest);
    }
    Result<std::vector<PeerRecord>> list_peers() override { return store_.list_peers(); }
    Result<void> add_certificate(const PeerCertificate& certificate,
                                 const PeerRecord& pending) override;
    Result<void> commit(const PairingCommit& commit) override;
    Result<PeerRecord> set_status(const PeerName& name, PeerStatus status) override;
    Result<PeerRecord> set_tool_url(const PeerName& name, std::string_view url) override;
    Result<PeerRecord> revoke(const PeerName& name, std::string_view reason,
                              SystemTime at) override;
    Result<void> record_seen(const PeerName& name, SystemTime at) override;

private:
    struct Entry {
        PeerRef record;
        std::optional<SystemTime> seen;
        bool seen_is_stored = true;
        std::string problem;

        Known known() const;
    };

    explicit Peers(PeerStore& store) : store_(store) {}
    void remember(PeerChange::Kind kind, PeerRecord record);
    PeerRef replace(PeerRecord record);
    Result<PeerRecord> changed(PeerChange::Kind kind, Result<PeerRecord> record);

    PeerStore& store_;
    std::vector<std::function<void(const PeerChange&)>> told_;
    /// Held during a write and its notification, to keep their order.
    OrderedMutex<LockRank::kPeersWriting> writing_;
    mutable OrderedMutex<LockRank::kPeers> mutex_;
    std::map<std::string, Entry> entries_;  // by PeerName::text(), under mutex_
};

}  // namespace crab::trust
