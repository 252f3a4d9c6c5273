#include "sdk/device_link.hpp"

#include "sdk/test_device_link.hpp"

namespace crab::sdk {
namespace {

using namespace std::chrono_literals;
using test::DeviceLinkTest;

class DeviceLinkConnects : public DeviceLinkTest {};
class DeviceLinkAnswers : public DeviceLinkTest {};
class DeviceLinkReturns : public DeviceLinkTest {};

// --- Getting a link
// ------------------------------------------------------------------------------------------------

TEST_F(DeviceLinkConnects, SaysConnectAndTheWholeListBeforeItHearsAnything) {
    add_tool("camera");
    link.start();
    link.on_token("t1");
    ASSERT_EQ(ports.dials.size(), 1u);
    EXPECT_EQ(ports.dials[0].token, "t1");
    open();
    ASSERT_EQ(ports.sent.size(), 2u);
    EXPECT_EQ(text(ports.sent[0], "type"), "connect");
    EXPECT_EQ(text(ports.sent[0], "device_name"), "Kitchen");
    EXPECT_EQ(ports.sent[0].find("capabilities")->as_array()->size(), 11u);
    EXPECT_EQ(text(ports.sent[1], "type"), "register_tools");
    EXPECT_EQ(ports.sent[1].find("tools")->as_array()->size(), 2u);
    EXPECT_EQ(ports.sent[1].find("replace"), nullptr);
}

TEST_F(DeviceLinkConnects, TellsItsOwnerOncePerLinkHowManyToolsAreRegistered) {
    connect();
    ASSERT_EQ(ports.events.size(), 1u);
    EXPECT_EQ(ports.events[0].kind, DeviceEvent::Kind::kConnected);
    EXPECT_EQ(ports.events[0].tools, 1u);
    EXPECT_EQ(ports.events[0].session_id, "kitchen-7");
    link.on_text(R"({"type":"tools_registered","count":1,"registered":0,"rejected":[{"index":0,)"
                 R"("name":"shell","code":"FORBIDDEN","message":"reserved"}]})");
    ASSERT_EQ(ports.events.size(), 2u);
    EXPECT_EQ(ports.events[1].kind, DeviceEvent::Kind::kRejected);
    EXPECT_EQ(ports.events[1].message, "shell: FORBIDDEN: reserved");
}

TEST_F(DeviceLinkConnects, GathersChangesForATenthOfASecondIntoOneReplacingList) {
    connect();
    add_tool("a");
    link.tools_changed();
    advance(50ms);
    add_tool("b");
    tools.remove("read_thermometer");
    link.tools_changed();
    EXPECT_TRUE(sent("register_tools").empty());
    advance(60ms);
    const auto lists = sent("register_tools");
    ASSERT_EQ(lists.size(), 1u);
    EXPECT_EQ(*lists[0].find("replace"), json::Value(true));
    EXPECT_EQ(lists[0].find("tools")->as_array()->size(), 2u);
}

TEST_F(DeviceLinkConnects, SendsTheFullListToAGatewayThatCannotReplace) {
    connect("");
    add_tool("a");
    link.tools_changed();
    advance(110ms);
    ASSERT_EQ(sent("register_tools").size(), 1u);
    EXPECT_EQ(sent("register_tools")[0].find("replace"), nullptr);
}

TEST_F(DeviceLinkConnects, HoldsAChangeBackUntilItKnowsWhatTheGatewayCan) {
    link.start();
    link.on_token("");
    open();
    ports.sent.clear();
    tools.remove("read_thermometer");
    link.tools_changed();
    advance(500ms);
    EXPECT_TRUE(ports.sent.empty());
    link.on_text(
        R"({"type":"connected","v":1,"message":"hi","capabilities":["register_tools.replace"]})");
    ASSERT_EQ(ports.sent.size(), 1u);
    EXPECT_EQ(*ports.sent[0].find("replace"), json::Value(true));
}

TEST_F(DeviceLinkConnects, StopsForGoodOn401And403WithoutANewToken) {
    for (const int status : {401, 403}) {
        test::FakePorts other;
        DeviceLink device({}, {.clock = clock, .timers = timers, .random = random}, tools, other);
        device.start();
        device.on_token("old");
        device.on_refused({.code = ErrorCode::kForbidden,
                           .message = "no",
                           .details = "{\"status\":" + std::to_string(status) + "}"});
        ASSERT_EQ(other.needs.back(), TokenNeed::kRefused);
        device.on_token("old");
        ASSERT_TRUE(other.end);
        EXPECT_EQ(other.end->reason, DeviceEnd::Reason::kRefused);
        EXPECT_NE(other.end->message.find(std::to_string(status)), std::string::npos);
        advance(120s);
        EXPECT_EQ(other.dials.size(), 1u);
    }
}

TEST_F(DeviceLinkConnects, DialsAgainWithANewTokenAfter401AndAfter4401) {
    link.start();
    link.on_token("old");
    link.on_refused(
        {.code = ErrorCode::kUnauthenticated, .message = "no", .details = R"({"status":401})"});
    link.on_token("new");
    ASSERT_EQ(ports.dials.size(), 2u);
    EXPECT_EQ(ports.dials[1].token, "new");
    connect();
    lose_link(4401, true);
    link.on_token("newer");
    ASSERT_EQ(ports.dials.size(), 3u);
    EXPECT_EQ(ports.dials[2].token, "newer");
}

TEST_F(DeviceLinkConnects, WaitsBetweenTokensThatAreAllRefused) {
    link.start();
    link.on_token("t0");
    for (int i = 1; i <= 3; ++i) {
        link.on_refused(
            {.code = ErrorCode::kUnauthenticated, .message = "no", .details = R"({"status":401})"});
        link.on_token("t" + std::to_string(i));
        if (i > 1) advance(30s);
    }
    EXPECT_EQ(ports.dials.size(), 4u);
    EXPECT_EQ(std::ranges::count(ports.events, DeviceEvent::Kind::kLost, &DeviceEvent::kind), 2);
}

TEST_F(DeviceLinkConnects, StaysAwayAfter1000) {
    connect();
    lose_link(1000, true);
    ASSERT_TRUE(ports.end);
    EXPECT_EQ(ports.end->reason, DeviceEnd::Reason::kClosedByGateway);
}

TEST_F(DeviceLinkConnects, ClosesWith1000WhenItsOwnerStopsIt) {
    connect();
    request("c1");
    link.stop();
    EXPECT_EQ(ports.closed_with, 1000);
    EXPECT_TRUE(ports.running[0]->cancelled());
    EXPECT_FALSE(ports.end);
    lose_link(1000);
    ASSERT_TRUE(ports.end);
    EXPECT_TRUE(ports.end->good());
}

TEST_F(DeviceLinkConnects, StopsAtOnceInEveryOtherState) {
    for (int steps = 0; steps < 4; ++steps) {
        test::FakePorts other;
        DeviceLink device({}, {.clock = clock, .timers = timers, .random = random}, tools, other);
        if (steps > 0) device.start();
        if (steps > 1) device.on_token("t");
        if (steps > 2)
            device.on_refused({.code = ErrorCode::kUnavailable, .message = "nobody there"});
        device.stop();
        ASSERT_TRUE(other.end) << steps;
        device.on_token("late");
        device.on_open();
        device.on_refused({});
        advance(60s);
        EXPECT_LE(other.dials.size(), 1u);
        EXPECT_TRUE(other.sent.empty());
    }
}

TEST_F(DeviceLinkConnects, EndsWithTheFirstLossWhenItMayNotReconnect) {
    test::FakePorts other;
    DeviceLink device({.reconnect = false}, {.clock = clock, .timers = timers, .random = random},
                      tools, other);
    device.start();
    device.on_token("t");
    device.on_refused({.code = ErrorCode::kUnavailable, .message = "nobody there"});
    ASSERT_TRUE(other.end);
    EXPECT_EQ(other.end->reason, DeviceEnd::Reason::kLost);
}

// --- Answering
// ------------------------------------------------------------------------------------------------

TEST_F(DeviceLinkAnswers, RunsTheToolWithTheCallersArgumentsAndDeadline) {
    connect();
    request("c1", "read_thermometer", R"(,"args":{"room": "kitchen"},"deadline_ms":2500)");
    ASSERT_EQ(ports.running.size(), 1u);
    const ToolRequest seen(ports.running[0]);
    EXPECT_EQ(seen.args(), R"({"room": "kitchen"})");
    EXPECT_EQ(seen.text("room"), "kitchen");
    EXPECT_EQ(seen.number("room"), std::nullopt);
    EXPECT_EQ(seen.deadline(), clock.steady_now() + 2500ms);
    ASSERT_EQ(sent("tool_call_accepted").size(), 1u);
    link.finish("c1", ToolAnswer::json(R"({"celsius":21.5})"));
    const auto results = sent("tool_result");
    ASSERT_EQ(results.size(), 1u);
    EXPECT_EQ(text(results[0], "id"), "c1");
    EXPECT_EQ(*results[0].find("success"), json::Value(true));
    EXPECT_EQ(*results[0].find("output")->find("celsius"), json::Value(21.5));
}

TEST_F(DeviceLinkAnswers, HandsTheGatewaysTraceparentOnAndNothingThatIsNone) {
    connect();
    const std::string parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    request("c1", "read_thermometer", R"(,"traceparent":")" + parent + '"');
    request("c2", "read_thermometer", R"(,"traceparent":"00-1-2-03")");
    ASSERT_EQ(ports.running.size(), 2u);
    EXPECT_EQ(ToolRequest(ports.running[0]).traceparent(), parent);
    EXPECT_EQ(ToolRequest(ports.running[1]).traceparent(), "");
}

TEST_F(DeviceLinkAnswers, SaysNothingThatAPlainGatewayDoesNotKnow) {
    connect("");
    request("c1");
    link.progress("c1", {.message = "warming up"});
    EXPECT_TRUE(ports.sent.empty());
    link.finish("c1", "21.5");
    EXPECT_EQ(ports.sent.size(), 1u);
}

TEST_F(DeviceLinkAnswers, EachRequestOnce) {
    connect();
    request("c1");
    request("c1");
    EXPECT_EQ(ports.running.size(), 1u);
    link.finish("c1", "first");
    link.finish("c1", "second");
    request("c1");
    EXPECT_EQ(sent("tool_result").size(), 1u);
}

TEST_F(DeviceLinkAnswers, AnUnknownNameWithToolNotFound) {
    connect();
    request("c1", "camera");
    ASSERT_EQ(sent("tool_error").size(), 1u);
    EXPECT_TRUE(text(sent("tool_error")[0], "error").starts_with("TOOL_NOT_FOUND: "));
    request("c2");
    EXPECT_EQ(ports.running.size(), 1u);
}

TEST_F(DeviceLinkAnswers, RateLimitedWhenThereIsNoRoom) {
    connect();
    ports.room = 2;
    for (const char* id : {"c1", "c2", "c3"}) request(id);
    ASSERT_EQ(sent("tool_error").size(), 1u);
    EXPECT_EQ(text(sent("tool_error")[0], "id"), "c3");
    EXPECT_TRUE(text(sent("tool_error")[0], "error").starts_with("RATE_LIMITED: "));
    EXPECT_EQ(sent("tool_call_accepted").size(), 2u);
}

TEST_F(DeviceLinkAnswers, NothingToACancelledCallWhoseHandlerIsTold) {
    connect();
    request("c1");
    int told = 0;
    const ToolRequest seen(ports.running[0]);
    seen.on_cancel([&] { ++told; });
    link.on_text(R"({"type":"tool_call_cancel","id":"c1","reason":"cancelled"})");
    link.on_text(R"({"type":"tool_call_cancel","id":"c1","reason":"cancelled"})");
    EXPECT_TRUE(seen.cancelled());
    EXPECT_EQ(told, 1);
    seen.on_cancel([&] { ++told; });
    EXPECT_EQ(told, 2);
    link.finish("c1", "too late");
    EXPECT_TRUE(sent("tool_result").empty());
    EXPECT_EQ(link.running_calls(), 0u);
}

TEST_F(DeviceLinkAnswers, TimeoutWhenTheDeadlinePassesAndNothingMoreThen) {
    connect();
    request("c1", "read_thermometer", R"(,"deadline_ms":500)");
    advance(520ms);
    EXPECT_TRUE(ports.running[0]->cancelled());
    ASSERT_EQ(sent("tool_error").size(), 1u);
    EXPECT_TRUE(text(sent("tool_error")[0], "error").starts_with("TIMEOUT: "));
    link.finish("c1", "too late");
    EXPECT_TRUE(sent("tool_result").empty());
}

TEST_F(DeviceLinkAnswers, AResultTooLargeForTheGatewayWithAnError) {
    connect();
    request("c1");
    link.finish("c1", ToolAnswer(std::string(200'000, 'x')));
    ASSERT_EQ(sent("tool_error").size(), 1u);
    EXPECT_TRUE(text(sent("tool_error")[0], "error").starts_with("OVERSIZE: "));
}

TEST_F(DeviceLinkAnswers, ProgressOfRunningCallsOnly) {
    connect();
    request("c1");
    link.progress("c1", {.message = "warming up", .progress = 2, .total = 5});
    link.progress("c2", {.message = "nobody"});
    const auto told = sent("tool_call_progress");
    ASSERT_EQ(told.size(), 1u);
    EXPECT_EQ(told[0],
              *json::Value::parse(
                  R"({"type":"tool_call_progress","id":"c1","message":"warming up","progress":2,)"
                  R"("total":5})"));
}

TEST_F(DeviceLinkAnswers, NothingToWhatIsNoFrame) {
    connect();
    for (const char* text :
         {"", "[]", "null", "{", R"({"type":7})", R"({"type":"tool_call_request"})",
          R"({"type":"tool_call_request","id":9,"name":"x"})", R"({"type":"news"})",
          R"({"type":"tool_call_cancel"})", R"({"type":"connected","capabilities":[1,null]})"}) {
        link.on_text(text);
    }
    EXPECT_TRUE(ports.sent.empty());
    request("c1");
    EXPECT_EQ(ports.running.size(), 1u);
}

// --- Coming back
// ------------------------------------------------------------------------------------------------

TEST_F(DeviceLinkReturns, RegistersAgainInTheSameChatSession) {
    connect();
    lose_link(1012, true);
    EXPECT_EQ(ports.events.back().kind, DeviceEvent::Kind::kLost);
    advance(ports.events.back().retry_in + 10ms);
    ASSERT_EQ(ports.dials.size(), 2u);
    EXPECT_EQ(ports.dials[1].session_id, "kitchen-7");
    open();
    EXPECT_EQ(sent("connect").size(), 1u);
    EXPECT_EQ(text(sent("connect")[0], "session_id"), "kitchen-7");
    EXPECT_EQ(sent("register_tools").size(), 1u);
}

TEST_F(DeviceLinkReturns, SendsUnacknowledgedResultsAgain) {
    connect();
    for (const char* id : {"c1", "c2", "c3"}) request(id);
    link.finish("c1", "acknowledged");
    link.finish("c2", "not acknowledged");
    link.on_text(R"({"type":"result_acknowledged","id":"c1"})");
    lose_link();
    link.finish("c3", "finished without a link");
    advance(ports.events.back().retry_in + 10ms);
    ports.sent.clear();
    open();
    const auto again = sent("tool_result");
    ASSERT_EQ(again.size(), 2u);
    EXPECT_EQ(text(again[0], "id"), "c2");
    EXPECT_EQ(text(again[1], "id"), "c3");
}

TEST_F(DeviceLinkReturns, ForgetsResultsAfterTheGraceTime) {
    connect();
    request("c1");
    link.finish("c1", "late");
    lose_link();
    advance(1100ms);
    link.on_refused(
        {.code = ErrorCode::kUnavailable, .message = "nobody there", .retry_after = 20'000ms});
    advance(20'010ms);
    ports.sent.clear();
    open();
    EXPECT_TRUE(sent("tool_result").empty());
}

TEST_F(DeviceLinkReturns, LetsRunningCallsFinishOnTheNewLink) {
    connect();
    request("c1");
    lose_link();
    EXPECT_FALSE(ports.running[0]->cancelled());
    advance(ports.events.back().retry_in + 10ms);
    open();
    link.finish("c1", "21.5");
    EXPECT_EQ(sent("tool_result").size(), 1u);
}

TEST_F(DeviceLinkReturns, HonoursRetryAfter) {
    link.start();
    link.on_token("t");
    link.on_refused({.code = ErrorCode::kRateLimited,
                     .message = "busy",
                     .details = R"({"status":429})",
                     .retry_after = 45'000ms});
    EXPECT_EQ(ports.events.back().retry_in, 45'000ms);
    advance(44'900ms);
    EXPECT_EQ(ports.dials.size(), 1u);
    advance(200ms);
    EXPECT_EQ(ports.dials.size(), 2u);
}

TEST_F(DeviceLinkReturns, DropsALinkThatIsSilentForAMinute) {
    connect();
    advance(40s);
    ports.heard = clock.steady_now();  // a ping
    advance(59s);
    EXPECT_EQ(ports.aborts, 0);
    advance(1100ms);
    EXPECT_EQ(ports.aborts, 1);
    EXPECT_EQ(ports.events.back().kind, DeviceEvent::Kind::kLost);
}

TEST_F(DeviceLinkReturns, WaitsLongerAfterEachFailureAndShortAgainAfterAStableLink) {
    link.start();
    link.on_token("t");
    Milliseconds longest = 1'000ms;
    for (int n = 0; n < 8; ++n) {
        link.on_refused({.code = ErrorCode::kUnavailable, .message = "nobody there"});
        EXPECT_GE(ports.events.back().retry_in, longest / 2) << n;
        EXPECT_LE(ports.events.back().retry_in, longest) << n;
        longest = std::min(longest * 2, 30'000ms);
        advance(ports.events.back().retry_in + 10ms);
    }
    connect();
    advance(29s);
    lose_link();
    EXPECT_GE(ports.events.back().retry_in, 15s);
    advance(30s);
    connect();
    advance(30s);
    lose_link();
    EXPECT_LE(ports.events.back().retry_in, 1s);
}

}  // namespace
}  // namespace crab::sdk
