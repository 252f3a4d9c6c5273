#include "console/door/passkeys.hpp"

#include "base/base64url.hpp"
#include "base/log.hpp"
#include "crypto/digest.hpp"
#include "crypto/signature.hpp"
#include "json/display_name.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace crab::console {
namespace {

constexpr std::size_t kMostLabelBytes = 64;
constexpr std::size_t kUserHandleChars = 32;

std::unexpected<Error> unknown_passkey() {
    return fail(ErrorCode::kUnauthenticated,
                "this passkey is unknown here, or was removed: sign in another way");
}

std::unexpected<Error> stale_challenge() {
    return fail(ErrorCode::kUnauthenticated,
                "this challenge is no longer valid: ask for a new one");
}

/// Whom a challenge is made for.
std::string session_of_challenge(std::uint64_t session) {
    return session == 0 ? std::string() : fmt::format("session {}", session);
}

/// As it is kept.
Result<std::string> read_label(std::string_view label) {
    if (label.size() > kMostLabelBytes)
        return fail(ErrorCode::kInvalidArgs,
                    fmt::format("a label has at most {} bytes", kMostLabelBytes));
    auto name = json::read_display_name(label);
    if (!name) name.error().message = "label: " + name.error().message;
    return name;
}

}  // namespace

Result<void> Passkeys::load() {
    const auto all = uses_.store->list();
    if (!all) return fail(all.error());
    for (const StoredPasskey& each : *all) {
        if (uses_.tokens.find_credential(each.credential)) continue;
        if (auto removed = uses_.store->remove(each.id); !removed) return removed;
    }
    return {};
}

std::string Passkeys::user_handle_of(std::string_view principal, std::string_view rp_id) {
    return crypto::sha256_hex(fmt::format("crab-passkey\n{}\n{}", rp_id, principal))
        .substr(0, kUserHandleChars);
}

std::string Passkeys::challenge(std::uint64_t session) {
    return challenges_.make(session_of_challenge(session));
}

bool Passkeys::use_up(std::string_view challenge, std::uint64_t session) {
    return challenges_.is_fresh(challenge, session_of_challenge(session)) &&
           challenges_.use_up(challenge);
}

/// Whether an answer is of that person, as it says itself; in a session it may say nothing.
bool Passkeys::names_owner(const trust::Assertion& assertion, const StoredPasskey& passkey,
                           std::uint64_t session) const {
    if (assertion.user_handle.empty()) return session != 0;
    const core::PrincipalRef owner = owner_of(passkey);
    return owner && assertion.user_handle == user_handle_of(owner->id, passkey.rp_id);
}

Task<Result<trust::Proven>> Passkeys::prove(trust::Assertion assertion, trust::WebauthnSite site,
                                            std::uint64_t session) {
    const std::string id = to_base64url(assertion.credential_id);
    auto find = [store = uses_.store, id] { return store->find(id); };
    const auto found = co_await uses_.pool.run(std::move(find));
    if (!found) co_return fail(found.error());
    if (!*found || (*found)->rp_id != site.rp_id) co_return unknown_passkey();
    const StoredPasskey& passkey = **found;
    const auto der = uses_.tokens.find_key(passkey.credential);
    if (!der) co_return unknown_passkey();
    const auto key = crypto::read_signing_key(*der);
    if (!key) co_return fail(key.error());
    const auto verified = trust::verify_assertion(assertion, *key, site);
    if (!verified) co_return fail(verified.error());
    if (!names_owner(assertion, passkey, session)) co_return unknown_passkey();
    if (!use_up(verified->challenge, session)) co_return stale_challenge();
    auto use = [store = uses_.store, id, count = verified->sign_count,
                at = uses_.clock.system_now()] { return store->record_use(id, count, at); };
    const auto counted = co_await uses_.pool.run(std::move(use));
    if (!counted) co_return fail(counted.error());
    if (!*counted) {
        log::warn("a passkey's counter went back: somebody may have a copy of it",
                  {{"key_id", passkey.credential}, {"count", verified->sign_count}});
        co_return fail(ErrorCode::kUnauthenticated,
                       "this passkey's counter went back, as that of a copy does: remove it, and "
                       "sign in another way");
    }
    // A revocation in between has not seen this.
    co_return uses_.tokens.find_credential(passkey.credential);
}

Task<Result<StoredPasskey>> Passkeys::add(Addition addition) {
    auto label = read_label(addition.label);
    if (!label) co_return fail(std::move(label.error()));
    addition.label = std::move(*label);
    auto made = trust::verify_registration(addition.made, addition.site);
    if (!made) co_return fail(made.error());
    if (!use_up(made->challenge, addition.session.number)) co_return stale_challenge();
    auto work = [this, &addition, &made] { return add_now(addition, *made); };
    co_return co_await uses_.pool.run(std::move(work));
}

Result<StoredPasskey> Passkeys::add_now(const Addition& addition,
                                        const trust::VerifiedRegistration& made) {
    const ConsoleSession& session = addition.session;
    const auto of = uses_.tokens.find_credential(session.credential);
    if (!of) return fail(of.error());
    const std::vector<trust::TokenRecord> records = uses_.tokens.list();
    const auto record = std::ranges::find(records, session.credential, &trust::TokenRecord::id);
    if (record == records.end() || !record->device.empty())
        return fail(ErrorCode::kForbidden,
                    "this is signed in as a device, which has no passkeys; they are for people");
    const auto known = list_now(session);
    if (!known) return fail(known.error());
    // Lesser sessions fill no place of an operator's.
    const auto alike = std::ranges::count_if(*known, [&](const StoredPasskey& each) {
        const core::PrincipalRef owner = owner_of(each);
        return owner && owner->roles.are_of_operator() == is_operator(session);
    });
    if (static_cast<std::size_t>(alike) >= kMostOfOnePerson)
        return fail(ErrorCode::kConflict,
                    fmt::format("there are {} passkeys already: remove one first", alike));
    const SystemTime now = uses_.clock.system_now();
    trust::IssueRequest request{.name = record->name,
                                .roles = of->principal->roles,
                                .tenants = record->tenants,
                                .lifetime = {},
                                .device = {},
                                .public_key = made.key.der,
                                .for_console = true};
    if (of->good_until)
        request.lifetime = std::chrono::duration_cast<Milliseconds>(*of->good_until - now);
    if (!uses_.record("console.passkey.added", session))
        return fail(ErrorCode::kUnavailable, "the audit log takes no record of a new passkey");
    const auto issued = uses_.tokens.issue(request);
    if (!issued) return fail(issued.error());
    StoredPasskey passkey{.id = to_base64url(addition.made.credential_id),
                          .credential = issued->record.id,
                          .rp_id = addition.site.rp_id,
                          .label = addition.label,
                          .sign_count = made.sign_count,
                          .created_at = now,
                          .used_at = {}};
    const auto stored = uses_.store->insert(passkey);
    // A revocation in between has not seen it.
    const bool revoked = !uses_.tokens.find_credential(session.credential);
    if (stored && !revoked) return passkey;
    (void)uses_.tokens.revoke_token(issued->record.id);
    if (stored) (void)uses_.store->remove(passkey.id);
    return stored ? fail(ErrorCode::kUnauthenticated, "this was revoked just now")
                  : fail(stored.error());
}

core::PrincipalRef Passkeys::owner_of(const StoredPasskey& passkey) const {
    const auto its = uses_.tokens.find_credential(passkey.credential);
    return its ? its->principal : nullptr;
}

Result<std::vector<StoredPasskey>> Passkeys::list_now(const ConsoleSession& session) const {
    auto all = uses_.store->list();
    if (!all) return all;
    std::erase_if(*all, [&](const StoredPasskey& each) {
        const core::PrincipalRef owner = owner_of(each);
        return !owner || owner->id != session.principal ||
               (owner->roles.are_of_operator() && !is_operator(session));
    });
    return all;
}

Task<Result<std::vector<StoredPasskey>>> Passkeys::list(ConsoleSession session) {
    auto work = [this, &session] { return list_now(session); };
    co_return co_await uses_.pool.run(std::move(work));
}

Task<Result<void>> Passkeys::remove(ConsoleSession session, std::string key_id) {
    auto work = [this, &session, &key_id]() -> Result<void> {
        const auto known = list_now(session);
        if (!known) return fail(known.error());
        const auto it = std::ranges::find(*known, key_id, &StoredPasskey::credential);
        if (it == known->end()) return fail(ErrorCode::kNotFound, "you have no such passkey");
        (void)uses_.record("console.passkey.removed", session);
        const auto revoked = uses_.tokens.revoke_token(key_id);
        if (!revoked) return fail(revoked.error());
        return uses_.store->remove(it->id);
    };
    co_return co_await uses_.pool.run(std::move(work));
}

}  // namespace crab::console
