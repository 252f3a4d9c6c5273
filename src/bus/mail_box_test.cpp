#include "bus/mail_box.hpp"

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace crab::bus {
namespace {

const Place kHome{.node = 1, .loop = 0, .boot = 11}, kOwner{.node = 2, .loop = 3, .boot = 22};

FleetKeys keys_of(char digit) { return FleetKeys::parse(std::string(64, digit), "f").value(); }

/// Keeps what was sent.
struct Outbox final : Bus {
    Result<Receipt> send(const Place&, std::string message) override {
        sent.push_back(std::move(message));
        return Receipt{sent.size()};
    }
    Result<void> publish(Topic, std::string message) override {
        sent.push_back(std::move(message));
        return {};
    }
    bool connected() const override { return true; }
    std::vector<std::string> sent;
};

struct Letters final : MailBox::Reader {
    void on_letter(const Envelope& envelope, std::string_view body) override {
        read.emplace_back(envelope, std::string(body));
    }
    void on_nobody(Receipt receipt) override { nobody.push_back(receipt); }
    std::vector<std::pair<Envelope, std::string>> read;
    std::vector<Receipt> nobody;
};

struct MailBoxTest : testing::Test {
    FleetKeys keys = keys_of('a');
    Outbox wire, unused;
    Letters home_letters, letters;
    MailBox home{keys, kHome}, owner{keys, kOwner};
    MailBoxTest() {
        home.open(wire, home_letters);
        owner.open(unused, letters);
    }
    void arrive(const std::string& message) { static_cast<Listener&>(owner).on_message(message); }
    std::string sent(std::string_view body = "hello") {
        EXPECT_TRUE(home.send(kOwner, {.kind = Kind::kForward, .tag = 5, .ms_left = 9}, body));
        return wire.sent.back();
    }
};

TEST_F(MailBoxTest, ALetterArrivesOnceWithAllThatItSays) {
    const std::string message = sent();
    arrive(message);
    arrive(message);
    ASSERT_EQ(letters.read.size(), 1u);
    const auto& [envelope, body] = letters.read.front();
    EXPECT_EQ(envelope.from, kHome);
    EXPECT_EQ(envelope.kind, Kind::kForward);
    EXPECT_EQ(envelope.tag, 5u);
    EXPECT_EQ(envelope.ms_left, 9u);
    EXPECT_EQ(body, "hello");
    EXPECT_EQ(owner.counts().replayed.value(), 1u);
}

TEST_F(MailBoxTest, WhatNoNodeOfTheFleetHasSignedIsDropped) {
    const FleetKeys foreign = keys_of('b');
    MailBox stranger(foreign, kHome);
    stranger.open(wire, home_letters);
    ASSERT_TRUE(stranger.send(kOwner, {.kind = Kind::kForward}, "run this"));
    arrive(wire.sent.back());
    std::string changed = sent("run that");
    changed[kHeadSize] = 'R';
    arrive(changed);
    arrive(sent().substr(0, 40));
    arrive("");
    EXPECT_TRUE(letters.read.empty());
    EXPECT_EQ(owner.counts().forged.value(), 4u);
}

TEST_F(MailBoxTest, MailForAFormerLifeOrAnotherLoopIsDropped) {
    for (const Place& other :
         {Place{.node = 2, .loop = 3, .boot = 21}, Place{.node = 2, .loop = 2, .boot = 22},
          Place{.node = 3, .loop = 3, .boot = 22}}) {
        ASSERT_TRUE(home.send(other, {.kind = Kind::kForward}, "x"));
        arrive(wire.sent.back());
    }
    EXPECT_TRUE(letters.read.empty());
    EXPECT_EQ(owner.counts().misdirected.value(), 3u);
}

TEST_F(MailBoxTest, ABroadcastIsForAllButItsSender) {
    ASSERT_TRUE(home.publish(Topic::kAll, {.kind = Kind::kBeat}, ""));
    arrive(wire.sent.back());
    static_cast<Listener&>(home).on_message(wire.sent.back());
    EXPECT_EQ(letters.read.size(), 1u);
    EXPECT_TRUE(home_letters.read.empty());
}

TEST_F(MailBoxTest, ASignedMessageThatIsNoneIsCounted) {
    arrive(keys.seal({.kind = Kind::kBeat, .from = {}, .to = kOwner, .sequence = 1}, ""));
    EXPECT_EQ(owner.counts().malformed.value(), 1u);
    EXPECT_TRUE(letters.read.empty());
}

TEST_F(MailBoxTest, ARetiredProcessIsReadNoMoreAlsoIfItsMailIsNew) {
    const std::string early = sent();
    arrive(early);
    owner.retire(process_of(kHome));
    arrive(early);
    arrive(sent());
    EXPECT_EQ(letters.read.size(), 1u);
    EXPECT_EQ(owner.counts().misdirected.value(), 2u);
}

TEST_F(MailBoxTest, ABodyBeyondTheLimitIsNotSent) {
    const auto refused =
        home.send(kOwner, {.kind = Kind::kForward}, std::string(kMostBody + 1, 'x'));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::kOversize);
    EXPECT_TRUE(wire.sent.empty());
    arrive(sent(std::string(kMostBody, 'x')));
    EXPECT_EQ(letters.read.size(), 1u);
}

TEST_F(MailBoxTest, NewsOfNobodyIsHandedOn) {
    static_cast<Listener&>(owner).on_nobody(Receipt{7});
    EXPECT_EQ(letters.nobody, std::vector{Receipt{7}});
}

}  // namespace
}  // namespace crab::bus
