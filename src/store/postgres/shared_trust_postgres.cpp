#include "store/postgres/shared_trust_postgres.hpp"

#include "base/encoding.hpp"
#include "store/postgres/text_lists.hpp"

#include <algorithm>

namespace crab::store::postgres {
namespace {

using trust::PairingOffer;
using trust::PairingProgress;
using trust::StoredSecret;
using trust::StoredSession;
using trust::TakenCode;

Array array_of(trust::CodeShelf::Forms forms) {
    Array array;
    for (const std::string& form : forms) array.add(form);
    return array;
}

Result<TakenCode> code_of(const Rows::Row& row) {
    const auto roles = core::Roles::parse(row.text_view(2));
    if (!roles)
        return fail(ErrorCode::kInternal,
                    "a pairing code has a role that this program does not know: use the newer "
                    "program");
    TakenCode code{.id = row.text(0),
                   .offer = {.name = row.text(1),
                             .roles = *roles,
                             .tenants = tenants_of(row.text_view(3)),
                             .lifetime = {},
                             .device = row.text(5)},
                   .vouched_key = row.bytes(6)};
    if (!row.is_null(4)) code.offer.lifetime = Milliseconds(row.integer(4));
    return code;
}

/// A text that lives for ever.
std::string_view code_state_of(std::string_view text) {
    for (const std::string_view known : {"open", "paired", "expired"})
        if (text == known) return known;
    return "ended";
}

}  // namespace

/// Whoever changes codes is alone, so that tries are counted and codes taken one after the other.
Result<void> SharedTrustPostgres::lock_codes() {
    return database_.execute("LOCK TABLE pairing_code IN SHARE ROW EXCLUSIVE MODE");
}

Result<void> SharedTrustPostgres::open(NewCode code, std::size_t most) {
    const std::scoped_lock lock(mutex_);
    return database_.transaction([&]() -> Result<void> {
        if (auto locked = lock_codes(); !locked) return locked;
        auto rows = database_.query(
            "SELECT count(*), ceil(extract(epoch FROM min(expires) - clock_timestamp()) * "
            "1000)::bigint FROM pairing_code WHERE state = 'open' AND expires > clock_timestamp()");
        if (!rows) return fail(std::move(rows.error()));
        if ((*rows)[0].integer(0) >= static_cast<std::int64_t>(most))
            return too_many(Milliseconds((*rows)[0].integer(1)));
        auto forgotten = database_.run(
            "DELETE FROM pairing_code WHERE opened < clock_timestamp() - interval '1 day'");
        if (!forgotten) return forgotten;
        const PairingOffer& offer = code.offer;
        std::optional<std::int64_t> lifetime;
        if (offer.lifetime) lifetime = offer.lifetime->count();
        return database_.run(
            "INSERT INTO pairing_code (id, form, name, roles, tenants, lifetime_ms, device, "
            "vouched_key, state, paired_as, wrong_tries, opened, expires) VALUES ($1, $2, $3, $4, "
            "$5::text[], $6::bigint, $7, '', 'open', '', 0, clock_timestamp(), "
            "clock_timestamp() + $8::bigint * interval '1 ms')",
            code.id, code.form, offer.name, offer.roles.to_text(), array_of(offer.tenants),
            lifetime, offer.device, std::int64_t{code.lifetime.count()});
    });
}

Result<void> SharedTrustPostgres::end(std::string_view id) {
    const std::scoped_lock lock(mutex_);
    auto ended = database_.query(
        "UPDATE pairing_code SET state = 'ended' WHERE id = $1 AND state = 'open' AND expires > "
        "clock_timestamp()",
        id);
    if (!ended) return fail(std::move(ended.error()));
    if (ended->changed() == 0) return no_such_pairing();
    return {};
}

/// The caller has a transaction and the lock.
Result<SharedTrustPostgres::Found> SharedTrustPostgres::find_open(Forms forms) {
    auto open = database_.query(
        "SELECT count(*) FROM pairing_code WHERE state = 'open' AND expires > clock_timestamp()");
    if (!open) return fail(std::move(open.error()));
    Found found{.any_open = (*open)[0].integer(0) > 0, .code = {}};
    auto rows = database_.query(
        "SELECT id, name, roles, array_to_string(tenants, E'\\n'), lifetime_ms, device, "
        "vouched_key FROM pairing_code WHERE state = 'open' AND expires > clock_timestamp() AND "
        "form = ANY ($1::text[]) ORDER BY opened DESC LIMIT 1",
        array_of(forms));
    if (!rows) return fail(std::move(rows.error()));
    if (rows->count() == 0) return found;
    auto code = code_of((*rows)[0]);
    if (!code) return fail(std::move(code.error()));
    found.code = std::move(*code);
    return found;
}

Result<void> SharedTrustPostgres::vouch(Forms forms, std::string_view public_key) {
    const std::scoped_lock lock(mutex_);
    return database_.transaction([&]() -> Result<void> {
        if (auto locked = lock_codes(); !locked) return locked;
        const auto found = find_open(forms);
        if (!found) return fail(found.error());
        if (!found->code || !found->code->offer.roles.has(core::Role::kDevice))
            return nothing_to_vouch_for();
        return database_.run("UPDATE pairing_code SET vouched_key = $1::bytea WHERE id = $2",
                             bytes_of(public_key), found->code->id);
    });
}

// A wrong try is committed too, so it is no failure of the transaction.
Result<TakenCode> SharedTrustPostgres::take(Forms forms, int wrong_tries) {
    const std::scoped_lock lock(mutex_);
    auto found = database_.transaction([&]() -> Result<Found> {
        if (auto locked = lock_codes(); !locked) return fail(std::move(locked.error()));
        auto code = find_open(forms);
        if (!code) return code;
        auto noted =
            code->code
                ? database_.run("UPDATE pairing_code SET state = 'taken' WHERE id = $1",
                                code->code->id)
                : database_.run(
                      "UPDATE pairing_code SET wrong_tries = wrong_tries + 1, state = CASE WHEN "
                      "wrong_tries + 1 >= $1 THEN 'ended' ELSE state END WHERE state = 'open' AND "
                      "expires > clock_timestamp()",
                      wrong_tries);
        if (!noted) return fail(std::move(noted.error()));
        return code;
    });
    if (!found) return fail(std::move(found.error()));
    if (!found->any_open) return none_open();
    if (!found->code) return wrong();
    return std::move(*found->code);
}

Result<void> SharedTrustPostgres::settle(const TakenCode& code,
                                         const std::optional<std::string>& slug) {
    const std::scoped_lock lock(mutex_);
    return database_.run(
        "UPDATE pairing_code SET state = CASE WHEN $2 = '' THEN 'open' ELSE 'paired' END, "
        "paired_as = $2 WHERE id = $1 AND state = 'taken'",
        code.id, slug.value_or(""));
}

Result<std::vector<PairingProgress>> SharedTrustPostgres::recent() {
    const std::scoped_lock lock(mutex_);
    auto rows = database_.query(
        "SELECT id, CASE WHEN state NOT IN ('open', 'taken') THEN state WHEN expires <= "
        "clock_timestamp() THEN 'expired' ELSE 'open' END, paired_as FROM (SELECT * FROM "
        "pairing_code ORDER BY opened DESC, id LIMIT $1) x ORDER BY opened, id",
        std::int64_t{kRemembered});
    if (!rows) return fail(std::move(rows.error()));
    std::vector<PairingProgress> progress;
    for (const auto row : *rows)
        progress.push_back(
            {.id = row.text(0), .state = code_state_of(row.text_view(1)), .device = row.text(2)});
    return progress;
}

/// Nobody misses what they keep if that fails.
void SharedTrustPostgres::forget_old() {
    constexpr std::chrono::minutes kEvery{10};
    const SteadyTime now = std::chrono::steady_clock::now();
    if (now < forget_at_) return;
    forget_at_ = now + kEvery;
    // Long after the clock of any node calls it fresh.
    (void)database_.run("DELETE FROM used_nonce WHERE used < now() - interval '1 day'");
    (void)database_.run(
        "DELETE FROM key_session WHERE expires_ms < (extract(epoch FROM now()) * 1000)::bigint");
}

Result<bool> SharedTrustPostgres::use_up(std::string_view challenge) {
    const std::scoped_lock lock(mutex_);
    forget_old();
    auto added = database_.query(
        "INSERT INTO used_nonce (nonce, used) VALUES ($1, now()) ON CONFLICT (nonce) DO NOTHING",
        challenge);
    if (!added) return fail(std::move(added.error()));
    return added->changed() == 1;
}

// One that is lost with the server costs another signature, so nobody waits for its disk.
Result<void> SharedTrustPostgres::add_session(const StoredSession& session, std::size_t most) {
    const auto hash = from_hex(session.hash_hex);
    if (!hash) return fail(ErrorCode::kInternal, "a session's hash is no hexadecimal number");
    const std::scoped_lock lock(mutex_);
    return database_.transaction([&]() -> Result<void> {
        if (auto set = database_.execute("SET LOCAL synchronous_commit = off"); !set) return set;
        auto added = database_.run(
            "INSERT INTO key_session (hash, key_id, expires_ms, added) VALUES ($1::bytea, $2, $3, "
            "clock_timestamp())",
            bytes_of(*hash), session.key_id, session.expires_at);
        if (!added) return added;
        return database_.run(
            "DELETE FROM key_session WHERE key_id = $1 AND hash NOT IN (SELECT hash FROM "
            "key_session WHERE key_id = $1 ORDER BY added DESC LIMIT $2)",
            session.key_id, static_cast<std::int64_t>(most));
    });
}

// `added` is set before the commit: those of the last half minute are read again, for they may have
// come since.
Result<std::vector<StoredSession>> SharedTrustPostgres::new_sessions() {
    const std::scoped_lock lock(mutex_);
    auto rows = database_.query(
        "SELECT encode(hash, 'hex'), key_id, expires_ms, (extract(epoch FROM added) * "
        "1000000)::bigint FROM key_session WHERE added > to_timestamp(($1::bigint - 30000000) / "
        "1000000.0) AND expires_ms > (extract(epoch FROM now()) * 1000)::bigint ORDER BY added",
        sessions_read_);
    if (!rows) return fail(std::move(rows.error()));
    std::vector<StoredSession> sessions;
    for (const auto row : *rows) {
        sessions.push_back(
            {.hash_hex = row.text(0), .key_id = row.text(1), .expires_at = row.time(2)});
        sessions_read_ = std::max(sessions_read_, row.integer(3));
    }
    return sessions;
}

Result<std::optional<StoredSecret>> SharedTrustPostgres::read_secret(std::string_view name) {
    auto rows = database_.query("SELECT sealed, digest FROM fleet_secret WHERE name = $1", name);
    if (!rows) return fail(std::move(rows.error()));
    if (rows->count() == 0) return std::nullopt;
    return StoredSecret{.sealed = (*rows)[0].bytes(0), .digest = (*rows)[0].text(1)};
}

Result<std::optional<StoredSecret>> SharedTrustPostgres::find_secret(std::string_view name) {
    const std::scoped_lock lock(mutex_);
    return read_secret(name);
}

Result<StoredSecret> SharedTrustPostgres::share_secret(std::string_view name,
                                                       const StoredSecret& secret) {
    const std::scoped_lock lock(mutex_);
    auto added = database_.run(
        "INSERT INTO fleet_secret (name, sealed, digest) VALUES ($1, $2::bytea, $3) ON CONFLICT "
        "(name) DO NOTHING",
        name, bytes_of(secret.sealed), secret.digest);
    if (!added) return fail(std::move(added.error()));
    auto stored = read_secret(name);
    if (!stored) return fail(std::move(stored.error()));
    if (!*stored)  // an operator has removed it in between
        return fail(ErrorCode::kUnavailable, "the fleet's secret is being removed: repeat");
    return std::move(**stored);
}

Result<void> SharedTrustPostgres::replace_secret(std::string_view name, std::string_view before,
                                                 std::string_view sealed) {
    const std::scoped_lock lock(mutex_);
    return database_.run(
        "UPDATE fleet_secret SET sealed = $1::bytea WHERE name = $2 AND sealed = $3::bytea",
        bytes_of(sealed), name, bytes_of(before));
}

}  // namespace crab::store::postgres
