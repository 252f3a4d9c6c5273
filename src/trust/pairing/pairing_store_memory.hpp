#pragma once

#include "trust/pairing/pairing_store.hpp"

#include <algorithm>
#include <map>
#include <mutex>
#include <vector>

namespace crab::trust {

/// Peers that end with the process, for tests. `fail_from_write` makes the n-th write from now and all later ones fail, as a full
/// disk does.
class PairingStoreMemory final : public PairingStore {
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
        const auto found = std::ranges::find(certificates, fingerprint, &PeerCertificate::fingerprint);
        return found == certificates.end() ? std::nullopt : std::optional(*found);
    }

    Result<bool> has_key(const crypto::Sha256Digest& key_digest) override {
        const std::lock_guard lock(mutex_);
        if (reads_fail) return fail(kFailure);
        return std::ranges::find(certificates, key_digest, &PeerCertificate::key_digest) != certificates.end();
    }

    Result<void> add_certificate(const PeerCertificate& certificate, const PeerRecord& pending) override {
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
        const auto fresh = std::ranges::find(certificates, commit.record.serial_number, &PeerCertificate::serial_number);
        if (!is_unchanged(stored == peers.end() ? std::nullopt : std::optional(stored->second), commit.previous) || fresh == certificates.end() ||
            fresh->state != CertificateState::kIssued) {
            return fail(ErrorCode::kConflict, "the peer was changed during the handshake");
        }
        for (PeerCertificate& one : certificates) {
            if (one.name == name) finish(one, commit);
        }
        for (auto& [other, record] : peers) {
            const bool displaced = other != name && record.status == PeerStatus::kActive && record.endpoint == commit.record.endpoint;
            if (displaced && commit.record.status == PeerStatus::kActive) record.status = PeerStatus::kInactive;
        }
        peers[name] = commit.record;
        return {};
    }

private:
    inline static const Error kFailure{.code = ErrorCode::kUnavailable, .message = "the disk is full"};

    static void finish(PeerCertificate& certificate, const PairingCommit& commit) {
        if (certificate.serial_number == commit.record.serial_number) {
            certificate.state = CertificateState::kCurrent;
        } else if (certificate.state == CertificateState::kCurrent && commit.old_certificate == PairingCommit::OldCertificate::kRevoke) {
            certificate.state = CertificateState::kRevoked;
            certificate.revoked_at = commit.at;
        } else if (certificate.state == CertificateState::kCurrent || certificate.state == CertificateState::kIssued) {
            certificate.state = CertificateState::kRetired;
        }
    }

    bool write_fails() { return fail_from_write && --*fail_from_write <= 0; }

    std::mutex mutex_;
};

}  // namespace crab::trust
