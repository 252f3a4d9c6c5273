#include "trust/device_keys.hpp"

#include "base/test_clock.hpp"
#include "crypto/signature.hpp"
#include "trust/test_token_store.hpp"

#include <gtest/gtest.h>

namespace crab::trust {
namespace {

class DeviceKeysTest : public ::testing::Test {
protected:
    std::string enrol(const crypto::PrivateKey& with, std::string name = "Kitchen") {
        auto issued = tokens->issue({.name = std::move(name), .public_key = with.public_key().der});
        EXPECT_TRUE(issued) << issued.error().message;
        EXPECT_TRUE(issued->token.reveal().empty()) << "a key needs no secret of ours";
        return issued->record.id;
    }
    Result<KeySession> prove(const crypto::PrivateKey& with, const std::string& id,
                             const std::string& nonce, std::string_view address = "192.0.2.1") {
        return keys.exchange(id, nonce, crypto::sign(with, DeviceKeys::to_be_signed(id, nonce)),
                             address);
    }

    FakeClock clock;
    TokenStoreMemory store;
    std::unique_ptr<Tokens> tokens = Tokens::load(store, clock).value();
    DeviceKeys keys{*tokens, clock};
    const crypto::PrivateKey key = crypto::PrivateKey::generate_ed25519();
};

TEST_F(DeviceKeysTest, ASignedChallengeGivesATokenOfTheDevice) {
    for (const crypto::PrivateKey& each : {key, crypto::PrivateKey::generate_p256()}) {
        const std::string id = enrol(each);
        const auto session = prove(each, id, keys.challenge());
        ASSERT_TRUE(session) << session.error().message;
        const auto proven = tokens->prove(session->token.reveal());
        ASSERT_TRUE(proven);
        EXPECT_EQ(proven->principal->proof, core::Proof::kDeviceKey);
        EXPECT_EQ(proven->principal->credential_id, id);
        EXPECT_TRUE(proven->principal->id.starts_with("device/kitchen"));
    }
}

TEST_F(DeviceKeysTest, AChallengeIsGoodOnceAndForAMinute) {
    const std::string id = enrol(key);
    const std::string nonce = keys.challenge();
    EXPECT_TRUE(prove(key, id, nonce));
    EXPECT_EQ(prove(key, id, nonce).error().code, ErrorCode::kUnauthenticated);
    const std::string old = keys.challenge();
    clock.advance(DeviceKeys::kChallengeLifetime);
    EXPECT_EQ(prove(key, id, old).error().code, ErrorCode::kUnauthenticated);
}

TEST_F(DeviceKeysTest, ForeignChallengesKeysAndSignaturesAreRefused) {
    const std::string id = enrol(key);
    DeviceKeys other(*tokens, clock);
    EXPECT_FALSE(prove(key, id, other.challenge())) << "of another process";
    EXPECT_FALSE(prove(key, id, std::string(96, 'a')));
    EXPECT_FALSE(prove(key, id, ""));
    EXPECT_FALSE(prove(crypto::PrivateKey::generate_ed25519(), id, keys.challenge()))
        << "another key";
    EXPECT_FALSE(prove(key, "00000000", keys.challenge())) << "an id that nobody has";
    const std::string nonce = keys.challenge();
    EXPECT_FALSE(keys.exchange(id, nonce, crypto::sign(key, nonce), "192.0.2.1"))
        << "not what has to be signed";
    EXPECT_TRUE(prove(key, id, nonce)) << "a wrong signature uses nothing up";
}

TEST_F(DeviceKeysTest, ARevokedKeyGetsNothingAndItsTokensEnd) {
    const std::string id = enrol(key);
    const auto session = prove(key, id, keys.challenge());
    std::vector<std::string> revoked;
    tokens->on_revoked([&](const std::string& credential) { revoked.push_back(credential); });
    EXPECT_EQ(tokens->revoke("kitchen").value(), 1);
    EXPECT_EQ(revoked, std::vector<std::string>{id});
    EXPECT_FALSE(tokens->prove(session->token.reveal()));
    EXPECT_FALSE(prove(key, id, keys.challenge()));
}

TEST_F(DeviceKeysTest, TokensOfAKeyEndWithTheirTimeAndWhenThereAreTooMany) {
    const std::string id = enrol(key);
    const auto first = prove(key, id, keys.challenge());
    clock.advance(Tokens::kSessionLifetime);
    EXPECT_FALSE(tokens->prove(first->token.reveal()));
    const auto second = prove(key, id, keys.challenge());
    for (std::size_t i = 0; i < Tokens::kSessionsPerKey; ++i)
        ASSERT_TRUE(prove(key, id, keys.challenge()));
    EXPECT_FALSE(tokens->prove(second->token.reveal()));
}

TEST_F(DeviceKeysTest, KeysOutliveTheProcessAndTheirTokensDoNot) {
    const std::string id = enrol(key);
    const auto session = prove(key, id, keys.challenge());
    const auto later = Tokens::load(store, clock).value();
    EXPECT_FALSE(later->prove(session->token.reveal()));
    DeviceKeys again(*later, clock);
    const std::string nonce = again.challenge();
    EXPECT_TRUE(again.exchange(id, nonce, crypto::sign(key, DeviceKeys::to_be_signed(id, nonce)),
                               "192.0.2.1"));
}

TEST_F(DeviceKeysTest, OneKeyIsPairedOnceAndOnlyByDevices) {
    enrol(key);
    EXPECT_EQ(tokens->issue({.name = "Again", .public_key = key.public_key().der}).error().code,
              ErrorCode::kConflict);
    EXPECT_EQ(tokens->issue({.name = "ci", .roles = {core::Role::kCaller}, .public_key = "x"})
                  .error()
                  .code,
              ErrorCode::kInvalidArgs);
}

TEST_F(DeviceKeysTest, AKeyOfTheConsoleProvesItsPersonAndGivesNoToken) {
    const auto issued = tokens->issue({.name = "me",
                                       .roles = {core::Role::kOperator},
                                       .public_key = key.public_key().der,
                                       .for_console = true});
    ASSERT_TRUE(issued) << issued.error().message;
    const std::string id = issued->record.id;
    EXPECT_EQ(prove(key, id, keys.challenge()).error().code, ErrorCode::kForbidden);
    const std::string nonce = keys.challenge();
    const std::string signature = crypto::sign(key, DeviceKeys::to_be_signed(id, nonce));
    const auto proven = keys.prove(id, nonce, signature, "192.0.2.1");
    ASSERT_TRUE(proven) << proven.error().message;
    EXPECT_EQ(proven->principal->id, "caller/me");
    EXPECT_FALSE(keys.prove(id, nonce, signature, "192.0.2.1")) << "a challenge is good once";
    EXPECT_EQ(tokens->find_credential(id)->principal, proven->principal);
    EXPECT_EQ(tokens->revoke_token(id).value(), 1);
    EXPECT_FALSE(tokens->find_credential(id));
    EXPECT_FALSE(tokens->find_credential("00000000"));
}

TEST_F(DeviceKeysTest, AnAddressThatGuessesHasToWait) {
    const std::string id = enrol(key);
    for (int i = 0; i < DeviceKeys::kWrongPerMinute; ++i)
        EXPECT_EQ(keys.exchange(id, keys.challenge(), "wrong", "192.0.2.9").error().code,
                  ErrorCode::kUnauthenticated);
    EXPECT_EQ(prove(key, id, keys.challenge(), "192.0.2.9").error().code, ErrorCode::kRateLimited);
    EXPECT_TRUE(prove(key, id, keys.challenge(), "192.0.2.1")) << "others do not";
    clock.advance(std::chrono::minutes(1));
    EXPECT_TRUE(prove(key, id, keys.challenge(), "192.0.2.9"));
}

}  // namespace
}  // namespace crab::trust
