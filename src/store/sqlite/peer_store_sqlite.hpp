#pragma once

#include "base/ordered_mutex.hpp"
#include "store/sqlite/database.hpp"
#include "trust/pairing/peer_store.hpp"

#include <filesystem>
#include <memory>

namespace crab::store::sqlite {

/// Peers and every certificate that was issued to them, in the tables `peer` and
/// `peer_certificate`. Each change is one transaction, durable when the function returns. Times are
/// kept to the millisecond. Thread-safe.
class PeerStoreSqlite final : public trust::PeerStore {
public:
    /// Errors: those of Database.
    static Result<std::unique_ptr<PeerStoreSqlite>> open(const std::filesystem::path& path,
                                                         DatabaseOptions options = {});

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
    explicit PeerStoreSqlite(Database database) : database_(std::move(database)) {}

    // Callers hold the lock.
    Result<std::optional<trust::PeerRecord>> load(const trust::PeerName& name);
    Result<trust::PeerRecord> load_existing(const trust::PeerName& name);
    Result<void> save(const trust::PeerRecord& record);
    Result<bool> is_issued(const trust::PeerRecord& record);

    OrderedMutex<LockRank::kStore> mutex_;
    Database database_;
};

}  // namespace crab::store::sqlite
