#include "bus/envelope.hpp"

#include <set>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace crab::bus {
namespace {

Envelope sample() {
    return {.kind = Kind::kForward,
            .flags = 3,
            .key = 0x5a,
            .from = {.node = 4095, .loop = 63, .boot = 0xfedc'ba98},
            .to = {.node = 2, .loop = 1, .boot = 7},
            .part = 0x1234,
            .sequence = 0x0102'0304'0506'0708,
            .tag = 0xffff'ffff'ffff'fffe,
            .ms_left = 30'000};
}

TEST(EnvelopeTest, ComesBackAsItWasWritten) {
    for (const std::string_view body : {std::string_view(), std::string_view("\0\xff x", 4)}) {
        const std::string message = to_wire(sample(), body);
        ASSERT_EQ(message.size(), kHeadSize + body.size());
        const auto opened = parse_envelope(message);
        ASSERT_TRUE(opened) << opened.error().message;
        EXPECT_EQ(opened->envelope, sample());
        EXPECT_EQ(opened->body, body);
    }
}

TEST(EnvelopeTest, NumbersAreLittleEndianAtTheirPlaces) {
    const std::string message = to_wire(sample(), "xy");
    EXPECT_EQ(message.substr(0, 8), std::string("\x01\x01\x03\x5a\xff\x0f\x02\x00", 8));
    EXPECT_EQ(message.substr(20, 8), "\x08\x07\x06\x05\x04\x03\x02\x01");
    EXPECT_EQ(message.substr(40), std::string("\x02\x00\x00\x00xy", 6));
}

TEST(EnvelopeTest, ABroadcastNamesNobody) {
    Envelope envelope = sample();
    envelope.to = {};
    EXPECT_TRUE(parse_envelope(to_wire(envelope, ""))->envelope.is_broadcast());
}

TEST(EnvelopeTest, EveryShorterOrLongerMessageIsRefused) {
    const std::string message = to_wire(sample(), "body");
    for (std::size_t size = 0; size < message.size(); ++size)
        EXPECT_FALSE(parse_envelope(std::string_view(message).substr(0, size))) << size;
    EXPECT_FALSE(parse_envelope(message + "x"));
}

TEST(EnvelopeTest, UnknownVersionsKindsAndPlacesAreRefused) {
    const auto refused = [](std::size_t at, char value) {
        std::string message = to_wire(sample(), "body");
        message[at] = value;
        return !parse_envelope(message);
    };
    EXPECT_TRUE(refused(0, 0)) << "version";
    EXPECT_TRUE(refused(0, 2)) << "version";
    EXPECT_TRUE(refused(1, 0)) << "kind";
    EXPECT_TRUE(refused(1, 19)) << "kind";
    EXPECT_TRUE(refused(5, 0x10)) << "sending node above 4095";
    EXPECT_TRUE(refused(7, 0x10)) << "receiving node above 4095";
    EXPECT_TRUE(refused(8, 64)) << "sending loop";
    EXPECT_TRUE(refused(9, 64)) << "receiving loop";
    EXPECT_FALSE(refused(2, 0)) << "flags are the kind's";
}

TEST(EnvelopeTest, AMessageWithoutSenderReceiverOrNumberIsRefused) {
    Envelope envelope = sample();
    envelope.from.boot = 0;
    EXPECT_FALSE(parse_envelope(to_wire(envelope, "")));
    envelope = sample();
    envelope.to.boot = 0;
    EXPECT_FALSE(parse_envelope(to_wire(envelope, ""))) << "half a receiver";
    envelope = sample();
    envelope.sequence = 0;
    EXPECT_FALSE(parse_envelope(to_wire(envelope, "")));
}

TEST(EnvelopeTest, EveryKindHasANameOfItsOwn) {
    std::set<std::string_view> names;
    for (int kind = 1; kind <= 18; ++kind)
        EXPECT_TRUE(names.insert(name_of(static_cast<Kind>(kind))).second) << kind;
    EXPECT_FALSE(names.contains(""));
}

}  // namespace
}  // namespace crab::bus
