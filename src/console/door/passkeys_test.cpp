#include "console/door/passkeys.hpp"

#include "base/base64url.hpp"
#include "base/task/test_loop.hpp"
#include "trust/test_authenticator.hpp"
#include "trust/test_token_store.hpp"

#include <functional>
#include <map>

#include <gtest/gtest.h>

namespace crab::console {
namespace {

using trust::test::Authenticator;

class PasskeyStoreMemory final : public PasskeyStore {
public:
    std::optional<Error> failure;
    std::map<std::string, StoredPasskey, std::less<>> kept;

    Result<std::optional<StoredPasskey>> find(std::string_view id) override {
        const auto found = kept.find(id);
        return found == kept.end() ? std::nullopt : std::optional(found->second);
    }
    Result<std::vector<StoredPasskey>> list() override {
        std::vector<StoredPasskey> all;
        for (const auto& [id, passkey] : kept) all.push_back(passkey);
        return all;
    }
    Result<void> insert(const StoredPasskey& passkey) override {
        if (failure) return fail(*failure);
        if (!kept.emplace(passkey.id, passkey).second) return fail(ErrorCode::kConflict, "there");
        return {};
    }
    Result<void> remove(std::string_view id) override {
        kept.erase(std::string(id));
        return {};
    }
    Result<bool> record_use(std::string_view id, std::uint32_t count, SystemTime at) override {
        const auto found = kept.find(id);
        if (found == kept.end()) return false;
        StoredPasskey& passkey = found->second;
        if (count <= passkey.sign_count && (count != 0 || passkey.sign_count != 0)) return false;
        passkey.sign_count = count;
        passkey.used_at = at;
        return true;
    }
};

class PasskeysTest : public testing::Test {
protected:
    ConsoleSession signed_in(const std::string& name, core::Roles roles,
                             std::optional<Milliseconds> lifetime = {}) {
        const auto issued =
            tokens->issue({.name = name, .roles = roles, .lifetime = lifetime}).value();
        return {.number = 1,
                .principal = issued.record.principal_id(),
                .roles = roles,
                .credential = issued.record.id};
    }
    Result<StoredPasskey> add(const Authenticator& with, const ConsoleSession& session,
                              std::string challenge) {
        return loop.run(passkeys.add(
            {.session = session, .made = with.create(challenge), .site = site, .label = label}));
    }
    Result<StoredPasskey> add(const Authenticator& with, const ConsoleSession& session) {
        return add(with, session, passkeys.challenge(session.number));
    }
    /// By whoever is not signed in, for what the page was told.
    Result<trust::Proven> prove(const Authenticator& with, const std::string& challenge,
                                std::uint64_t session = 0) {
        return loop.run(passkeys.prove(with.assert_it(challenge), site, session));
    }
    Result<trust::Proven> prove(const Authenticator& with) {
        return prove(with, passkeys.challenge(0));
    }
    /// That of a person, who has to be `me` where it matters.
    Authenticator authenticator(std::string id, std::string_view principal = "caller/me") const {
        Authenticator made;
        made.credential_id = std::move(id);
        made.user_handle = Passkeys::user_handle_of(principal, site.rp_id);
        return made;
    }

    TestLoop loop;
    BlockingPool pool{1};
    trust::TokenStoreMemory token_store;
    std::unique_ptr<trust::Tokens> tokens = trust::Tokens::load(token_store, loop.clock).value();
    std::shared_ptr<PasskeyStoreMemory> store = std::make_shared<PasskeyStoreMemory>();
    std::vector<std::string> recorded;
    bool records = true;
    std::function<void()> meanwhile = [] {};  ///< happens while one is added
    Passkeys passkeys{{.clock = loop.clock,
                       .tokens = *tokens,
                       .store = store,
                       .pool = pool,
                       .record = [this](std::string_view kind, const ConsoleSession& session) {
                           recorded.push_back(std::string(kind) + " " + session.principal);
                           meanwhile();
                           return records;
                       }}};
    const trust::WebauthnSite site = *trust::webauthn_site_of("https://home.example");
    const ConsoleSession me = signed_in("me", {core::Role::kOperator, core::Role::kCaller});
    Authenticator phone = authenticator("passkey-1");
    std::string label = "my phone";
};

TEST_F(PasskeysTest, ALabelIsANameThatPeopleSee) {
    for (const char* bad : {"", " ", "a\nb", "my\u202Ephone", "my\u200Bphone"}) {
        label = bad;
        const auto added = add(phone, me);
        ASSERT_FALSE(added) << bad;
        EXPECT_EQ(added.error().code, ErrorCode::kInvalidArgs);
    }
    label = " мой телефон ";
    EXPECT_EQ(add(phone, me).value().label, "мой телефон");
}

TEST_F(PasskeysTest, APasskeyActsForWhoeverAddedIt) {
    const auto added = add(phone, me);
    ASSERT_TRUE(added) << added.error().message;
    EXPECT_EQ(added->rp_id, "home.example");
    const auto proven = prove(phone);
    ASSERT_TRUE(proven) << proven.error().message;
    EXPECT_EQ(proven->principal->id, "caller/me");
    EXPECT_EQ(proven->principal->roles, me.roles);
    EXPECT_EQ(proven->principal->credential_id, added->credential);
    EXPECT_EQ(recorded, std::vector<std::string>{"console.passkey.added caller/me"});
    const auto list = loop.run(passkeys.list(me)).value();
    ASSERT_EQ(list.size(), 1u);
    EXPECT_EQ(list[0].label, "my phone");
    EXPECT_EQ(list[0].used_at, loop.clock.system_now());
    ConsoleSession other = me;
    other.principal = "caller/other";
    EXPECT_TRUE(loop.run(passkeys.list(other))->empty());
}

TEST_F(PasskeysTest, ALesserSessionOfTheSamePrincipalNeitherSeesNorRemovesNorCrowdsOutAnOperators) {
    const auto added = add(phone, me);
    ASSERT_TRUE(added);
    const ConsoleSession lesser = signed_in("me", {core::Role::kCaller});
    ASSERT_EQ(lesser.principal, me.principal);
    EXPECT_TRUE(loop.run(passkeys.list(lesser))->empty());
    EXPECT_EQ(loop.run(passkeys.remove(lesser, added->credential)).error().code,
              ErrorCode::kNotFound);
    for (std::size_t i = 0; i < Passkeys::kMostOfOnePerson; ++i)
        ASSERT_TRUE(add(authenticator("lesser-" + std::to_string(i)), lesser)) << i;
    EXPECT_FALSE(add(authenticator("lesser-more"), lesser));
    EXPECT_TRUE(add(authenticator("passkey-2"), me));
    EXPECT_EQ(loop.run(passkeys.list(lesser))->size(), Passkeys::kMostOfOnePerson);
    EXPECT_TRUE(loop.run(passkeys.remove(me, added->credential)));
}

TEST_F(PasskeysTest, AChallengeIsGoodOnceForAMinuteAndOnlyHere) {
    ASSERT_TRUE(add(phone, me));
    const std::string challenge = passkeys.challenge(0);
    EXPECT_TRUE(prove(phone, challenge));
    EXPECT_FALSE(prove(phone, challenge)) << "replayed";
    const std::string old = passkeys.challenge(0);
    loop.clock.advance(trust::Challenges::kLifetime);
    EXPECT_FALSE(prove(phone, old));
    EXPECT_FALSE(prove(phone, std::string(96, 'a')));
    const std::string twice = passkeys.challenge(me.number);
    EXPECT_TRUE(add(authenticator("other"), me, twice));
    EXPECT_FALSE(add(authenticator("third"), me, twice))
        << "a registration uses its challenge up, too";
}

TEST_F(PasskeysTest, AChallengeIsOfTheSessionThatAskedForIt) {
    ASSERT_TRUE(add(phone, me));
    constexpr std::uint64_t kOther = 2;
    EXPECT_TRUE(prove(phone, passkeys.challenge(me.number), me.number));
    EXPECT_FALSE(prove(phone, passkeys.challenge(me.number), kOther));
    EXPECT_FALSE(prove(phone, passkeys.challenge(me.number), 0)) << "of a session, to sign in";
    EXPECT_FALSE(prove(phone, passkeys.challenge(0), me.number)) << "of nobody, in a session";
    EXPECT_FALSE(add(authenticator("planted"), me, passkeys.challenge(kOther)));
    EXPECT_FALSE(add(authenticator("planted"), me, passkeys.challenge(0)));
    EXPECT_TRUE(add(authenticator("planted"), me, passkeys.challenge(me.number)));
}

TEST_F(PasskeysTest, WhoSignsInSaysWhoTheyAre) {
    ASSERT_TRUE(add(phone, me));
    Authenticator other = phone;
    other.user_handle = Passkeys::user_handle_of("caller/you", site.rp_id);
    EXPECT_EQ(prove(other).error().code, ErrorCode::kUnauthenticated);
    EXPECT_FALSE(prove(other, passkeys.challenge(me.number), me.number));
    other.user_handle = Passkeys::user_handle_of("caller/me", "other.example");
    EXPECT_FALSE(prove(other));
    other.user_handle.clear();
    EXPECT_FALSE(prove(other));
    EXPECT_TRUE(prove(other, passkeys.challenge(me.number), me.number))
        << "an authenticator may leave it out where the page has named its passkeys";
    EXPECT_TRUE(prove(phone));
}

TEST_F(PasskeysTest, ForgedForeignAndUnknownOnesAreRefused) {
    ASSERT_TRUE(add(phone, me));
    Authenticator copy = phone;
    copy.key = crypto::PrivateKey::generate_p256();
    EXPECT_EQ(prove(copy).error().code, ErrorCode::kUnauthenticated) << "another key";
    copy = phone;
    copy.credential_id = "nobody's";
    EXPECT_EQ(prove(copy).error().code, ErrorCode::kUnauthenticated);
    copy = phone;
    copy.origin = "https://evil.example";
    EXPECT_EQ(prove(copy).error().code, ErrorCode::kUnauthenticated);
    copy = phone;
    copy.flags = 0x01;
    EXPECT_EQ(prove(copy).error().code, ErrorCode::kUnauthenticated) << "nobody was verified";
    const auto elsewhere = *trust::webauthn_site_of("https://other.example");
    copy = phone;
    copy.origin = elsewhere.origin, copy.rp_id = elsewhere.rp_id;
    EXPECT_FALSE(loop.run(passkeys.prove(copy.assert_it(passkeys.challenge(0)), elsewhere, 0)))
        << "a passkey is of one host name";
    EXPECT_TRUE(prove(phone));
}

TEST_F(PasskeysTest, ACounterThatGoesBackIsThatOfACopy) {
    phone.count = 7;
    ASSERT_TRUE(add(phone, me));
    EXPECT_FALSE(prove(phone));
    phone.count = 8;
    EXPECT_TRUE(prove(phone));
    EXPECT_FALSE(prove(phone));
    phone.count = 0;
    EXPECT_FALSE(prove(phone));
    phone.count = 9;
    EXPECT_TRUE(prove(phone));
}

TEST_F(PasskeysTest, ItEndsWithItsOwnerItsTimeAndItsRemoval) {
    const ConsoleSession guest = signed_in("guest", {core::Role::kOperator}, std::chrono::hours(1));
    const Authenticator guests = authenticator("guest's", "caller/guest");
    ASSERT_TRUE(add(guests, guest));
    EXPECT_TRUE(prove(guests));
    loop.clock.advance(std::chrono::hours(1));
    EXPECT_FALSE(prove(guests)) << "no longer than what its owner signed in with";

    const Authenticator second = authenticator("second");
    const auto added = add(second, me).value();
    EXPECT_EQ(loop.run(passkeys.remove(guest, added.credential)).error().code, ErrorCode::kNotFound)
        << "somebody else's";
    ASSERT_TRUE(loop.run(passkeys.remove(me, added.credential)));
    EXPECT_FALSE(prove(second));
    EXPECT_FALSE(tokens->find_credential(added.credential));

    const Authenticator third = authenticator("third");
    ASSERT_TRUE(add(third, me));
    ASSERT_TRUE(tokens->revoke("caller/me"));
    EXPECT_FALSE(prove(third));
    ASSERT_TRUE(passkeys.load());
    EXPECT_TRUE(store->kept.empty()) << "those whose key is good no more are forgotten";
}

TEST_F(PasskeysTest, WhatCannotBeKeptIsNoKey) {
    const auto keys = [&] { return tokens->list().size(); };
    const std::size_t before = keys();
    records = false;
    EXPECT_EQ(add(phone, me).error().code, ErrorCode::kUnavailable);
    EXPECT_EQ(keys(), before) << "nothing is added that the audit log does not know";
    records = true;
    store->failure = Error{.code = ErrorCode::kUnavailable, .message = "full"};
    EXPECT_EQ(add(phone, me).error().code, ErrorCode::kUnavailable);
    for (const trust::TokenRecord& each : tokens->list())
        EXPECT_EQ(each.public_key.empty(), !each.revoked_at) << "its key is revoked";
    store->failure.reset();
    EXPECT_EQ(add(phone, me).error().code, ErrorCode::kConflict)
        << "a key that was revoked once stays so";
}

TEST_F(PasskeysTest, ARevocationMeanwhileTakesItAlong) {
    meanwhile = [&] { ASSERT_TRUE(tokens->revoke_token(me.credential)); };
    EXPECT_EQ(add(phone, me).error().code, ErrorCode::kUnauthenticated);
    EXPECT_TRUE(store->kept.empty());
    for (const trust::TokenRecord& each : tokens->list()) EXPECT_TRUE(each.revoked_at) << each.id;
}

TEST_F(PasskeysTest, DevicesHaveNoneAndPeopleNotTooMany) {
    const ConsoleSession lamp = signed_in("lamp", {core::Role::kDevice, core::Role::kCaller});
    EXPECT_EQ(add(phone, lamp).error().code, ErrorCode::kForbidden);
    for (std::size_t i = 0; i <= Passkeys::kMostOfOnePerson; ++i) {
        const Authenticator each = authenticator("number " + std::to_string(i));
        EXPECT_EQ(add(each, me).has_value(), i < Passkeys::kMostOfOnePerson) << i;
    }
}

}  // namespace
}  // namespace crab::console
