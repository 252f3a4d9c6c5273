#include "store/postgres/peer_store_postgres.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace crab::store::postgres {
namespace {

using trust::PeerCertificate;
using trust::PeerName;
using trust::PeerRecord;
using trust::PeerStatus;

constexpr std::string_view kPeerColumns =
    "component_type, component_id, endpoint, public_key_ed25519, public_key_x25519, fingerprint, "
    "serial_number, not_after_ms, pairing_id, paired_ms, last_seen_ms, status, tool_url";
constexpr std::string_view kCertificateColumns =
    "serial_number, fingerprint, component_type, component_id, pairing_id, key_digest, "
    "certificate_pem, not_before_ms, not_after_ms, issued_ms, renews, state, revoked_ms, "
    "revoke_reason";

std::unexpected<Error> unknown_word(std::string_view what) {
    return fail(ErrorCode::kInternal,
                fmt::format("a peer's {} is unknown to this program: use the newer program", what));
}

template <std::size_t N>
bool read_array(const std::string& from, std::array<std::uint8_t, N>& to) {
    if (from.size() != N) return false;
    std::ranges::transform(from, to.begin(), [](char c) { return static_cast<std::uint8_t>(c); });
    return true;
}

Result<PeerRecord> peer_of(const Rows::Row& row) {
    const auto type = trust::find_component_type(row.text_view(0));
    if (!type) return unknown_word("type");
    const auto status = trust::find_peer_status(row.text_view(11));
    if (!status) return unknown_word("status");
    PeerRecord record{.name = {*type, row.text(1)},
                      .endpoint = row.text(2),
                      .mtls_cert_fingerprint = row.text(5),
                      .serial_number = row.text(6),
                      .not_after = row.time(7),
                      .pairing_id = row.text(8),
                      .paired_at = row.time(9),
                      .last_seen_at = row.optional_time(10),
                      .status = *status,
                      .tool_url = row.text(12)};
    if (!read_array(row.bytes(3), record.public_key_ed25519) ||
        !read_array(row.bytes(4), record.public_key_x25519))
        return unknown_word("key");
    return record;
}

Result<PeerCertificate> certificate_of(const Rows::Row& row) {
    const auto type = trust::find_component_type(row.text_view(2));
    if (!type) return unknown_word("type");
    const auto state = trust::find_certificate_state(row.text_view(11));
    if (!state) return unknown_word("certificate's state");
    PeerCertificate certificate{.serial_number = row.text(0),
                                .fingerprint = row.text(1),
                                .name = {*type, row.text(3)},
                                .pairing_id = row.text(4),
                                .certificate_pem = row.text(6),
                                .not_before = row.time(7),
                                .not_after = row.time(8),
                                .issued_at = row.time(9),
                                .renews = row.text(10),
                                .state = *state,
                                .revoked_at = row.optional_time(12),
                                .revoke_reason = row.text(13)};
    if (!read_array(row.bytes(5), certificate.key_digest)) return unknown_word("key digest");
    return certificate;
}

/// The first row as `read` reads it; nothing when there is none.
template <class Read>
auto first_of(Result<Rows> rows, Read read)
    -> Result<std::optional<typename decltype(read((*rows)[0]))::value_type>> {
    if (!rows) return fail(std::move(rows.error()));
    if (rows->count() == 0) return std::nullopt;
    auto one = read((*rows)[0]);
    if (!one) return fail(std::move(one.error()));
    return std::move(*one);
}

Result<bool> has_rows(const Result<Rows>& rows) {
    if (!rows) return fail(rows.error());
    return rows->count() != 0;
}

}  // namespace

Result<std::optional<PeerRecord>> PeerStorePostgres::find_peer(const PeerName& name) {
    const std::scoped_lock lock(mutex_);
    return first_of(
        database_.query(
            fmt::format("SELECT {} FROM peer WHERE component_type = $1 AND component_id = $2",
                        kPeerColumns),
            to_text(name.type), name.id),
        peer_of);
}

/// A name without a record is locked too, or two could be made of it.
Result<std::optional<PeerRecord>> PeerStorePostgres::lock_record(const PeerName& name) {
    auto locked = database_.run(
        "SELECT pg_advisory_xact_lock(hashtextextended('peer ' || $1::text || '/' || $2::text, 0))",
        to_text(name.type), name.id);
    if (!locked) return fail(std::move(locked.error()));
    return first_of(database_.query(fmt::format("SELECT {} FROM peer WHERE component_type = $1 AND "
                                                "component_id = $2 FOR UPDATE",
                                                kPeerColumns),
                                    to_text(name.type), name.id),
                    peer_of);
}

Result<PeerRecord> PeerStorePostgres::lock_existing(const PeerName& name) {
    auto found = lock_record(name);
    if (!found) return fail(std::move(found.error()));
    if (!*found) return fail(ErrorCode::kNotFound, "no such peer; crab peers list shows them all");
    return std::move(**found);
}

Result<void> PeerStorePostgres::save(const PeerRecord& record) {
    return database_.run(
        fmt::format("INSERT INTO peer ({}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, "
                    "$12, $13) ON CONFLICT (component_type, component_id) DO UPDATE SET "
                    "(endpoint, public_key_ed25519, public_key_x25519, fingerprint, serial_number, "
                    "not_after_ms, pairing_id, paired_ms, last_seen_ms, status, tool_url) = "
                    "ROW($3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)",
                    kPeerColumns),
        to_text(record.name.type), record.name.id, record.endpoint,
        std::span<const std::uint8_t>(record.public_key_ed25519),
        std::span<const std::uint8_t>(record.public_key_x25519), record.mtls_cert_fingerprint,
        record.serial_number, record.not_after, record.pairing_id, record.paired_at,
        record.last_seen_at, to_text(record.status), record.tool_url);
}

Result<std::optional<PeerRecord>> PeerStorePostgres::find_active_at(std::string_view endpoint) {
    const std::scoped_lock lock(mutex_);
    return first_of(
        database_.query(fmt::format("SELECT {} FROM peer WHERE endpoint = $1 AND status = 'active'",
                                    kPeerColumns),
                        endpoint),
        peer_of);
}

Result<std::optional<PeerCertificate>> PeerStorePostgres::find_certificate(
    std::string_view fingerprint) {
    const std::scoped_lock lock(mutex_);
    return first_of(
        database_.query(fmt::format("SELECT {} FROM peer_certificate WHERE fingerprint = $1",
                                    kCertificateColumns),
                        fingerprint),
        certificate_of);
}

Result<bool> PeerStorePostgres::has_key(const crypto::Sha256Digest& key_digest) {
    const std::scoped_lock lock(mutex_);
    return has_rows(database_.query("SELECT 1 FROM peer_certificate WHERE key_digest = $1 LIMIT 1",
                                    std::span<const std::uint8_t>(key_digest)));
}

Result<void> PeerStorePostgres::add_certificate(const PeerCertificate& certificate,
                                                const PeerRecord& pending) {
    const std::scoped_lock lock(mutex_);
    return database_.transaction([&]() -> Result<void> {
        const auto stored = lock_record(pending.name);
        if (!stored) return fail(stored.error());
        auto added = database_.run(
            fmt::format("INSERT INTO peer_certificate ({}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, "
                        "$9, $10, $11, $12, $13, $14)",
                        kCertificateColumns),
            certificate.serial_number, certificate.fingerprint, to_text(certificate.name.type),
            certificate.name.id, certificate.pairing_id,
            std::span<const std::uint8_t>(certificate.key_digest), certificate.certificate_pem,
            certificate.not_before, certificate.not_after, certificate.issued_at,
            certificate.renews, to_text(certificate.state), certificate.revoked_at,
            certificate.revoke_reason);
        if (!added) return added;
        if (*stored && (*stored)->status != PeerStatus::kPending) return {};
        return save(pending);
    });
}

/// Whether the record's certificate is there and was not used before.
Result<bool> PeerStorePostgres::is_issued(const PeerRecord& record) {
    return has_rows(
        database_.query("SELECT 1 FROM peer_certificate WHERE serial_number = $1 AND state = "
                        "'issued' FOR UPDATE",
                        record.serial_number));
}

/// (2) and (3) of PairingStore::commit().
Result<void> PeerStorePostgres::replace_certificates(const trust::PairingCommit& commit) {
    const std::string_view type = to_text(commit.record.name.type);
    const std::string& id = commit.record.name.id;
    if (commit.old_certificate == trust::PairingCommit::OldCertificate::kRevoke) {
        auto revoked = database_.run(
            "UPDATE peer_certificate SET state = 'revoked', revoked_ms = $1, revoke_reason = "
            "'replaced' WHERE component_type = $2 AND component_id = $3 AND state = 'current'",
            commit.at, type, id);
        if (!revoked) return revoked;
    }
    auto retired = database_.run(
        "UPDATE peer_certificate SET state = 'retired' WHERE component_type = $1 AND component_id "
        "= $2 AND state IN ('issued', 'current') AND serial_number <> $3",
        type, id, commit.record.serial_number);
    if (!retired) return retired;
    return database_.run("UPDATE peer_certificate SET state = 'current' WHERE serial_number = $1",
                         commit.record.serial_number);
}

Result<void> PeerStorePostgres::commit(const trust::PairingCommit& commit) {
    const std::scoped_lock lock(mutex_);
    return database_.transaction([&]() -> Result<void> {
        const auto stored = lock_record(commit.record.name);
        if (!stored) return fail(stored.error());
        const auto issued = is_issued(commit.record);
        if (!issued) return fail(issued.error());
        if (!trust::is_unchanged(*stored, commit.previous) || !*issued)
            return fail(ErrorCode::kConflict, "the peer was changed during the handshake");
        if (auto replaced = replace_certificates(commit); !replaced) return replaced;
        if (commit.record.status == PeerStatus::kActive) {
            auto displaced = database_.run(
                "UPDATE peer SET status = 'inactive' WHERE endpoint = $1 AND status = 'active' AND "
                "NOT (component_type = $2 AND component_id = $3)",
                commit.record.endpoint, to_text(commit.record.name.type), commit.record.name.id);
            if (!displaced) return displaced;
        }
        return save(commit.record);
    });
}

Result<std::vector<PeerRecord>> PeerStorePostgres::list_peers() {
    const std::scoped_lock lock(mutex_);
    auto rows = database_.query(
        fmt::format("SELECT {} FROM peer ORDER BY (component_type || '/' || component_id) "
                    "COLLATE \"C\"",
                    kPeerColumns));
    if (!rows) return fail(std::move(rows.error()));
    std::vector<PeerRecord> all;
    for (const auto row : *rows) {
        auto record = peer_of(row);
        if (!record) return fail(std::move(record.error()));
        all.push_back(std::move(*record));
    }
    return all;
}

Result<PeerRecord> PeerStorePostgres::set_status(const PeerName& name, PeerStatus status) {
    const auto may_change = [](PeerStatus one) {
        return one == PeerStatus::kActive || one == PeerStatus::kInactive;
    };
    const std::scoped_lock lock(mutex_);
    return database_.transaction([&]() -> Result<PeerRecord> {
        auto record = lock_existing(name);
        if (!record) return record;
        if (!may_change(status) || !may_change(record->status))
            return fail(ErrorCode::kConflict, "only active and inactive peers change places");
        if (status == PeerStatus::kActive) {
            const auto in_the_way = has_rows(database_.query(
                "SELECT 1 FROM peer WHERE endpoint = $1 AND status = 'active' AND NOT "
                "(component_type = $2 AND component_id = $3)",
                record->endpoint, to_text(name.type), name.id));
            if (!in_the_way) return fail(in_the_way.error());
            if (*in_the_way)
                return fail(ErrorCode::kConflict,
                            "another peer is active at this endpoint; put that one aside first");
        }
        record->status = status;
        if (auto saved = save(*record); !saved) return fail(std::move(saved.error()));
        return record;
    });
}

Result<PeerRecord> PeerStorePostgres::set_tool_url(const PeerName& name, std::string_view url) {
    const std::scoped_lock lock(mutex_);
    return database_.transaction([&]() -> Result<PeerRecord> {
        auto record = lock_existing(name);
        if (!record) return record;
        record->tool_url = url;
        if (auto saved = save(*record); !saved) return fail(std::move(saved.error()));
        return record;
    });
}

Result<PeerRecord> PeerStorePostgres::revoke(const PeerName& name, std::string_view reason,
                                             SystemTime at) {
    const std::scoped_lock lock(mutex_);
    return database_.transaction([&]() -> Result<PeerRecord> {
        auto record = lock_existing(name);
        if (!record) return record;
        record->status = PeerStatus::kRevoked;
        auto revoked = database_.run(
            "UPDATE peer_certificate SET state = 'revoked', revoked_ms = $1, revoke_reason = $2 "
            "WHERE component_type = $3 AND component_id = $4 AND state IN ('issued', 'current')",
            at, reason, to_text(name.type), name.id);
        if (!revoked) return fail(std::move(revoked.error()));
        if (auto saved = save(*record); !saved) return fail(std::move(saved.error()));
        return record;
    });
}

Result<void> PeerStorePostgres::record_seen(const PeerName& name, SystemTime at) {
    const std::scoped_lock lock(mutex_);
    return database_.run(
        "UPDATE peer SET last_seen_ms = $1 WHERE component_type = $2 AND component_id = $3", at,
        to_text(name.type), name.id);
}

}  // namespace crab::store::postgres
