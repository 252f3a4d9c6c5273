#include "store/sqlite/peer_store_sqlite.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace crab::store::sqlite {
namespace {

using trust::CertificateState;
using trust::PeerCertificate;
using trust::PeerName;
using trust::PeerRecord;
using trust::PeerStatus;

constexpr std::array<std::string_view, 1> kPeerSchema{R"(
    CREATE TABLE peer (
        component_type TEXT NOT NULL,
        component_id TEXT NOT NULL,
        endpoint TEXT NOT NULL,
        public_key_ed25519 BLOB NOT NULL,
        public_key_x25519 BLOB NOT NULL,
        fingerprint TEXT NOT NULL,
        serial_number TEXT NOT NULL,
        not_after_ms INTEGER NOT NULL,
        pairing_id TEXT NOT NULL,
        paired_ms INTEGER NOT NULL,
        last_seen_ms INTEGER,
        status TEXT NOT NULL,
        tool_url TEXT NOT NULL,
        PRIMARY KEY (component_type, component_id)
    ) STRICT, WITHOUT ROWID;
    CREATE UNIQUE INDEX peer_active_endpoint ON peer (endpoint) WHERE status = 'active';
    CREATE TABLE peer_certificate (
        serial_number TEXT PRIMARY KEY,
        fingerprint TEXT NOT NULL UNIQUE,
        component_type TEXT NOT NULL,
        component_id TEXT NOT NULL,
        pairing_id TEXT NOT NULL,
        key_digest BLOB NOT NULL,
        certificate_pem TEXT NOT NULL,
        not_before_ms INTEGER NOT NULL,
        not_after_ms INTEGER NOT NULL,
        issued_ms INTEGER NOT NULL,
        renews TEXT NOT NULL,
        state TEXT NOT NULL,
        revoked_ms INTEGER,
        revoke_reason TEXT NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX peer_certificate_name ON peer_certificate (component_type, component_id);
    CREATE INDEX peer_certificate_key ON peer_certificate (key_digest);
)"};

constexpr std::string_view kPeerColumns =
    "component_type, component_id, endpoint, public_key_ed25519, public_key_x25519, fingerprint, "
    "serial_number, not_after_ms, pairing_id, paired_ms,"
    " last_seen_ms, status, tool_url";
/// Not OR REPLACE: that would also delete another peer that is active at the endpoint.
constexpr std::string_view kPeerReplaces =
    "ON CONFLICT (component_type, component_id) DO UPDATE SET endpoint = excluded.endpoint, "
    "public_key_ed25519 = excluded.public_key_ed25519,"
    " public_key_x25519 = excluded.public_key_x25519, fingerprint = excluded.fingerprint, "
    "serial_number = excluded.serial_number,"
    " not_after_ms = excluded.not_after_ms, pairing_id = excluded.pairing_id, paired_ms = "
    "excluded.paired_ms, last_seen_ms = excluded.last_seen_ms,"
    " status = excluded.status, tool_url = excluded.tool_url";
constexpr std::string_view kCertificateColumns =
    "serial_number, fingerprint, component_type, component_id, pairing_id, key_digest, "
    "certificate_pem, not_before_ms, not_after_ms, issued_ms, renews,"
    " state, revoked_ms, revoke_reason";

std::unexpected<Error> unknown_word(std::string_view what) {
    return fail(
        ErrorCode::kInternal,
        fmt::format("a peer's {} is none that this program knows: use the newer program", what));
}

template <std::size_t N>
bool read_bytes(std::span<const std::uint8_t> from, std::array<std::uint8_t, N>& to) {
    if (from.size() != N) return false;
    std::ranges::copy(from, to.begin());
    return true;
}

/// From the columns kPeerColumns, which begin at 0.
Result<PeerRecord> peer_of(const Statement& row) {
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
    if (!read_bytes(row.bytes(3), record.public_key_ed25519) ||
        !read_bytes(row.bytes(4), record.public_key_x25519))
        return unknown_word("key");
    return record;
}

/// From the columns kCertificateColumns, which begin at 0.
Result<PeerCertificate> certificate_of(const Statement& row) {
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
    if (!read_bytes(row.bytes(5), certificate.key_digest)) return unknown_word("key digest");
    return certificate;
}

/// The first row as `read` reads it; nothing when there is none.
template <class Read>
auto find_one(Result<Statement> statement, Read read)
    -> Result<std::optional<typename decltype(read(*statement))::value_type>> {
    if (!statement) return fail(std::move(statement.error()));
    const auto more = statement->step();
    if (!more) return fail(more.error());
    if (!*more) return std::nullopt;
    auto one = read(*statement);
    if (!one) return fail(std::move(one.error()));
    return std::move(*one);
}

std::unexpected<Error> no_such_peer() {
    return fail(ErrorCode::kNotFound, "no such peer; crab peers list shows them all");
}

}  // namespace

Result<std::unique_ptr<PeerStoreSqlite>> PeerStoreSqlite::open(const std::filesystem::path& path,
                                                               DatabaseOptions options) {
    auto database = Database::open(path, options);
    if (!database) return fail(std::move(database.error()));
    if (auto migrated = database->migrate("peers", kPeerSchema); !migrated)
        return fail(std::move(migrated.error()));
    return std::unique_ptr<PeerStoreSqlite>(new PeerStoreSqlite(std::move(*database)));
}

Result<std::optional<PeerRecord>> PeerStoreSqlite::load(const PeerName& name) {
    return find_one(
        database_.query(
            fmt::format("SELECT {} FROM peer WHERE component_type = ? AND component_id = ?",
                        kPeerColumns),
            to_text(name.type), name.id),
        peer_of);
}

Result<PeerRecord> PeerStoreSqlite::load_existing(const PeerName& name) {
    auto found = load(name);
    if (!found) return fail(std::move(found.error()));
    if (!*found) return no_such_peer();
    return std::move(**found);
}

Result<void> PeerStoreSqlite::save(const PeerRecord& record) {
    return database_.run(
        fmt::format("INSERT INTO peer ({}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) {}",
                    kPeerColumns, kPeerReplaces),
        to_text(record.name.type), record.name.id, record.endpoint,
        std::span<const std::uint8_t>(record.public_key_ed25519),
        std::span<const std::uint8_t>(record.public_key_x25519), record.mtls_cert_fingerprint,
        record.serial_number, record.not_after, record.pairing_id, record.paired_at,
        record.last_seen_at, to_text(record.status), record.tool_url);
}

Result<std::optional<PeerRecord>> PeerStoreSqlite::find_peer(const PeerName& name) {
    const std::scoped_lock lock(mutex_);
    return load(name);
}

Result<std::optional<PeerRecord>> PeerStoreSqlite::find_active_at(std::string_view endpoint) {
    const std::scoped_lock lock(mutex_);
    return find_one(
        database_.query(fmt::format("SELECT {} FROM peer WHERE endpoint = ? AND status = 'active'",
                                    kPeerColumns),
                        endpoint),
        peer_of);
}

Result<std::optional<PeerCertificate>> PeerStoreSqlite::find_certificate(
    std::string_view fingerprint) {
    const std::scoped_lock lock(mutex_);
    return find_one(
        database_.query(fmt::format("SELECT {} FROM peer_certificate WHERE fingerprint = ?",
                                    kCertificateColumns),
                        fingerprint),
        certificate_of);
}

Result<bool> PeerStoreSqlite::has_key(const crypto::Sha256Digest& key_digest) {
    const std::scoped_lock lock(mutex_);
    auto found = database_.query("SELECT 1 FROM peer_certificate WHERE key_digest = ? LIMIT 1",
                                 std::span<const std::uint8_t>(key_digest));
    if (!found) return fail(std::move(found.error()));
    return found->step();
}

Result<void> PeerStoreSqlite::add_certificate(const PeerCertificate& certificate,
                                              const PeerRecord& pending) {
    const std::scoped_lock lock(mutex_);
    return database_.transaction([&]() -> Result<void> {
        auto added = database_.run(
            fmt::format("INSERT INTO peer_certificate ({}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, "
                        "?, ?, ?, ?)",
                        kCertificateColumns),
            certificate.serial_number, certificate.fingerprint, to_text(certificate.name.type),
            certificate.name.id, certificate.pairing_id,
            std::span<const std::uint8_t>(certificate.key_digest), certificate.certificate_pem,
            certificate.not_before, certificate.not_after, certificate.issued_at,
            certificate.renews, to_text(certificate.state), certificate.revoked_at,
            certificate.revoke_reason);
        if (!added) return added;
        const auto stored = load(pending.name);
        if (!stored) return fail(stored.error());
        if (*stored && (*stored)->status != PeerStatus::kPending) return {};
        return save(pending);
    });
}

/// Whether the record's certificate is there and was not used before.
Result<bool> PeerStoreSqlite::is_issued(const PeerRecord& record) {
    auto found = database_.query(
        "SELECT 1 FROM peer_certificate WHERE serial_number = ? AND state = 'issued'",
        record.serial_number);
    if (!found) return fail(std::move(found.error()));
    return found->step();
}

Result<void> PeerStoreSqlite::commit(const trust::PairingCommit& commit) {
    const std::scoped_lock lock(mutex_);
    const std::string_view type = to_text(commit.record.name.type);
    const std::string& id = commit.record.name.id;
    return database_.transaction([&]() -> Result<void> {
        const auto stored = load(commit.record.name);
        if (!stored) return fail(stored.error());
        const auto issued = is_issued(commit.record);
        if (!issued) return fail(issued.error());
        if (!trust::is_unchanged(*stored, commit.previous) || !*issued)
            return fail(ErrorCode::kConflict, "the peer was changed during the handshake");
        if (commit.old_certificate == trust::PairingCommit::OldCertificate::kRevoke) {
            auto revoked = database_.run(
                "UPDATE peer_certificate SET state = 'revoked', revoked_ms = ?, revoke_reason = "
                "'replaced'"
                " WHERE component_type = ? AND component_id = ? AND state = 'current'",
                commit.at, type, id);
            if (!revoked) return revoked;
        }
        auto retired = database_.run(
            "UPDATE peer_certificate SET state = 'retired'"
            " WHERE component_type = ? AND component_id = ? AND state IN ('issued', 'current') AND "
            "serial_number <> ?",
            type, id, commit.record.serial_number);
        if (!retired) return retired;
        auto pinned =
            database_.run("UPDATE peer_certificate SET state = 'current' WHERE serial_number = ?",
                          commit.record.serial_number);
        if (!pinned) return pinned;
        if (commit.record.status == PeerStatus::kActive) {
            auto displaced = database_.run(
                "UPDATE peer SET status = 'inactive' WHERE endpoint = ? AND status = 'active' AND "
                "NOT (component_type = ? AND component_id = ?)",
                commit.record.endpoint, type, id);
            if (!displaced) return displaced;
        }
        return save(commit.record);
    });
}

Result<std::vector<PeerRecord>> PeerStoreSqlite::list_peers() {
    const std::scoped_lock lock(mutex_);
    auto rows = database_.query(fmt::format(
        "SELECT {} FROM peer ORDER BY component_type || '/' || component_id", kPeerColumns));
    if (!rows) return fail(std::move(rows.error()));
    std::vector<PeerRecord> all;
    for (;;) {
        const auto more = rows->step();
        if (!more) return fail(more.error());
        if (!*more) return all;
        auto one = peer_of(*rows);
        if (!one) return fail(std::move(one.error()));
        all.push_back(std::move(*one));
    }
}

Result<PeerRecord> PeerStoreSqlite::set_status(const PeerName& name, PeerStatus status) {
    const auto may_change = [](PeerStatus one) {
        return one == PeerStatus::kActive || one == PeerStatus::kInactive;
    };
    const std::scoped_lock lock(mutex_);
    return database_.transaction([&]() -> Result<PeerRecord> {
        auto record = load_existing(name);
        if (!record) return record;
        if (!may_change(status) || !may_change(record->status))
            return fail(ErrorCode::kConflict, "only active and inactive peers change places");
        if (status == PeerStatus::kActive) {
            auto others = database_.query(
                "SELECT 1 FROM peer WHERE endpoint = ? AND status = 'active' AND NOT "
                "(component_type = ? AND component_id = ?)",
                record->endpoint, to_text(name.type), name.id);
            if (!others) return fail(std::move(others.error()));
            const auto in_the_way = others->step();
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

Result<PeerRecord> PeerStoreSqlite::set_tool_url(const PeerName& name, std::string_view url) {
    const std::scoped_lock lock(mutex_);
    return database_.transaction([&]() -> Result<PeerRecord> {
        auto record = load_existing(name);
        if (!record) return record;
        record->tool_url = url;
        if (auto saved = save(*record); !saved) return fail(std::move(saved.error()));
        return record;
    });
}

Result<PeerRecord> PeerStoreSqlite::revoke(const PeerName& name, std::string_view reason,
                                           SystemTime at) {
    const std::scoped_lock lock(mutex_);
    return database_.transaction([&]() -> Result<PeerRecord> {
        auto record = load_existing(name);
        if (!record) return record;
        record->status = PeerStatus::kRevoked;
        auto revoked = database_.run(
            "UPDATE peer_certificate SET state = 'revoked', revoked_ms = ?, revoke_reason = ?"
            " WHERE component_type = ? AND component_id = ? AND state IN ('issued', 'current')",
            at, reason, to_text(name.type), name.id);
        if (!revoked) return fail(std::move(revoked.error()));
        if (auto saved = save(*record); !saved) return fail(std::move(saved.error()));
        return record;
    });
}

Result<void> PeerStoreSqlite::record_seen(const PeerName& name, SystemTime at) {
    const std::scoped_lock lock(mutex_);
    return database_.run(
        "UPDATE peer SET last_seen_ms = ? WHERE component_type = ? AND component_id = ?", at,
        to_text(name.type), name.id);
}

}  // namespace crab::store::sqlite
