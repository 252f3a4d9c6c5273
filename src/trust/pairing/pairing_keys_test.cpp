#include "trust/pairing/pairing_keys.hpp"

#include "base/test_clock.hpp"
#include "trust/pairing/remote_store_file.hpp"
#include "trust/pairing/test_vectors.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

#include <stdlib.h>
#include <sys/stat.h>

namespace crab::trust {
namespace {

using namespace std::chrono_literals;
using Access = crypto::KeyFolder::Access;

class PairingFilesTest : public testing::Test {
protected:
    PairingFilesTest() {
        std::string made = std::filesystem::temp_directory_path() / "crab_pairing_XXXXXX";
        if (::mkdtemp(made.data()) == nullptr) throw std::runtime_error("no temporary folder");
        path = made;
    }
    ~PairingFilesTest() override { std::filesystem::remove_all(path); }

    crypto::KeyFolder folder() const { return crypto::KeyFolder::open(path).value(); }
    Result<GatewayKeys> gateway(std::string_view id = "home") {
        return GatewayKeys::load_or_make(folder(), id, clock.system_now(), random);
    }
    Result<RemoteKeys> remote() {
        return RemoteKeys::load_or_make(folder(), "memory", clock.system_now(), random);
    }
    mode_t mode_of(std::string_view name) const {
        struct stat status{};
        EXPECT_EQ(::stat((path / name).c_str(), &status), 0) << name;
        return status.st_mode & 0777;
    }

    FakeClock clock;
    crypto::SystemRandom random;
    std::filesystem::path path;
};

using GatewayKeysTest = PairingFilesTest;
using RemoteKeysTest = PairingFilesTest;
using RemoteStoreFileTest = PairingFilesTest;

TEST_F(GatewayKeysTest, KeysAreMadeOnceAndReadBack) {
    const auto made = gateway();
    ASSERT_TRUE(made) << made.error().message;
    EXPECT_EQ(made->authority.certificate().common_name(), "crab-pairing-ca-home");
    EXPECT_EQ(mode_of("gateway_identity.json"), 0600u);
    EXPECT_EQ(mode_of("pairing_ca_key.pem"), 0600u);
    EXPECT_EQ(mode_of("pairing_ca_cert.pem"), 0644u);
    const auto again = gateway("another");
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ(again->identity.gateway_id, "home");
    EXPECT_EQ(again->identity.key.public_key(), made->identity.key.public_key());
    EXPECT_EQ(again->authority.certificate().fingerprint(),
              made->authority.certificate().fingerprint());
}

TEST_F(GatewayKeysTest, TheOriginalsIdentityFileIsRead) {
    const std::string key =
        "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8DoQe/884Qvh1w3RjnS8CZZ+TWMJulDV8d3IZkElUxuA==";
    const std::string file =
        "{\n  \"gateway_id\": \"gw_home\",\n  \"private_key_ed25519\": \"" + key + "\"\n}";
    ASSERT_TRUE(folder().write("gateway_identity.json", file, Access::kPrivate));
    const auto keys = gateway();
    ASSERT_TRUE(keys) << keys.error().message;
    EXPECT_EQ(keys->identity.gateway_id, "gw_home");
    EXPECT_EQ(keys->identity.key.public_key(), kGatewayKey.public_key());
    EXPECT_NE(keys->identity.to_text().reveal().find(key), std::string::npos);
}

TEST_F(GatewayKeysTest, AnIdentityThatIsNotOneIsRefusedWithoutShowingTheKey) {
    const std::string good =
        R"({"gateway_id":"gw",)"
        R"("private_key_ed25519":)"
        R"("AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8DoQe/884Qvh1w3RjnS8CZZ+TWMJulDV8d3IZkElUxuA)"
        R"(=="})";
    ASSERT_TRUE(GatewayIdentity::parse(Secret(good)));
    const auto with = [&](std::string_view from, std::string_view to) {
        return std::string(good).replace(good.find(from), from.size(), to);
    };
    for (const std::string& text :
         {std::string(), std::string("[]"), with("gw", "g w"), with("gateway_id", "id"),
          with("uA==", "uQ=="), with("uA==", "uA="), with("AAEC", ""),
          with("private_key_ed25519", "PRIVATE_KEY_ED25519"), good.substr(0, 60)}) {
        const auto parsed = GatewayIdentity::parse(Secret(text));
        ASSERT_FALSE(parsed) << text;
        EXPECT_EQ(parsed.error().message.find("AAEC"), std::string::npos);
    }
}

TEST_F(GatewayKeysTest, HalfAnAuthorityOrAnAuthorityAloneStopsTheStart) {
    ASSERT_TRUE(gateway());
    for (const std::string_view name :
         {"pairing_ca_key.pem", "pairing_ca_cert.pem", "gateway_identity.json"}) {
        std::filesystem::rename(path / name, path / "aside");
        EXPECT_EQ(gateway().error().code, ErrorCode::kConflict) << name;
        EXPECT_FALSE(std::filesystem::exists(path / name));
        std::filesystem::rename(path / "aside", path / name);
    }
    std::filesystem::remove(path / "pairing_ca_key.pem");
    std::filesystem::remove(path / "pairing_ca_cert.pem");
    EXPECT_TRUE(gateway());  // an identity alone gets an authority
}

TEST_F(GatewayKeysTest, FilesOpenToOthersStopTheStart) {
    ASSERT_TRUE(gateway());
    for (const std::string_view name : {"gateway_identity.json", "pairing_ca_key.pem"}) {
        ::chmod((path / name).c_str(), 0640);
        EXPECT_EQ(gateway().error().code, ErrorCode::kForbidden) << name;
        ::chmod((path / name).c_str(), 0600);
    }
    ::chmod((path / "pairing_ca_cert.pem").c_str(), 0666);
    EXPECT_EQ(gateway().error().code, ErrorCode::kForbidden);
    ::chmod((path / "pairing_ca_cert.pem").c_str(), 0644);
    EXPECT_TRUE(gateway());
}

TEST_F(GatewayKeysTest, AnotherAuthoritysKeyStopsTheStart) {
    ASSERT_TRUE(gateway());
    const auto other =
        crypto::CertificateAuthority::create("crab-pairing-ca-home", clock.system_now());
    ASSERT_TRUE(folder().write("pairing_ca_key.pem", other.key_pem().reveal(), Access::kPrivate));
    EXPECT_EQ(gateway().error().code, ErrorCode::kInvalidArgs);
}

TEST_F(GatewayKeysTest, TheGatewaysOwnCertificateNamesItAndIsDueThirtyDaysBeforeItsEnd) {
    const auto keys = gateway();
    const auto own = keys->issue_own(
        {.uris = {}, .dns_names = {"gateway.example"}, .ip_addresses = {}}, clock.system_now());
    ASSERT_TRUE(own);
    EXPECT_EQ(own->certificate.alt_names().uris, std::vector<std::string>{"crab://gateway/home"});
    EXPECT_TRUE(
        crypto::check_chain(own->certificate, keys->authority.certificate(), clock.system_now()));
    EXPECT_FALSE(own->is_due(clock.system_now() + 335 * 24h));
    EXPECT_TRUE(own->is_due(clock.system_now() + 335 * 24h + 1s));
}

TEST_F(GatewayKeysTest, NewGatewaysNeedALegalId) {
    EXPECT_EQ(gateway("no id").error().code, ErrorCode::kInvalidArgs);
    EXPECT_TRUE(std::filesystem::is_empty(path));
}

TEST_F(RemoteKeysTest, KeysAndBootstrapCertificateAreMadeOnceAndReadBack) {
    const auto made = remote();
    ASSERT_TRUE(made) << made.error().message;
    EXPECT_EQ(mode_of("remote_identity.json"), 0600u);
    EXPECT_EQ(mode_of("bootstrap_key.pem"), 0600u);
    const auto again = remote();
    EXPECT_EQ(again->identity.key.public_key(), made->identity.key.public_key());
    EXPECT_EQ(again->identity.agreement_key.public_key(),
              made->identity.agreement_key.public_key());
    EXPECT_EQ(again->bootstrap.certificate.fingerprint(),
              made->bootstrap.certificate.fingerprint());
    EXPECT_EQ(again->bootstrap.key.public_key(), made->bootstrap.certificate.public_key());
    std::filesystem::remove(path / "bootstrap_cert.pem");
    EXPECT_EQ(remote().error().code, ErrorCode::kConflict);
}

TEST_F(RemoteStoreFileTest, CertificatesAndNoncesSurviveARestart) {
    const SystemTime now = clock.system_now();
    const InstalledCertificate first{"p1", "home", Secret<std::string>("key"), "certificate", "ca"};
    InstalledCertificate second = first;
    second.pairing_id = "p2";
    const auto reopened = [&] { return std::move(RemoteStoreFile::open(folder()).value()); };
    EXPECT_EQ(reopened()->load()->shown(), nullptr);
    EXPECT_EQ(reopened()->add_nonce("\xff\x01 nonce", now), true);
    EXPECT_EQ(reopened()->add_nonce("\xff\x01 nonce", now + 15min), false);
    EXPECT_EQ(reopened()->add_nonce("\xff\x01 nonce", now + 15min + 1s), true);
    ASSERT_TRUE(reopened()->install(first) && reopened()->complete("p1") &&
                reopened()->install(second));
    EXPECT_EQ(mode_of("remote_state.json"), 0600u);
    auto both = reopened()->load().value();
    EXPECT_EQ(both.paired->pairing_id, "p1");
    EXPECT_EQ(both.paired->key_pem.reveal(), "key");
    EXPECT_EQ(both.shown()->pairing_id, "p2");
    // neither is the installed one
    ASSERT_TRUE(reopened()->go_back("p1") && reopened()->complete("p0"));
    EXPECT_EQ(reopened()->load()->shown()->pairing_id, "p2");
    ASSERT_TRUE(reopened()->go_back("p2"));
    EXPECT_EQ(reopened()->load()->shown()->pairing_id, "p1");
}

TEST_F(RemoteStoreFileTest, AFileThatIsNotOursIsRefusedAndAFailedWriteChangesNothing) {
    for (const std::string_view text :
         {"", "[]", "{}", R"({"nonces":{}})", R"({"nonces":[{"nonce":"x","seen_at_ms":1}]})",
          R"({"nonces":[],"paired":{}})"}) {
        ASSERT_TRUE(folder().write("remote_state.json", text, Access::kPrivate));
        EXPECT_FALSE(RemoteStoreFile::open(folder())) << text;
    }
    std::filesystem::remove(path / "remote_state.json");
    const auto store = std::move(RemoteStoreFile::open(folder()).value());
    ASSERT_EQ(store->add_nonce("one", clock.system_now()), true);
    std::filesystem::create_directory(path / "remote_state.json.new");  // in the way of every write
    EXPECT_FALSE(store->add_nonce("two", clock.system_now()));
    EXPECT_FALSE(store->install({"p", "home", Secret<std::string>("key"), "certificate", "ca"}));
    EXPECT_EQ(store->load()->shown(), nullptr);
    std::filesystem::remove(path / "remote_state.json.new");
    EXPECT_EQ(store->add_nonce("two", clock.system_now()), true);
}

}  // namespace
}  // namespace crab::trust
