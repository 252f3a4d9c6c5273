#include "trust/pairing/pairing_plan.hpp"

#include "trust/pairing/pairing_slots.hpp"
#include "trust/pairing/test_peer_store.hpp"

#include <gtest/gtest.h>

namespace crab::trust {
namespace {

class PairingPlanTest : public testing::Test {
protected:
    using Kind = PairingRequest::Kind;
    const PeerName memory{ComponentType::kToolHost, "memory"};
    const PeerName cron{ComponentType::kToolHost, "cron"};
    PeerStoreMemory store;
    PairingRules rules;

    void know(const PeerName& name, std::string endpoint, PeerStatus status = PeerStatus::kActive) {
        store.peers[name] = {.name = name, .endpoint = std::move(endpoint), .status = status};
    }
    PairingResult<PairingPlan> plan(const PeerName& name, std::string endpoint,
                                    Kind kind = Kind::kPair) {
        return plan_pairing(
            store, {.name = name, .endpoint = std::move(endpoint), .remote_key = {}, .kind = kind},
            rules);
    }
    std::string refusal_of(const PeerName& name, std::string endpoint, Kind kind = Kind::kPair) {
        const auto planned = plan(name, std::move(endpoint), kind);
        return planned ? "" : std::string(token_of(planned.error().code));
    }
};

TEST_F(PairingPlanTest, AnActiveIdElsewhereAndAnActiveEndpointOfAnotherNeedReplace) {
    know(memory, "wss://a.example:443");
    EXPECT_EQ(refusal_of(memory, "wss://b.example"), "PEER_EXISTS");
    EXPECT_EQ(refusal_of(cron, "WSS://A.example"), "PEER_EXISTS");
    EXPECT_EQ(refusal_of(memory, "ws://127.0.0.1"), "PEER_EXISTS");
    EXPECT_EQ(refusal_of(cron, "wss://b.example"), "");
    EXPECT_EQ(refusal_of(memory, "wss://a.example"), "");
    EXPECT_EQ(refusal_of(memory, "wss://b.example", Kind::kReplace), "");
    EXPECT_EQ(refusal_of(cron, "wss://a.example", Kind::kReplace), "");
}

TEST_F(PairingPlanTest, OverLoopbackNobodyIsInTheWay) {
    know(memory, "ws://127.0.0.1:4000");
    EXPECT_EQ(refusal_of(memory, "ws://127.0.0.1:4001"), "");
    EXPECT_EQ(refusal_of(cron, "ws://127.0.0.1:4000"), "");
    EXPECT_EQ(refusal_of(memory, "wss://a.example"), "PEER_EXISTS");
    EXPECT_FALSE(plan(memory, "ws://127.0.0.1:4001")->is_known);
    EXPECT_TRUE(plan(memory, "ws://127.0.0.1:4000")->is_known);
}

TEST_F(PairingPlanTest, PeersThatAreNotActiveAreInNobodysWayExceptRevokedOnes) {
    for (const PeerStatus status : {PeerStatus::kPending, PeerStatus::kInactive}) {
        know(memory, "wss://a.example:443", status);
        EXPECT_EQ(refusal_of(memory, "wss://b.example"), "");
        EXPECT_FALSE(plan(memory, "wss://a.example")->is_known);
    }
    know(memory, "wss://a.example:443", PeerStatus::kRevoked);
    EXPECT_EQ(refusal_of(memory, "wss://a.example"), "PEER_EXISTS");
    EXPECT_EQ(refusal_of(memory, "wss://a.example", Kind::kReplace), "");
}

TEST_F(PairingPlanTest, TheConnectionProvesAPinAnOperatorsAuthorityOrOnlyItself) {
    EXPECT_EQ(plan(memory, "wss://a.example")->tls_trust(), TlsTrust::kFirstUse);
    rules.has_operator_ca = true;
    EXPECT_EQ(plan(memory, "wss://a.example")->tls_trust(), TlsTrust::kOperatorCa);
    know(memory, "wss://a.example:443");
    EXPECT_EQ(plan(memory, "wss://a.example")->tls_trust(), TlsTrust::kPin);
    EXPECT_EQ(plan(memory, "wss://a.example", Kind::kReplace)->tls_trust(), TlsTrust::kOperatorCa);
}

TEST_F(PairingPlanTest, OnlyActivePeersAreRenewedAndAtTheirRecordedEndpoint) {
    EXPECT_EQ(refusal_of(memory, "", Kind::kRenew), "INVALID_ARGS");
    know(memory, "wss://a.example:443", PeerStatus::kInactive);
    EXPECT_EQ(refusal_of(memory, "", Kind::kRenew), "INVALID_ARGS");
    know(memory, "wss://a.example:443");
    const auto renewal = plan(memory, "", Kind::kRenew);
    EXPECT_EQ(renewal->endpoint.text(), "wss://a.example:443");
    EXPECT_TRUE(renewal->is_known);
}

TEST_F(PairingPlanTest, WhatMayNotBeDialledIsRefusedBeforeDialling) {
    EXPECT_EQ(refusal_of(memory, "ws://a.example"), "MTLS_REQUIRED");
    rules.allow_insecure_loopback = false;
    EXPECT_EQ(refusal_of(memory, "ws://127.0.0.1"), "MTLS_REQUIRED");
    EXPECT_EQ(refusal_of(memory, "https://a.example"), "INVALID_ARGS");
    EXPECT_EQ(refusal_of({ComponentType::kToolHost, "no id"}, "wss://a.example"), "INVALID_ARGS");
    store.reads_fail = true;
    EXPECT_EQ(refusal_of(memory, "wss://a.example"), "PERSIST_FAILED");
}

TEST(PairingSlotsTest, OneHandshakePerIdAndEndpointAndEightInAll) {
    PairingSlots slots;
    const auto name = [](int i) { return PeerName{ComponentType::kToolHost, std::to_string(i)}; };
    std::vector<std::shared_ptr<void>> taken;
    for (int i = 0; i < 8; ++i)
        taken.push_back(slots.take(name(i), "wss://" + std::to_string(i)).value());
    EXPECT_EQ(slots.take(name(8), "wss://8").error().code, PairingCode::kBusy);
    taken.pop_back();
    EXPECT_FALSE(slots.take(name(0), "wss://8"));
    EXPECT_FALSE(slots.take(name(8), "wss://0"));
    EXPECT_TRUE(slots.take(name(8), "wss://8"));
    EXPECT_TRUE(slots.take(name(8), "wss://8"));  // the one before was given back at once
}

}  // namespace
}  // namespace crab::trust
