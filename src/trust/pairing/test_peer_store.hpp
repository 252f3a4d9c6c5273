#pragma once

#include "trust/pairing/peer_store.hpp"

#include <algorithm>
#include <map>
#include <mutex>
#include <vector>

namespace crab::trust {

/// Peers that end with the process, for tests. `fail_from_write` makes the n-th write from now and
/// all later ones fail, as a full disk does.
class PeerStoreMemory final : public PeerStore {
public:
    std::map<PeerName, PeerRecord> peers;
    std::vector<PeerCertificate> certificates;
    std::optional<int> fail_from_write;
    bool reads_fail = false;

    Result<std::optional<PeerRecord>> find_peer(const PeerName& name) override {
        const std::lock_guard lock(mutex_);
        if (reads_fail) return fail(kFailure);
        const auto found = peers.find(name);
        return found == peers.end() ? std::nullopt : std::optional(found->second);
    }

    Result<std::optional<PeerRecord>> find_active_at(std::string_view endpoint) override {
        const std::lock_guard lock(mutex_);
        if (reads_fail) return fail(kFailure);
        for (const auto& [name, record] : peers) {
            if (record.status == PeerStatus::kActive && record.endpoint == endpoint) return record;
        }
        return std::optional<PeerRecord>();
    }

    Result<std::optional<PeerCertificate>> find_certificate(std::string_view fingerprint) override {
        const std::lock_guard lock(mutex_);
        if (reads_fail) return fail(kFailure);
        const auto found =
            std::ranges::find(certificates, fingerprint, &PeerCertificate::fingerprint);
        return found == certificates.end() ? std::nullopt : std::optional(*found);
    }

    Result<bool> has_key(const crypto::Sha256Digest& key_digest) override {
        const std::lock_guard lock(mutex_);
        if (reads_fail) return fail(kFailure);
        return std::ranges::find(certificates, key_digest, &PeerCertificate::key_digest) !=
               certificates.end();
    }

    Result<void> add_certificate(const PeerCertificate& certificate,
                                 const PeerRecord& pending) override {
        const std::lock_guard lock(mutex_);
        if (write_fails()) return fail(kFailure);
        certificates.push_back(certificate);
        const auto [at, added] = peers.try_emplace(pending.name, pending);
        if (!added && at->second.status == PeerStatus::kPending) at->second = pending;
        return {};
    }

    Result<void> commit(const PairingCommit& commit) override {
        const std::lock_guard lock(mutex_);
        if (write_fails()) return fail(kFailure);
        const PeerName& name = commit.record.name;
        const auto stored = peers.find(name);
        const auto fresh = std::ranges::find(certificates, commit.record.serial_number,
                                             &PeerCertificate::serial_number);
        if (!is_unchanged(stored == peers.end() ? std::nullopt : std::optional(stored->second),
                          commit.previous) ||
            fresh == certificates.end() || fresh->state != CertificateState::kIssued) {
            return fail(ErrorCode::kConflict, "the peer was changed during the handshake");
        }
        for (PeerCertificate& one : certificates) {
            if (one.name == name) finish(one, commit);
        }
        for (auto& [other, record] : peers) {
            const bool displaced = other != name && record.status == PeerStatus::kActive &&
                                   record.endpoint == commit.record.endpoint;
            if (displaced && commit.record.status == PeerStatus::kActive)
                record.status = PeerStatus::kInactive;
        }
        peers[name] = commit.record;
        return {};
    }

    Result<std::vector<PeerRecord>> list_peers() override {
        const std::lock_guard lock(mutex_);
        if (reads_fail) return fail(kFailure);
        std::vector<PeerRecord> all;
        for (const auto& [name, record] : peers) all.push_back(record);
        std::ranges::sort(all, {}, [](const PeerRecord& record) { return record.name.text(); });
        return all;
    }

    Result<PeerRecord> set_status(const PeerName& name, PeerStatus status) override {
        const auto may_change = [](PeerStatus one) {
            return one == PeerStatus::kActive || one == PeerStatus::kInactive;
        };
        return change(name, [&](PeerRecord& record) -> Result<void> {
            if (!may_change(status) || !may_change(record.status))
                return fail(ErrorCode::kConflict, "only active and inactive peers change places");
            const auto is_in_the_way = [&](const auto& entry) {
                return entry.first != name && entry.second.status == PeerStatus::kActive &&
                       entry.second.endpoint == record.endpoint;
            };
            if (status == PeerStatus::kActive && std::ranges::any_of(peers, is_in_the_way)) {
                return fail(ErrorCode::kConflict,
                            "another peer is active at this endpoint; put that one aside first");
            }
            record.status = status;
            return {};
        });
    }

    Result<PeerRecord> set_tool_url(const PeerName& name, std::string_view url) override {
        return change(name, [&](PeerRecord& record) -> Result<void> {
            record.tool_url = url;
            return {};
        });
    }

    Result<PeerRecord> revoke(const PeerName& name, std::string_view reason,
                              SystemTime at) override {
        return change(name, [&](PeerRecord& record) -> Result<void> {
            record.status = PeerStatus::kRevoked;
            for (PeerCertificate& one : certificates) {
                const bool usable = one.state == CertificateState::kIssued ||
                                    one.state == CertificateState::kCurrent;
                if (one.name != name || !usable) continue;
                one.state = CertificateState::kRevoked;
                one.revoked_at = at;
                one.revoke_reason = reason;
            }
            return {};
        });
    }

    Result<void> record_seen(const PeerName& name, SystemTime at) override {
        const auto changed = change(name, [&](PeerRecord& record) -> Result<void> {
            record.last_seen_at = at;
            return {};
        });
        if (!changed && changed.error().code != ErrorCode::kNotFound) return fail(changed.error());
        return {};
    }

private:
    inline static const Error kFailure{.code = ErrorCode::kUnavailable,
                                       .message = "the disk is full"};

    static void finish(PeerCertificate& certificate, const PairingCommit& commit) {
        if (certificate.serial_number == commit.record.serial_number) {
            certificate.state = CertificateState::kCurrent;
        } else if (certificate.state == CertificateState::kCurrent &&
                   commit.old_certificate == PairingCommit::OldCertificate::kRevoke) {
            certificate.state = CertificateState::kRevoked;
            certificate.revoked_at = commit.at;
            certificate.revoke_reason = "replaced";
        } else if (certificate.state == CertificateState::kCurrent ||
                   certificate.state == CertificateState::kIssued) {
            certificate.state = CertificateState::kRetired;
        }
    }

    Result<PeerRecord> change(const PeerName& name, auto edit) {
        const std::lock_guard lock(mutex_);
        if (write_fails()) return fail(kFailure);
        const auto found = peers.find(name);
        if (found == peers.end()) return fail(ErrorCode::kNotFound, "no such peer");
        if (Result<void> edited = edit(found->second); !edited) return fail(edited.error());
        return found->second;
    }

    bool write_fails() { return fail_from_write && --*fail_from_write <= 0; }

    std::mutex mutex_;
};

}  // namespace crab::trust
