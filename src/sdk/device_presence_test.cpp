// How a device is, as it tells gateways that want to know: docs/protocols/clawseed.md, section 9,
// "presence".

#include "sdk/test_device_link.hpp"

namespace crab::sdk {
namespace {

using namespace test;
using namespace std::chrono_literals;

constexpr std::string_view kWantsToKnow = R"("presence")";

class DevicePresenceTest : public DeviceLinkTest {
protected:
    static json::Value frame(std::string_view members) {
        return *json::Value::parse(R"({"type":"presence")" + std::string(members) + "}");
    }
    void say(double battery) { link.set_presence({.battery = battery}); }
};

TEST_F(DevicePresenceTest, IsToldAsSoonAsTheGatewayHasSaidThatItWantsToKnow) {
    link.set_presence({.battery = 0.5, .charging = true, .metered = false, .foreground = true});
    link.start();
    link.on_token("t1");
    open();
    EXPECT_TRUE(sent("presence").empty());
    link.on_text(R"({"type":"connected","v":1,"message":"hello","capabilities":["presence"]})");
    ASSERT_EQ(sent("presence").size(), 1u);
    EXPECT_EQ(sent("presence").at(0),
              frame(R"(,"battery":0.5,"charging":true,"metered":false,"foreground":true)"));
}

TEST_F(DevicePresenceTest, WhatIsUnknownIsLeftOut) {
    connect(kWantsToKnow);
    link.set_presence({.charging = false});
    advance(100ms);
    EXPECT_EQ(sent("presence").at(0), frame(R"(,"charging":false)"));
}

TEST_F(DevicePresenceTest, ManyChangesAreOneFrameAndNoChangeIsNone) {
    connect(kWantsToKnow);
    for (const double battery : {0.9, 0.8, 0.7}) say(battery);
    advance(100ms);
    ASSERT_EQ(sent("presence").size(), 1u);
    EXPECT_EQ(sent("presence").at(0), frame(R"(,"battery":0.7)"));
    say(0.7);
    advance(1s);
    EXPECT_EQ(sent("presence").size(), 1u);
}

TEST_F(DevicePresenceTest, IsToldAgainOnEveryLink) {
    connect(kWantsToKnow);
    say(0.7);
    lose_link();
    advance(2s);
    open();
    EXPECT_TRUE(sent("presence").empty())
        << "the change was not told on the link that broke, nor before the terms of the new one";
    link.on_text(R"({"type":"connected","v":1,"message":"hello","capabilities":["presence"]})");
    EXPECT_EQ(sent("presence").at(0), frame(R"(,"battery":0.7)"));
}

TEST_F(DevicePresenceTest, AGatewayThatDoesNotAskIsToldNothing) {
    connect("");
    say(0.7);
    advance(1s);
    EXPECT_TRUE(sent("presence").empty());
}

}  // namespace
}  // namespace crab::sdk
