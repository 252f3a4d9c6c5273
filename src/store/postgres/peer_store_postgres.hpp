#pragma once

#include "base/ordered_mutex.hpp"
#include "store/postgres/connection.hpp"
#include "trust/pairing/peer_store.hpp"

#include <utility>

namespace crab::store::postgres {

/// Paired peers and every certificate issued to them; the end of a pairing is one transaction. A
/// record is read for an update under a lock. The schema is there. Thread-safe.
class PeerStorePostgres final : public trust::PeerStore {
public:
    explicit PeerStorePostgres(ConnectionOptions options) : database_(std::move(options)) {}

    Result<std::optional<trust::PeerRecord>> find_peer(const trust::PeerName& name) override;
    Result<std::optional<trust::PeerRecord>> find_active_at(std::string_view endpoint) override;
    Result<std::optional<trust::PeerCertificate>> find_certificate(
        std::string_view fingerprint) override;
    Result<bool> has_key(const crypto::Sha256Digest& key_digest) override;
    Result<void> add_certificate(const trust::PeerCertificate& certificate,
                                 const trust::PeerRecord& pending) override;
    Result<void> commit(const trust::PairingCommit& commit) override;

    Result<std::vector<trust::PeerRecord>> list_peers() override;
    Result<trust::PeerRecord> set_status(const trust::PeerName& name,
                                         trust::PeerStatus status) override;
    Result<trust::PeerRecord> set_tool_url(const trust::PeerName& name,
                                           std::string_view url) override;
    Result<trust::PeerRecord> revoke(const trust::PeerName& name, std::string_view reason,
                                     SystemTime at) override;
    Result<void> record_seen(const trust::PeerName& name, SystemTime at) override;

private:
    // Callers hold the lock.
    Result<std::optional<trust::PeerRecord>> lock_record(const trust::PeerName& name);
    Result<trust::PeerRecord> lock_existing(const trust::PeerName& name);
    Result<void> save(const trust::PeerRecord& record);
    Result<bool> is_issued(const trust::PeerRecord& record);
    Result<void> replace_certificates(const trust::PairingCommit& commit);

    OrderedMutex<LockRank::kStore> mutex_;
    Connection database_;
};

}  // namespace crab::store::postgres
