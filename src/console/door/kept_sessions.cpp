#include "console/door/kept_sessions.hpp"

#include "base/encoding.hpp"
#include "base/log.hpp"

#include <charconv>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace crab::console {
namespace {

ConsoleSessions::Options limits(const Clock& clock) {
    return {.max_sessions = 256,
            .max_per_principal = 16,
            .numbers_after = static_cast<std::uint64_t>(to_unix_ms(clock.system_now()))};
}

/// In a minute, for whomever they are: a program of this machine may say what it likes.
constexpr std::size_t kMostThroughProxies = 120;

std::unexpected<Error> not_stored(const Error& why) {
    return fail(ErrorCode::kUnavailable, "the session cannot be stored: " + why.message);
}

}  // namespace

KeptSessions::KeptSessions(Uses uses)
    : uses_(std::move(uses)),
      secret_(uses_.random.bytes<32>()),
      sessions_(uses_.clock, uses_.random, limits(uses_.clock)),
      tries_(uses_.clock) {
    uses_.tokens.on_revoked([this](const std::string& credential) {
        sessions_.end_those([&](const ConsoleSession& it) { return it.credential == credential; },
                            ConsoleSessions::End::kRevoked);
        sessions_.forget_proofs_of(credential);
        uses_.ended();
    });
}

Result<void> KeptSessions::load() {
    auto stored = uses_.store->load_all();
    if (!stored) return fail(std::move(stored.error()));
    std::vector<std::uint64_t> revoked;
    std::erase_if(*stored, [&](const StoredSession& each) {
        const bool gone = !is_good(each.session);
        if (gone) revoked.push_back(each.session.number);
        return gone;
    });
    sessions_.restore(std::move(*stored));
    return uses_.store->remove(revoked);
}

bool KeptSessions::is_good(const ConsoleSession& session) const {
    return principal_of(session).has_value();
}

void KeptSessions::set_mode(DoorMode mode) {
    mode_ = mode;
    sessions_.end_those([this](const ConsoleSession& session) { return !lets_in(session.roles); },
                        ConsoleSessions::End::kTurnedOff);
    uses_.ended();
}

bool KeptSessions::lets_in(core::Roles roles) const {
    const bool operates = roles.are_of_operator();
    switch (mode_.load()) {
        case DoorMode::kOff: return false;
        case DoorMode::kOperators: return operates;
        case DoorMode::kPeople: return operates || roles.has(core::Role::kCaller);
    }
    return false;
}

Result<void> KeptSessions::count_try(const net::PeerAddress& peer, std::string_view passed_on_for) {
    const std::scoped_lock lock(tries_mutex_);
    if (passed_on_for.empty()) return tries_.count(fmt::format("{:x}", peer.network()));
    if (auto its = tries_.count(fmt::format("for {}", passed_on_for)); !its) return its;
    return tries_.count("proxy", kMostThroughProxies);
}

void KeptSessions::note_refused() {
    (void)uses_.record({.kind = "console.session.refused", .principal = {}, .why = {}});
}

Result<trust::Proven> KeptSessions::prove_token(std::string_view token) const {
    auto proven = uses_.tokens.prove(token);
    // What a key was exchanged for is no token that a person holds.
    if (proven && proven->principal->proof != core::Proof::kBearerToken)
        return fail(ErrorCode::kUnauthenticated, "this is not a token; sign in with the key");
    return proven;
}

Task<Result<ConsoleSessions::Opened>> KeptSessions::open(trust::Proven proven, bool by_key) {
    const core::Principal& principal = *proven.principal;
    if (!lets_in(principal.roles))
        co_return fail(ErrorCode::kForbidden,
                       mode() == DoorMode::kPeople
                           ? "this console is for operators and callers; ask for a token or key "
                             "with one of these roles"
                           : "this console is for operators; ask for a key or token with the role "
                             "operator");
    ConsoleSessions::Opened opened =
        sessions_.open({.principal = principal.id,
                        .roles = principal.roles,
                        .credential = principal.credential_id,
                        .expires_at = proven.good_until.value_or(SystemTime{})});
    const std::uint64_t number = opened.session.number;
    if (by_key) sessions_.prove(number, principal.credential_id);
    const auto stored = sessions_.stored(number);
    const bool recorded = stored && uses_.record({.kind = "console.session.opened",
                                                  .principal = principal.id,
                                                  .session = number,
                                                  .why = {}});
    if (!recorded) {
        sessions_.end(number);
        co_return fail(ErrorCode::kUnavailable,
                       "the audit log takes no record of who signs in now, so nobody can");
    }
    auto insert = [store = uses_.store, session = *stored] { return store->insert(session); };
    if (const auto kept = co_await uses_.pool.run(std::move(insert)); !kept) {
        sessions_.end(number);
        co_return not_stored(kept.error());
    }
    // A revocation in between has not seen it.
    if (is_good(opened.session) && lets_in(opened.session.roles)) co_return opened;
    sessions_.end(number, ConsoleSessions::End::kRevoked);
    co_return fail(ErrorCode::kUnauthenticated, "this was revoked just now");
}

void KeptSessions::prove(std::uint64_t number, std::string_view key_id) {
    sessions_.prove(number, key_id);
    // A revocation in between has seen no proof.
    if (!uses_.tokens.find_credential(key_id)) sessions_.forget_proofs_of(key_id);
}

Task<Result<void>> KeptSessions::sign_out(std::uint64_t number) {
    sessions_.end(number);
    uses_.ended();
    auto remove = [store = uses_.store, number] { return store->remove(std::array{number}); };
    if (const auto removed = co_await uses_.pool.run(std::move(remove)); !removed)
        co_return not_stored(removed.error());
    co_return Result<void>();
}

Result<core::PrincipalRef> KeptSessions::principal_of(const ConsoleSession& session) const {
    const auto proven = uses_.tokens.find_credential(session.credential);
    if (!proven) return fail(proven.error());
    const core::PrincipalRef& principal = proven->principal;
    if (principal->roles != session.roles || principal->id != session.principal)
        return fail(ErrorCode::kUnauthenticated, "its rights have changed: sign in again");
    return principal;
}

std::string KeptSessions::acting(std::uint64_t number) const {
    const std::string text = std::to_string(number);
    return text + '.' + to_hex(crypto::hmac_sha256(secret_, bytes_of(text)));
}

core::PrincipalRef KeptSessions::find_acting(std::string_view text) {
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || !crypto::constant_time_equal(acting(number), text)) return nullptr;
    const auto session = sessions_.find_open(number);
    if (!session) return nullptr;
    const auto principal = principal_of(*session);
    return principal ? *principal : nullptr;
}

void KeptSessions::look() {
    std::vector<std::uint64_t> numbers;
    for (const ConsoleSessions::Ended& ended : sessions_.take_ended()) {
        (void)uses_.record({.kind = "console.session.ended",
                            .principal = ended.principal,
                            .session = ended.number,
                            .why = name_of(ended.end)});
        numbers.push_back(ended.number);
    }
    if (numbers.empty()) return;
    uses_.pool.post([store = uses_.store, numbers = std::move(numbers)] {
        if (const auto removed = store->remove(numbers); !removed)
            log::warn("ended console sessions stay stored", {{"reason", removed.error().message}});
    });
}

void KeptSessions::flush() {
    const std::vector<SessionUse> uses = sessions_.take_uses();
    if (uses.empty()) return;
    if (const auto stored = uses_.store->record_uses(uses); !stored)
        log::warn("uses of console sessions were not stored", {{"reason", stored.error().message}});
}

}  // namespace crab::console
