#include "trust/pairing/peer_store.hpp"
#include "base/test_clock.hpp"
#include "store/suite/test_engine.hpp"
#include "trust/pairing/test_peer_store.hpp"

#include <gtest/gtest.h>

#include <random>

namespace crab::store {
namespace {

using namespace std::chrono_literals;
using trust::ComponentType;
using trust::PairingCommit;
using trust::PeerCertificate;
using trust::PeerName;
using trust::PeerRecord;
using trust::PeerStatus;

PeerRecord record(const PeerName& name, const std::string& serial,
                  PeerStatus status = PeerStatus::kActive) {
    return {.name = name,
            .endpoint = "wss://a.example:443",
            .mtls_cert_fingerprint = "sha256:" + serial,
            .serial_number = serial,
            .status = status};
}
PeerCertificate certificate(const PeerName& name, const std::string& serial) {
    return {.serial_number = serial,
            .fingerprint = "sha256:" + serial,
            .name = name,
            .key_digest = crypto::sha256(serial)};
}

class PeerStoreTest : public StoreSuite {
protected:
    std::unique_ptr<trust::PeerStore> open() { return engine().trust().open_peers().value(); }

    FakeClock clock;
    const PeerName memory{ComponentType::kToolHost, "memory"};
};

TEST_P(PeerStoreTest, EveryFieldSurvives) {
    const SystemTime now = clock.system_now();
    PeerCertificate leaf{.serial_number = "7f",
                         .fingerprint = "sha256:7f",
                         .name = memory,
                         .pairing_id = "p1",
                         .key_digest = crypto::sha256("key"),
                         .certificate_pem = "PEM",
                         .not_before = now - 5min,
                         .not_after = now + 24h,
                         .issued_at = now,
                         .renews = "sha256:6e"};
    PeerRecord peer{.name = memory,
                    .endpoint = "wss://a.example:443/x",
                    .mtls_cert_fingerprint = "sha256:7f",
                    .serial_number = "7f",
                    .not_after = now + 24h,
                    .pairing_id = "p1",
                    .paired_at = now,
                    .last_seen_at = now + 1s,
                    .status = PeerStatus::kActive,
                    .tool_url = "https://b.example"};
    peer.public_key_ed25519.fill(1);
    peer.public_key_x25519.fill(2);
    {
        const auto store = open();
        ASSERT_TRUE(store->add_certificate(leaf, record(memory, "7f", PeerStatus::kPending)));
        ASSERT_TRUE(store->commit({.record = peer, .previous = {}, .at = now}));
    }
    const auto store = open();
    leaf.state = trust::CertificateState::kCurrent;
    EXPECT_EQ(store->find_peer(memory).value(), peer);
    EXPECT_EQ(store->find_active_at(peer.endpoint).value(), peer);
    EXPECT_EQ(store->find_certificate("sha256:7f").value(), leaf);
    EXPECT_EQ(store->has_key(crypto::sha256("key")), true);
    EXPECT_EQ(store->has_key(crypto::sha256("other")), false);
    EXPECT_EQ(store->find_peer({ComponentType::kListener, "memory"}).value(), std::nullopt);
}

TEST_P(PeerStoreTest, ACommitThatFailsChangesNothing) {
    const auto store = open();
    ASSERT_TRUE(store->add_certificate(certificate(memory, "a1"),
                                       record(memory, "a1", PeerStatus::kPending)));
    ASSERT_TRUE(store->commit({.record = record(memory, "a1"), .previous = {}, .at = {}}));
    ASSERT_TRUE(store->add_certificate(certificate(memory, "a2"),
                                       record(memory, "a2", PeerStatus::kPending)));
    EXPECT_EQ(
        store->commit({.record = record(memory, "a2"), .previous = record(memory, "a0"), .at = {}})
            .error()
            .code,
        ErrorCode::kConflict);
    EXPECT_EQ(store->find_peer(memory).value(), record(memory, "a1"));
    EXPECT_EQ(store->find_certificate("sha256:a2").value()->state,
              trust::CertificateState::kIssued);
    // a serial never comes twice
    EXPECT_FALSE(store->add_certificate(certificate(memory, "a2"),
                                        record(memory, "a2", PeerStatus::kPending)));
}

/// The same random changes to the store and to the one in memory.
struct BothStores {
    std::size_t pick(std::size_t most) {
        return std::uniform_int_distribution<std::size_t>(0, most - 1)(random);
    }
    template <class Result>
    void expect_same(const Result& ours, const Result& theirs) {
        ASSERT_EQ(ours.has_value(), theirs.has_value());
        if (!ours) ASSERT_EQ(ours.error().code, theirs.error().code);
    }
    PeerRecord some_record(const PeerName& name) {
        PeerRecord next = record(name, serials[pick(serials.size())], kStatuses[1 + pick(2)]);
        next.endpoint = pick(2) == 0 ? "wss://a.example:443" : "wss://b.example:443";
        return next;
    }
    void add_certificate(const PeerName& name) {
        serials.push_back(std::to_string(serials.size()));
        const PeerRecord pending = record(name, serials.back(), PeerStatus::kPending);
        const PeerCertificate made = certificate(name, serials.back());
        ASSERT_EQ(store.add_certificate(made, pending).has_value(),
                  model.add_certificate(made, pending).has_value());
    }
    void commit(const PeerName& name, const PeerRecord& next, SystemTime now) {
        PairingCommit commit{.record = next, .previous = model.find_peer(name).value(), .at = now};
        if (pick(4) == 0) commit.previous.reset();
        if (pick(2) == 0) commit.old_certificate = PairingCommit::OldCertificate::kRevoke;
        // A certificate is committed for its own name only; the machine sees to that.
        const auto leaf = model.find_certificate(next.mtls_cert_fingerprint).value();
        if (leaf && leaf->name != name) return;
        expect_same(store.commit(commit), model.commit(commit));
    }
    void change(const PeerName& name, SystemTime now) {
        const PeerRecord next = some_record(name);
        switch (pick(6)) {
            case 0:
            case 1: return add_certificate(name);
            case 2: return commit(name, next, now);
            case 3: {
                const PeerStatus status = kStatuses[pick(kStatuses.size())];
                return expect_same(store.set_status(name, status), model.set_status(name, status));
            }
            case 4:
                expect_same(store.set_tool_url(name, "https://c.example"),
                            model.set_tool_url(name, "https://c.example"));
                return expect_same(store.record_seen(name, now), model.record_seen(name, now));
            case 5:
                if (pick(10) != 0) return;
                return expect_same(store.revoke(name, "lost", now),
                                   model.revoke(name, "lost", now));
        }
    }

    static constexpr std::array kStatuses{PeerStatus::kPending, PeerStatus::kActive,
                                          PeerStatus::kInactive, PeerStatus::kRevoked};
    trust::PeerStore& store;
    std::mt19937 random;
    trust::PeerStoreMemory model{};
    std::vector<std::string> serials{"0"};
};

/// The rules of the one in memory are spelled out by trust/pairing/peer_store_test.cpp.
TEST_P(PeerStoreTest, DoesWhatTheStoreInMemoryDoes) {
    const auto seed = std::random_device{}();
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    const std::array<PeerName, 3> names{
        memory, {ComponentType::kToolHost, "cron"}, {ComponentType::kListener, "log"}};
    const auto store = open();
    BothStores both{.store = *store, .random = std::mt19937(seed)};
    for (int step = 0; step < 600; ++step) {
        clock.advance(1s);
        ASSERT_NO_FATAL_FAILURE(both.change(names[both.pick(names.size())], clock.system_now()))
            << "step " << step;
        ASSERT_EQ(store->list_peers().value(), both.model.list_peers().value()) << "step " << step;
    }
    for (const PeerCertificate& one : both.model.certificates)
        EXPECT_EQ(store->find_certificate(one.fingerprint).value(), one);
    for (const std::string endpoint : {"wss://a.example:443", "wss://b.example:443"})
        EXPECT_EQ(store->find_active_at(endpoint).value(),
                  both.model.find_active_at(endpoint).value());
}

CRAB_EACH_ENGINE(PeerStoreTest);

}  // namespace
}  // namespace crab::store
