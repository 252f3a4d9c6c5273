#include "trust/webauthn.hpp"

#include "trust/test_authenticator.hpp"

#include <functional>

#include <gtest/gtest.h>

namespace crab::trust {
namespace {

using test::Authenticator;

class WebauthnTest : public testing::Test {
protected:
    Result<VerifiedAssertion> verify(const Assertion& assertion) const {
        return verify_assertion(assertion, authenticator.key.public_key(), site);
    }
    /// The message of the refusal; empty: it was accepted.
    std::string refusal(const Assertion& assertion) const {
        const auto verified = verify(assertion);
        return verified ? "" : verified.error().message;
    }

    Authenticator authenticator;
    const WebauthnSite site = *webauthn_site_of("https://home.example");
};

TEST_F(WebauthnTest, BothKindsOfKeysAssertTheirChallenge) {
    for (auto make : {&crypto::PrivateKey::generate_p256, &crypto::PrivateKey::generate_ed25519}) {
        authenticator.key = make();
        authenticator.count = 0x01020304;
        const auto verified = verify(authenticator.assert_it("sign this"));
        ASSERT_TRUE(verified) << verified.error().message;
        EXPECT_EQ(verified->challenge, "sign this");
        EXPECT_EQ(verified->sign_count, 0x01020304u);
        const auto made = verify_registration(authenticator.create("take this"), site);
        ASSERT_TRUE(made) << made.error().message;
        EXPECT_EQ(made->challenge, "take this");
        EXPECT_EQ(made->key, authenticator.key.public_key());
    }
}

TEST_F(WebauthnTest, ForgedAssertionsAreRefused) {
    const Assertion good = authenticator.assert_it("a");
    Assertion bent = good;
    bent.signature.back() = static_cast<char>(bent.signature.back() ^ 1);
    EXPECT_NE(refusal(bent), "");
    bent = good;
    bent.signature = "";
    EXPECT_NE(refusal(bent), "");
    bent = good;
    bent.authenticator_data.back() = static_cast<char>(bent.authenticator_data.back() ^ 1);
    EXPECT_NE(refusal(bent), "") << "another counter";
    bent = good;
    bent.client_data = authenticator.client_data("webauthn.get", "b");
    EXPECT_NE(refusal(bent), "") << "another challenge";
    Authenticator other;
    EXPECT_NE(refusal(other.assert_it("a")), "") << "another key";
    EXPECT_EQ(refusal(good), "");
}

TEST_F(WebauthnTest, AnAssertionOfAnotherPageIsRefused) {
    const auto with = [&](const std::function<void(Authenticator&)>& change) {
        Authenticator changed = authenticator;
        change(changed);
        return refusal(changed.assert_it("a"));
    };
    EXPECT_NE(with([](auto& it) { it.origin = "https://evil.example"; }), "");
    EXPECT_NE(with([](auto& it) { it.origin = "http://home.example"; }), "");
    EXPECT_NE(with([](auto& it) { it.origin = "https://home.example:8443"; }), "");
    EXPECT_NE(with([](auto& it) { it.origin = "https://home.example.evil.example"; }), "");
    EXPECT_NE(with([](auto& it) { it.rp_id = "evil.example"; }), "");
    EXPECT_NE(with([](auto& it) { it.rp_id = "example"; }), "");
    EXPECT_NE(with([](auto& it) { it.more = R"(,"crossOrigin":true)"; }), "");
    EXPECT_NE(with([](auto& it) { it.more = R"(,"topOrigin":"https://evil.example")"; }), "");
    EXPECT_NE(with([](auto& it) { it.more = R"(,"origin":"https://evil.example")"; }), "")
        << "two origins";
    EXPECT_EQ(with([](auto& it) { it.more = R"(,"crossOrigin":false)"; }), "");
}

TEST_F(WebauthnTest, AUserHasToBePresentAndVerified) {
    for (const int flags : {0x00, 0x01, 0x04, 0x18, 0x19, 0x1c}) {
        authenticator.flags = static_cast<std::uint8_t>(flags);
        EXPECT_NE(refusal(authenticator.assert_it("a")), "") << flags;
        EXPECT_FALSE(verify_registration(authenticator.create("a"), site)) << flags;
    }
}

TEST_F(WebauthnTest, APasskeyThatIsCopiedIsOneThatMayBe) {
    authenticator.flags = 0x05 | 0x08;
    EXPECT_EQ(refusal(authenticator.assert_it("a")), "");
    authenticator.flags = 0x05 | 0x08 | 0x10;
    EXPECT_EQ(refusal(authenticator.assert_it("a")), "");
    authenticator.flags = 0x05 | 0x10;
    EXPECT_NE(refusal(authenticator.assert_it("a")), "");
}

TEST_F(WebauthnTest, OneCeremonyIsNotTheOther) {
    Assertion assertion = authenticator.assert_it("a");
    assertion.client_data = authenticator.client_data("webauthn.create", "a");
    EXPECT_NE(refusal(assertion), "");
    Registration made = authenticator.create("a");
    made.client_data = authenticator.client_data("webauthn.get", "a");
    EXPECT_FALSE(verify_registration(made, site));
}

TEST_F(WebauthnTest, ARegistrationNamesItsOwnIdAndAKeyThatWeKnow) {
    const Registration good = authenticator.create("a");
    ASSERT_TRUE(verify_registration(good, site));
    Registration bent = good;
    bent.credential_id += "x";
    EXPECT_FALSE(verify_registration(bent, site));
    bent = good;
    bent.public_key = "no key";
    EXPECT_FALSE(verify_registration(bent, site));
    bent = good;
    bent.authenticator_data = authenticator.data();
    EXPECT_FALSE(verify_registration(bent, site)) << "no credential in it";
    bent.credential_id.clear();
    EXPECT_FALSE(verify_registration(bent, site)) << "and none is named";
    bent.credential_id = good.credential_id;
    for (std::size_t size = 0; size < good.authenticator_data.size() - 17; ++size) {
        bent.authenticator_data = good.authenticator_data.substr(0, size);
        EXPECT_FALSE(verify_registration(bent, site)) << size;
    }
}

TEST_F(WebauthnTest, DataOfAnotherLengthIsRefused) {
    const std::string good = authenticator.data();
    EXPECT_TRUE(read_authenticator_data(good, site.rp_id));
    EXPECT_FALSE(read_authenticator_data(good + "x", site.rp_id));
    EXPECT_TRUE(read_authenticator_data(authenticator.data(0x80) + "\xa0", site.rp_id));
    for (std::size_t size = 0; size < good.size(); ++size)
        EXPECT_FALSE(read_authenticator_data(good.substr(0, size), site.rp_id)) << size;
    EXPECT_FALSE(
        read_authenticator_data(authenticator.data(0x80) + std::string(5000, 'x'), site.rp_id));
}

TEST_F(WebauthnTest, ClientDataThatIsNoneIsRefused) {
    for (const std::string_view text :
         {"", "{}", "[]", "null", R"({"type":"webauthn.get"})",
          R"({"type":"webauthn.get","origin":"https://home.example"})",
          R"({"type":"webauthn.get","origin":"https://home.example","challenge":"YQ=="})"}) {
        EXPECT_FALSE(read_client_data(text, Ceremony::kAssert, site)) << text;
    }
    for (const std::size_t size : {100u, 2048u}) {
        authenticator.more = R"(,"other":")" + std::string(size, 'x') + '"';
        const std::string text = authenticator.client_data("webauthn.get", "a");
        EXPECT_EQ(read_client_data(text, Ceremony::kAssert, site).has_value(), size == 100) << size;
    }
}

TEST(WebauthnSite, PasskeysAreOfHostNamesAndNotOfAddresses) {
    const auto rp_id = [](std::string_view origin) {
        const auto site = webauthn_site_of(origin);
        return site ? site->rp_id : "";
    };
    EXPECT_EQ(rp_id("https://home.example:42617"), "home.example");
    EXPECT_EQ(rp_id("http://localhost:1"), "localhost");
    for (const std::string_view origin :
         {"http://127.0.0.1:80", "https://[::1]:443", "https://10.0.0.7", "https://0x7f.1",
          "https://a.0x7f", "null", "", "home.example", "https://home.example/path",
          "https://home.example."})
        EXPECT_EQ(rp_id(origin), "") << origin;
}

}  // namespace
}  // namespace crab::trust
