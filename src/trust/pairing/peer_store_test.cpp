// What every store of peers must do, shown by the one in memory.

#include "base/test_clock.hpp"
#include "trust/pairing/test_peer_store.hpp"

#include <gtest/gtest.h>

namespace crab::trust {
namespace {

class PeerStoreTest : public testing::Test {
protected:
    FakeClock clock;
    PeerStoreMemory store;
    const PeerName memory{ComponentType::kToolHost, "memory"},
        cron{ComponentType::kToolHost, "cron"};

    PeerRecord record(const PeerName& name, std::string serial,
                      PeerStatus status = PeerStatus::kActive) const {
        return {.name = name,
                .endpoint = "wss://a.example:443",
                .mtls_cert_fingerprint = "sha256:" + serial,
                .serial_number = std::move(serial),
                .status = status};
    }
    PeerCertificate certificate(const PeerName& name, std::string serial) const {
        return {.serial_number = serial,
                .fingerprint = "sha256:" + serial,
                .name = name,
                .key_digest = crypto::sha256(serial)};
    }
    Result<void> issue_and_commit(
        const PeerRecord& next, std::optional<PeerRecord> previous = {},
        PairingCommit::OldCertificate old = PairingCommit::OldCertificate::kRetire) {
        auto pending = next;
        pending.status = PeerStatus::kPending;
        if (auto added = store.add_certificate(certificate(next.name, next.serial_number), pending);
            !added)
            return added;
        return store.commit({.record = next,
                             .previous = std::move(previous),
                             .old_certificate = old,
                             .at = clock.system_now()});
    }
    CertificateState state_of(const std::string& serial) {
        return store.find_certificate("sha256:" + serial).value()->state;
    }
};

TEST_F(PeerStoreTest, AFirstPairingGoesFromPendingToActive) {
    ASSERT_TRUE(store.add_certificate(certificate(memory, "a1"),
                                      record(memory, "a1", PeerStatus::kPending)));
    EXPECT_EQ(store.find_peer(memory).value()->status, PeerStatus::kPending);
    EXPECT_EQ(store.find_active_at("wss://a.example:443").value(), std::nullopt);
    EXPECT_EQ(store.has_key(crypto::sha256("a1")), true);
    ASSERT_TRUE(
        store.commit({.record = record(memory, "a1"), .previous = {}, .at = clock.system_now()}));
    EXPECT_EQ(store.find_active_at("wss://a.example:443").value()->name, memory);
    EXPECT_EQ(state_of("a1"), CertificateState::kCurrent);
}

TEST_F(PeerStoreTest, OldCertificatesAreRetiredOrRevokedAndUnfinishedOnesRetired) {
    ASSERT_TRUE(issue_and_commit(record(memory, "a1")));
    ASSERT_TRUE(store.add_certificate(certificate(memory, "a2"),
                                      record(memory, "a2", PeerStatus::kPending)));
    // an active record is not touched by what is pending
    EXPECT_EQ(store.find_peer(memory).value(), record(memory, "a1"));
    ASSERT_TRUE(issue_and_commit(record(memory, "a3"), record(memory, "a1")));
    EXPECT_EQ(state_of("a1"), CertificateState::kRetired);
    EXPECT_EQ(state_of("a2"), CertificateState::kRetired);
    ASSERT_TRUE(issue_and_commit(record(memory, "a4"), record(memory, "a3"),
                                 PairingCommit::OldCertificate::kRevoke));
    EXPECT_EQ(state_of("a3"), CertificateState::kRevoked);
    EXPECT_EQ(state_of("a1"), CertificateState::kRetired);
    EXPECT_EQ(state_of("a4"), CertificateState::kCurrent);
}

TEST_F(PeerStoreTest, ACommitOnWhatHasChangedSinceIsAConflictAndChangesNothing) {
    ASSERT_TRUE(issue_and_commit(record(memory, "a1")));
    EXPECT_EQ(issue_and_commit(record(memory, "a2")).error().code, ErrorCode::kConflict);
    EXPECT_EQ(issue_and_commit(record(memory, "a3"), record(memory, "a0")).error().code,
              ErrorCode::kConflict);
    EXPECT_EQ(issue_and_commit(record(memory, "a4"), record(memory, "a1", PeerStatus::kInactive))
                  .error()
                  .code,
              ErrorCode::kConflict);
    EXPECT_EQ(
        store.commit({.record = record(memory, "a9"), .previous = record(memory, "a1"), .at = {}})
            .error()
            .code,
        ErrorCode::kConflict);
    EXPECT_EQ(
        store.commit({.record = record(memory, "a1"), .previous = record(memory, "a1"), .at = {}})
            .error()
            .code,
        ErrorCode::kConflict);
    EXPECT_EQ(store.find_peer(memory).value(), record(memory, "a1"));
    EXPECT_EQ(state_of("a2"), CertificateState::kIssued);
}

TEST_F(PeerStoreTest, OnePeerIsActiveAtAnEndpoint) {
    ASSERT_TRUE(issue_and_commit(record(memory, "a1")));
    ASSERT_TRUE(issue_and_commit(record(cron, "b1")));
    EXPECT_EQ(store.find_active_at("wss://a.example:443").value()->name, cron);
    EXPECT_EQ(store.find_peer(memory).value()->status, PeerStatus::kInactive);
    EXPECT_EQ(store.set_status(memory, PeerStatus::kActive).error().code, ErrorCode::kConflict);
    ASSERT_TRUE(store.set_status(cron, PeerStatus::kInactive));
    EXPECT_EQ(store.set_status(memory, PeerStatus::kActive)->status, PeerStatus::kActive);
}

TEST_F(PeerStoreTest, RevokedIsForGood) {
    ASSERT_TRUE(issue_and_commit(record(memory, "a1")));
    ASSERT_TRUE(store.add_certificate(certificate(memory, "a2"),
                                      record(memory, "a2", PeerStatus::kPending)));
    EXPECT_EQ(store.revoke(memory, "lost", clock.system_now())->status, PeerStatus::kRevoked);
    EXPECT_EQ(state_of("a1"), CertificateState::kRevoked);
    EXPECT_EQ(state_of("a2"), CertificateState::kRevoked);
    EXPECT_EQ(store.certificates.at(0).revoke_reason, "lost");
    EXPECT_EQ(store.set_status(memory, PeerStatus::kActive).error().code, ErrorCode::kConflict);
    EXPECT_EQ(
        store.commit({.record = record(memory, "a2"), .previous = record(memory, "a1"), .at = {}})
            .error()
            .code,
        ErrorCode::kConflict);
    EXPECT_TRUE(store.revoke(memory, "again", clock.system_now()));
    EXPECT_EQ(store.revoke(cron, "", {}).error().code, ErrorCode::kNotFound);
}

TEST_F(PeerStoreTest, PeersAreListedByTheirNames) {
    ASSERT_TRUE(issue_and_commit(record(memory, "a1")));
    ASSERT_TRUE(issue_and_commit(record({ComponentType::kListener, "zulu"}, "c1")));
    ASSERT_TRUE(store.set_tool_url(memory, "https://b.example") &&
                store.record_seen(memory, clock.system_now()) && store.record_seen(cron, {}));
    const auto all = store.list_peers().value();
    ASSERT_EQ(all.size(), 2u);
    EXPECT_EQ(all[0].name.text(), "listener/zulu");
    EXPECT_EQ(all[1].tool_url, "https://b.example");
    EXPECT_EQ(all[1].last_seen_at, clock.system_now());
}

TEST_F(PeerStoreTest, StatesAndStatusesReadBackFromTheirTexts) {
    for (const PeerStatus status :
         {PeerStatus::kPending, PeerStatus::kActive, PeerStatus::kInactive, PeerStatus::kRevoked})
        EXPECT_EQ(find_peer_status(to_text(status)), status);
    for (const CertificateState state : {CertificateState::kIssued, CertificateState::kCurrent,
                                         CertificateState::kRetired, CertificateState::kRevoked}) {
        EXPECT_EQ(find_certificate_state(to_text(state)), state);
    }
    EXPECT_FALSE(find_peer_status("Active"));
    EXPECT_FALSE(find_certificate_state(""));
}

}  // namespace
}  // namespace crab::trust
