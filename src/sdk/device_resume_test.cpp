// A gateway that asks again, and a device that never runs a call twice: docs/protocols/clawseed.md,
// section 9, "Calls that survive their link".

#include "sdk/test_device_link.hpp"

namespace crab::sdk {
namespace {

using namespace test;

constexpr std::string_view kResumes = R"("tool_call_accepted","tool_call_resume")";

class DeviceResumeTest : public DeviceLinkTest {
protected:
    void come_back() {
        lose_link();
        advance(std::chrono::seconds(2));
        connect(kResumes);
    }
};

TEST_F(DeviceResumeTest, ConnectNamesAnInstanceThatStaysTheSame) {
    link.start();
    link.on_token("t1");
    open();
    const std::string instance = text(sent("connect").at(0), "instance");
    EXPECT_EQ(instance.size(), 32u);
    ports.sent.clear();
    lose_link();
    advance(std::chrono::seconds(2));
    open();
    EXPECT_EQ(text(sent("connect").at(0), "instance"), instance);
}

TEST_F(DeviceResumeTest, ARunningCallIsNotRunAgainButSaidToBeAccepted) {
    connect(kResumes);
    request("c1");
    come_back();
    request("c1");
    EXPECT_EQ(ports.running.size(), 1u);
    EXPECT_EQ(text(sent("tool_call_accepted").at(0), "id"), "c1");
    link.finish("c1", ToolAnswer("done"));
    EXPECT_EQ(sent("tool_result").size(), 1u);
}

TEST_F(DeviceResumeTest, AFinishedCallIsAnsweredFromMemory) {
    connect(kResumes);
    request("c1");
    lose_link();
    link.finish("c1", ToolAnswer("done"));
    advance(std::chrono::seconds(2));
    connect(kResumes);
    request("c1");
    EXPECT_EQ(ports.running.size(), 1u);
    ASSERT_EQ(sent("tool_result").size(), 1u);
    EXPECT_EQ(text(sent("tool_result").at(0), "output"), "done");
}

TEST_F(DeviceResumeTest, TheGatewayMayNoticeABreakLongAfterTheDevice) {
    connect(kResumes);
    request("c1");
    lose_link();
    link.finish("c1", ToolAnswer("done"));
    advance(std::chrono::minutes(2));  // the grace period is 15 s
    connect(kResumes);
    request("c1");
    EXPECT_EQ(sent("tool_result").size(), 1u);
    EXPECT_EQ(ports.running.size(), 1u);
}

TEST_F(DeviceResumeTest, ALinkThatBreaksBeforeTheGatewayHasSpokenShortensNothing) {
    connect(kResumes);
    request("c1");
    lose_link();
    link.finish("c1", ToolAnswer("done"));
    advance(std::chrono::seconds(2));
    open();
    lose_link();  // no `connected` came
    advance(std::chrono::minutes(2));
    connect(kResumes);
    request("c1");
    EXPECT_EQ(sent("tool_result").size(), 1u);
    EXPECT_EQ(ports.running.size(), 1u);
}

TEST_F(DeviceResumeTest, AnAcknowledgedCallIsNeitherRunNorAnsweredAgain) {
    connect(kResumes);
    request("c1");
    link.finish("c1", ToolAnswer("done"));
    link.on_text(R"({"type":"result_acknowledged","id":"c1"})");
    ports.sent.clear();
    request("c1");
    EXPECT_EQ(ports.running.size(), 1u);
    EXPECT_TRUE(ports.sent.empty());
}

TEST_F(DeviceResumeTest, ACancelledCallIsNotRunAgain) {
    connect(kResumes);
    request("c1");
    link.on_text(R"({"type":"tool_call_cancel","id":"c1","reason":"cancelled"})");
    request("c1");
    EXPECT_EQ(ports.running.size(), 1u);
}

TEST_F(DeviceResumeTest, AReplyWithoutAcknowledgementIsSentAgainMoreAndMoreRarely) {
    connect(kResumes);
    request("c1");
    link.finish("c1", ToolAnswer("done"));
    const auto replies = [&] { return sent("tool_result").size(); };
    EXPECT_EQ(replies(), 1u);
    advance(std::chrono::seconds(5));
    EXPECT_EQ(replies(), 2u);
    advance(std::chrono::seconds(5));
    EXPECT_EQ(replies(), 2u);
    advance(std::chrono::seconds(5));
    EXPECT_EQ(replies(), 3u);
    link.on_text(R"({"type":"result_acknowledged","id":"c1"})");
    advance(std::chrono::seconds(40));
    EXPECT_EQ(replies(), 3u);
}

TEST_F(DeviceResumeTest, WithoutTheExtensionNothingIsSentAgainOnALiveLink) {
    connect();
    request("c1");
    link.finish("c1", ToolAnswer("done"));
    advance(std::chrono::seconds(30));
    EXPECT_EQ(sent("tool_result").size(), 1u);
}

TEST_F(DeviceResumeTest, ATokenThatCannotBeFetchedNowIsFetchedBeforeTheNextDial) {
    link.start();
    link.on_token(std::unexpected(DeviceEnd{DeviceEnd::Reason::kLost, "the gateway is away"}));
    ASSERT_EQ(ports.events.size(), 1u);
    EXPECT_EQ(ports.events[0].kind, DeviceEvent::Kind::kLost);
    EXPECT_TRUE(ports.dials.empty());
    advance(std::chrono::seconds(2));
    ASSERT_EQ(ports.needs.size(), 2u);
    link.on_token("t1");
    EXPECT_EQ(ports.dials.size(), 1u);
}

}  // namespace
}  // namespace crab::sdk
