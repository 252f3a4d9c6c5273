#include "trust/peers.hpp"

#include "trust/pairing/test_peer_store.hpp"

#include <gtest/gtest.h>

namespace crab::trust {
namespace {

using namespace std::chrono_literals;
using Kind = PeerChange::Kind;

class PeersTest : public testing::Test {
protected:
    PeersTest() {
        peers->on_change([this](const PeerChange& change) { changes.push_back(change); });
    }

    PeerRecord record(std::string id, std::string serial,
                      PeerStatus status = PeerStatus::kActive) const {
        return {.name = {ComponentType::kToolHost, std::move(id)},
                .endpoint = "wss://10.0.0.1:5225",
                .mtls_cert_fingerprint = "sha256:" + serial,
                .serial_number = serial,
                .paired_at = now,
                .status = status,
                .tool_url = {}};
    }
    /// What a handshake does to the store.
    void pair(const PeerRecord& record, std::optional<PeerRecord> previous = {}) {
        PeerRecord pending = record;
        pending.status = PeerStatus::kPending;
        ASSERT_TRUE(peers->add_certificate({.serial_number = record.serial_number,
                                            .fingerprint = record.mtls_cert_fingerprint,
                                            .name = record.name},
                                           pending));
        ASSERT_TRUE(peers->commit({.record = record, .previous = std::move(previous), .at = now}));
    }
    std::vector<Kind> kinds() const {
        std::vector<Kind> all;
        for (const PeerChange& change : changes) all.push_back(change.kind);
        return all;
    }

    const SystemTime now = SystemTime(std::chrono::sys_days(std::chrono::year(2026) / 2 / 13));
    const PeerName east{ComponentType::kToolHost, "east"};
    PeerStoreMemory store;
    std::unique_ptr<Peers> peers = Peers::load(store).value();
    std::vector<PeerChange> changes;
};

TEST_F(PeersTest, WhatIsStoredIsKnownFromTheStart) {
    store.peers[east] = record("east", "1");
    const auto loaded = Peers::load(store).value();
    ASSERT_TRUE(loaded->find(east));
    EXPECT_EQ(*loaded->find(east), record("east", "1"));
    EXPECT_FALSE(loaded->find({ComponentType::kToolHost, "west"}));
}

TEST_F(PeersTest, APairingIsToldWithWhatWasThereBefore) {
    pair(record("east", "1"));
    EXPECT_FALSE(changes.at(0).before);
    EXPECT_FALSE(changes.at(0).ends_connections());
    pair(record("east", "2"), record("east", "1"));
    EXPECT_EQ(kinds(), (std::vector{Kind::kPaired, Kind::kRenewed}));
    EXPECT_EQ(changes.at(1).before->serial_number, "1");
    EXPECT_EQ(changes.at(1).peer, peers->find(east));
    EXPECT_TRUE(changes.at(1).ends_connections());
}

TEST_F(PeersTest, APeerThatTakesAnotherOnesEndpointPutsThatOneAside) {
    pair(record("east", "1"));
    pair(record("west", "2"));
    EXPECT_EQ(kinds(), (std::vector{Kind::kPaired, Kind::kStatus, Kind::kPaired}));
    EXPECT_EQ(changes.at(1).peer->name, east);
    EXPECT_TRUE(changes.at(1).ends_connections());
    EXPECT_EQ(peers->find(east)->status, PeerStatus::kInactive);
    EXPECT_EQ(store.peers.at(east).status, PeerStatus::kInactive);
}

TEST_F(PeersTest, OperatorsChangesAreToldOnceTheyAreStored) {
    pair(record("east", "1"));
    ASSERT_TRUE(peers->set_tool_url(east, "https://a.example"));
    ASSERT_TRUE(peers->set_status(east, PeerStatus::kInactive));
    ASSERT_TRUE(peers->revoke(east, "lost", now));
    EXPECT_EQ(kinds(), (std::vector{Kind::kPaired, Kind::kToolUrl, Kind::kStatus, Kind::kRevoked}));
    EXPECT_FALSE(changes.at(1).ends_connections());
    EXPECT_TRUE(changes.at(2).ends_connections());
    EXPECT_TRUE(changes.at(3).ends_connections());
}

TEST_F(PeersTest, WhatTheDiskRefusesHasNotHappened) {
    pair(record("east", "1"));
    store.fail_from_write = 1;
    EXPECT_FALSE(peers->revoke(east, "lost", now));
    EXPECT_FALSE(peers->set_status(east, PeerStatus::kInactive));
    EXPECT_EQ(peers->find(east)->status, PeerStatus::kActive);
    EXPECT_EQ(changes.size(), 1u);
}

TEST_F(PeersTest, SignsOfLifeCountOnceAMinuteAndChangeNoRecord) {
    pair(record("east", "1"));
    const PeerRef before = peers->find(east);
    peers->saw(east, now);
    peers->saw(east, now + 59s);
    EXPECT_EQ(peers->show(east)->record.last_seen_at, now);
    peers->saw(east, now + 60s);
    EXPECT_EQ(peers->list().at(0).record.last_seen_at, now + 60s);
    EXPECT_EQ(store.peers.at(east).last_seen_at, std::nullopt);
    ASSERT_TRUE(peers->store_seen());
    EXPECT_EQ(store.peers.at(east).last_seen_at, now + 60s);
    EXPECT_EQ(peers->find(east), before);
    EXPECT_EQ(changes.size(), 1u);
}

TEST_F(PeersTest, ASignOfLifeThatCouldNotBeStoredIsTriedAgain) {
    pair(record("east", "1"));
    peers->saw(east, now);
    store.fail_from_write = 1;
    EXPECT_FALSE(peers->store_seen());
    store.fail_from_write.reset();
    EXPECT_TRUE(peers->store_seen());
    EXPECT_EQ(store.peers.at(east).last_seen_at, now);
}

TEST_F(PeersTest, AProblemIsShownUntilThePeerProvesItself) {
    pair(record("east", "1"));
    peers->mistrust(east, "another certificate");
    EXPECT_EQ(peers->list().at(0).problem, "another certificate");
    peers->saw(east, now);
    EXPECT_EQ(peers->list().at(0).problem, "");
}

TEST_F(PeersTest, WhatAnotherNodeChangesIsToldOnce) {
    const auto other = Peers::load(store).value();
    store.peers[east] = record("east", "1");
    ASSERT_TRUE(peers->refresh());
    EXPECT_EQ(*peers->find(east), record("east", "1"));
    ASSERT_TRUE(other->set_tool_url(east, "https://10.0.0.2:1"));
    ASSERT_TRUE(peers->refresh());
    ASSERT_TRUE(other->set_status(east, PeerStatus::kInactive));
    ASSERT_TRUE(peers->refresh());
    ASSERT_TRUE(other->record_seen(east, now + 1h));
    ASSERT_TRUE(peers->refresh());
    ASSERT_TRUE(other->revoke(east, "lost", now));
    ASSERT_TRUE(peers->refresh());
    ASSERT_TRUE(peers->refresh());
    EXPECT_EQ(kinds(),
              (std::vector<Kind>{Kind::kPaired, Kind::kToolUrl, Kind::kStatus, Kind::kRevoked}));
    EXPECT_TRUE(changes.back().ends_connections());
}

TEST_F(PeersTest, APairingThatIsNotOverElsewhereIsNotToldAndANewCertificateIs) {
    store.peers[east] = record("east", "1", PeerStatus::kPending);
    ASSERT_TRUE(peers->refresh());
    EXPECT_TRUE(changes.empty());
    store.peers[east] = record("east", "1");
    ASSERT_TRUE(peers->refresh());
    PeerRecord renewed = record("east", "2");
    store.peers[east] = renewed;
    ASSERT_TRUE(peers->refresh());
    renewed = record("east", "3");
    renewed.paired_at = now + 1h;
    store.peers[east] = renewed;
    ASSERT_TRUE(peers->refresh());
    EXPECT_EQ(kinds(), (std::vector<Kind>{Kind::kPaired, Kind::kRenewed, Kind::kPaired}));
}

}  // namespace
}  // namespace crab::trust
