#include "adapters/clawseed/wire.hpp"

#include "json/value.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace crab::clawseed {
namespace {

using json::Value;
using testing::ElementsAre;

/// What `write(out)` appends, as a value; the test fails when that is not one JSON object.
template <class F>
Value written(F&& write) {
    std::string out;
    write(out);
    auto value = Value::parse(out);
    EXPECT_TRUE(value) << out;
    return value.value_or(Value());
}

std::vector<std::string> member_names(const Value& frame) {
    std::vector<std::string> names;
    for (const auto& [name, value] : *frame.as_object()) names.push_back(name);
    return names;
}

Value parsed(std::string_view text) { return Value::parse(text).value(); }

class WireTest : public testing::Test {
protected:
    core::Outcome result_of(std::string text) {
        text_ = std::move(text);
        const json::Root root = parser_.parse(text_).value();
        return parse_tool_result(root, read_reply(root));
    }
    core::Outcome error_of(std::string text) {
        text_ = std::move(text);
        return parse_tool_error(read_reply(parser_.parse(text_).value()));
    }
    Extensions capabilities(std::string text) {
        text_ = std::move(text);
        return parse_capabilities(parser_.parse(text_).value().element());
    }
    core::Progress progress_of(std::string text) {
        text_ = std::move(text);
        return parse_progress(parser_.parse(text_).value().element());
    }

private:
    json::Parser parser_;
    std::string text_;
};

TEST_F(WireTest, OfARepliesFrameThatIsNoJsonItsIdIsFound) {
    for (const char* frame :
         {R"({"type":"tool_result","id":"i1","output":1e999})",
          R"({"output":"\ud800","id":"i1","type":"tool_result"})",
          R"( { "type" : "tool_result" , "output":{"id":"no","type":"x"},"id":"i1"})",
          R"({"type":"tool_result","id":"i1","output":"}{\"id\":\"no\""})",
          R"({"type":"tool_result","output":[[["id"],"id:"],nul],"id":"i1"})"}) {
        const auto found = find_unreadable_reply(frame);
        ASSERT_TRUE(found) << frame;
        EXPECT_EQ(found->id, "i1");
        EXPECT_FALSE(found->is_error);
    }
    EXPECT_TRUE(
        find_unreadable_reply(R"({"type":"tool_error","id":"i1","error":"\udc00"})")->is_error);
    const std::string deep = R"({"type":"tool_result","id":"i1","output":)" +
                             std::string(100'000, '[') + std::string(100'000, ']') + "}";
    EXPECT_TRUE(find_unreadable_reply(deep));
    for (const char* other :
         {"", "{", "[]", R"(["tool_result"])", R"({"type":"tool_result","id":"i1")",
          R"({"type":"tool_result","id":""})", R"({"type":"message","id":"i1"})",
          R"({"type":"tool_result","id":"i)", R"({"type":"tool_result","id":7})",
          R"([{"type":"tool_result","id":"i1"}])", R"({"x":{"type":"tool_result","id":"i1"}})",
          R"({"type":"tool_result","id":"\u0069"})"}) {
        EXPECT_FALSE(find_unreadable_reply(other)) << other;
    }
}

TEST_F(WireTest, Item07_ASessionStartLeavesOutWhatItDoesNotKnow) {
    const Value bare = written([](std::string& out) {
        write_session_start(out, {.session_id = "kitchen-7",
                                  .resumed = false,
                                  .message_count = 0,
                                  .name = {},
                                  .persona = {}});
    });
    EXPECT_EQ(bare,
              parsed(R"({"type":"session_start","v":1,"session_id":"kitchen-7","resumed":false,)"
                     R"("message_count":0})"));
    const Value full = written([](std::string& out) {
        write_session_start(out, {.session_id = "k",
                                  .resumed = true,
                                  .message_count = 12,
                                  .name = "K\"1",
                                  .persona = "cook"});
    });
    EXPECT_EQ(
        full,
        parsed(
            R"({"type":"session_start","v":1,"session_id":"k","resumed":true,"message_count":12,)"
            R"("name":"K\"1","persona":"cook"})"));
}

TEST_F(WireTest, Item60_ConnectedTellsItsLimitsOnlyToClientsThatListCapabilities) {
    const Value plain = written([](std::string& out) { write_connected(out, nullptr); });
    EXPECT_THAT(member_names(plain), ElementsAre("type", "v", "message"));
    const Terms terms{.max_message_bytes = 8'388'608, .grace = Milliseconds(15'000)};
    const Value extended = written([&](std::string& out) { write_connected(out, &terms); });
    EXPECT_EQ(extended.find("max_message_bytes")->as_int64(), 8'388'608);
    EXPECT_EQ(extended.find("grace_ms")->as_int64(), 15'000);
    EXPECT_EQ(
        *extended.find("capabilities"),
        parsed(R"(["register_tools.replace","unregister_tools","tools_registered.rejected",)"
               R"("tool_call_request.deadline_ms",
                         "tool_call_request.caller","tool_call_cancel","tool_call_accepted",)"
               R"("tool_call_progress","approvals","artifacts","tool_call_resume","presence",)"
               R"("ask_user","tool_call.call_id","detached_turns",)"
               R"("tool_call_request.traceparent"])"));
}

TEST_F(WireTest, ApprovalsAreAskedForAndEndInFrames) {
    core::ApprovalQuestion question;
    question.id = "5f0c9a3be214";
    question.subject.tool = "phone__sms";
    question.subject.rule = "policy[0]";
    question.args = R"({"to":"Bob"})";
    const Value asked = written([&](std::string& out) { write_approval_request(out, question); });
    EXPECT_EQ(*asked.find("id")->as_string(), "5f0c9a3be214");
    EXPECT_EQ(*asked.find("args")->as_string(), R"({"to":"Bob"})")
        << "as text: nobody has to understand it";
    EXPECT_EQ(asked.find("worktree"), nullptr);
    const core::ApprovalEnd end{.id = question.id,
                                .state = core::ApprovalState::kAllowed,
                                .scope = core::ApprovalScope::kSession,
                                .by = "local/0",
                                .remembered = false,
                                .waited = {}};
    EXPECT_EQ(
        written([&](std::string& out) { write_approval_ended(out, question.id, end); }),
        parsed(R"({"type":"approval_ended","id":"5f0c9a3be214","state":"allowed","by":"local/0",)"
               R"("scope":"session"})"));
}

TEST_F(WireTest, Item11_RegistrationsAreCounted) {
    EXPECT_EQ(written([](std::string& out) { write_tools_registered(out, 2, 2, {}); }),
              parsed(R"({"type":"tools_registered","count":2,"registered":2})"));
    const std::vector<Rejected> rejected{
        {.index = 1, .name = "shell", .code = ErrorCode::kForbidden, .message = "taken"}};
    EXPECT_EQ(
        written([&](std::string& out) { write_tools_registered(out, 2, 1, rejected); }),
        parsed(R"({"type":"tools_registered","count":2,"registered":1,"rejected":[{"index":1,)"
               R"("name":"shell","code":"FORBIDDEN","message":"taken"}]})"));
}

TEST_F(WireTest, ARejectedNameThatWasCutInsideACharacterIsStillText) {
    const std::vector<Rejected> rejected{
        {.index = 0, .name = "\xC3", .code = ErrorCode::kInvalidArgs, .message = "\xE2\x82"}};
    written([&](std::string& out) { write_tools_registered(out, 1, 0, rejected); });
}

TEST_F(WireTest, Item17_ARequestCarriesItsArgumentsByteForByte) {
    std::string out;
    write_tool_call_request(out, "0192f6c1-7a10-7c3e-9b1d-5f2a8c0e4d77", "read",
                            R"({ "a" : 1.50 })", {});
    EXPECT_EQ(
        out,
        R"({"type":"tool_call_request","id":"0192f6c1-7a10-7c3e-9b1d-5f2a8c0e4d77","name":"read",)"
        R"("args":{ "a" : 1.50 }})");
}

TEST_F(WireTest, ARequestNamesItsCallerAsProvenAndAsSaid) {
    const auto caller_of = [](std::string_view principal, std::string_view agent) {
        const Value frame = written([&](std::string& out) {
            write_tool_call_request(
                out, "i", "n", "{}",
                {.deadline = {}, .principal = principal, .agent = agent, .traceparent = {}});
        });
        return *frame.find("caller");
    };
    EXPECT_EQ(caller_of("caller/ci", "\"planner\""),
              parsed(R"({"principal":"caller/ci","agent":"\"planner\""})"));
    EXPECT_EQ(caller_of("caller/ci", ""), parsed(R"({"principal":"caller/ci"})"));
}

TEST_F(WireTest, ARequestHandsOnAWellFormedTraceparentOnly) {
    const auto told = [](std::string_view traceparent) {
        return written([&](std::string& out) {
            write_tool_call_request(
                out, "i", "n", "{}",
                {.deadline = {}, .principal = {}, .agent = {}, .traceparent = traceparent});
        });
    };
    const std::string_view text = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    EXPECT_EQ(*told(text).find("traceparent")->as_string(), text);
    for (const std::string_view bad : {"", "00-\"-1-01", "x\",\"id\":\"j"})
        EXPECT_EQ(told(bad).find("traceparent"), nullptr);
}

TEST_F(WireTest, Item61_TheDeadlineToldIsAtLeastOneMillisecond) {
    for (const auto [given, told] :
         {std::pair(29'950, 29'950), std::pair(0, 1), std::pair(-5, 1)}) {
        const Value frame = written([left = given](std::string& out) {
            write_tool_call_request(
                out, "i", "n", "{}",
                {.deadline = Milliseconds(left), .principal = {}, .agent = {}, .traceparent = {}});
        });
        EXPECT_EQ(frame.find("deadline_ms")->as_int64(), told);
    }
    EXPECT_EQ(written([](std::string& out) { write_tool_call_cancel(out, "i", "timeout"); }),
              parsed(R"({"type":"tool_call_cancel","id":"i","reason":"timeout"})"));
}

TEST_F(WireTest, FramesOfATurnHaveTheFieldsOfSection2) {
    EXPECT_EQ(written([](std::string& out) { write_agent(out, true, "p", "m"); }),
              parsed(R"({"type":"agent_start","provider":"p","model":"m"})"));
    EXPECT_EQ(written([](std::string& out) { write_agent(out, false, "", ""); }),
              parsed(R"({"type":"agent_end","provider":"","model":""})"));
    EXPECT_EQ(written([](std::string& out) { write_text(out, "chunk", "a\n\"\\"); }),
              parsed(R"({"type":"chunk","content":"a\n\"\\"})"));
    EXPECT_EQ(written([](std::string& out) { write_text(out, "thinking", ""); }),
              parsed(R"({"type":"thinking","content":""})"));
    EXPECT_EQ(written([](std::string& out) { write_debug_prompt(out, "[]", 7); }),
              parsed(R"({"type":"debug_prompt","messages":"[]","estimated_tokens":7})"));
    EXPECT_EQ(written([](std::string& out) { write_tool_call(out, "c1", "n", R"({"a":1})"); }),
              parsed(R"({"type":"tool_call","id":"c1","name":"n","args":{"a":1}})"));
    EXPECT_EQ(written([](std::string& out) { write_tool_result(out, "c1", "n", "o"); }),
              parsed(R"({"type":"tool_result","id":"c1","name":"n","output":"o"})"));
    EXPECT_EQ(written([](std::string& out) { write_done(out, "all"); }),
              parsed(R"({"type":"done","full_response":"all"})"));
    EXPECT_EQ(written([](std::string& out) { write_plain(out, "aborted"); }),
              parsed(R"({"type":"aborted"})"));
    EXPECT_EQ(written([](std::string& out) { write_abort_ack(out, true); }),
              parsed(R"({"type":"abort_ack","status":"aborted"})"));
    EXPECT_EQ(written([](std::string& out) { write_abort_ack(out, false); }),
              parsed(R"({"type":"abort_ack","status":"no_active_response"})"));
    EXPECT_EQ(written([](std::string& out) { write_error(out, "X", "why"); }),
              parsed(R"({"type":"error","message":"why","code":"X"})"));
    EXPECT_EQ(written([](std::string& out) { write_result_acknowledged(out, "\"\\\n"); }),
              parsed(R"({"type":"result_acknowledged","id":"\"\\\n"})"));
}

TEST_F(WireTest, TextOfAModelOrAToolThatIsNotUtf8IsMended) {
    for (const std::string broken : {"\xFF", "\xE2\x82", "ok \xC3("}) {
        written([&](std::string& out) { write_text(out, "chunk", broken); });
        written([&](std::string& out) { write_done(out, broken); });
        written([&](std::string& out) { write_tool_result(out, broken, broken, broken); });
        written([&](std::string& out) { write_debug_prompt(out, broken, 1); });
        written([&](std::string& out) { write_error(out, "AGENT_ERROR", broken); });
        written([&](std::string& out) { write_agent(out, true, broken, broken); });
    }
}

TEST_F(WireTest, Item21_SuccessIsTheDefaultAndAMissingOutputIsEmptyText) {
    for (const char* frame :
         {R"({"id":"x"})", R"({"id":"x","output":null})",
          R"({"id":"x","success":true,"error":"ignored"})", R"({"id":"x","success":"no"})"}) {
        const core::Outcome outcome = result_of(frame);
        ASSERT_TRUE(outcome) << frame;
        EXPECT_EQ(outcome->kind, core::ContentKind::kText);
        EXPECT_EQ(outcome->content, "");
    }
}

TEST_F(WireTest, Item19_TextIsKeptByteForByte) {
    const core::Outcome outcome = result_of(
        "{\"output\":\"21 \xC2\xB0"
        "C \\u2014 \\\"q\\\"\"}");
    ASSERT_TRUE(outcome);
    EXPECT_EQ(outcome->content,
              "21 \xC2\xB0"
              "C \xE2\x80\x94 \"q\"");
}

TEST_F(WireTest, Item63_OtherOutputsAreKeptAsCompactJsonInTheirOwnDigits) {
    for (const auto& [given, compact] : std::vector<std::pair<std::string, std::string>>{
             {R"({ "celsius" : 21.50 , "b" : [ 1 , 2 ] })", R"({"celsius":21.50,"b":[1,2]})"},
             {"1e2", "1e2"},
             {"-0.0", "-0.0"},
             {"12345678901234567890123", "12345678901234567890123"},
             {"true", "true"},
             {"[ ]", "[]"},
             {"\"\"", ""},
             {R"({"s":" a  b ","u":"é\u0041"})", R"({"s":" a  b ","u":"é\u0041"})"}}) {
        const core::Outcome outcome =
            result_of(R"({"type":"tool_result", "output" : )" + given + " ,\n\"success\":true}");
        ASSERT_TRUE(outcome) << given;
        EXPECT_EQ(outcome->kind,
                  given.starts_with('"') ? core::ContentKind::kText : core::ContentKind::kJson);
        EXPECT_EQ(outcome->content, compact);
    }
}

TEST_F(WireTest, Item21_AFailureIsItsErrorElseItsOutputElseUnknown) {
    EXPECT_EQ(result_of(R"({"success":false,"error":"no","output":"o"})").error().message, "no");
    EXPECT_EQ(result_of(R"({"success":false,"output":"o"})").error().message, "o");
    EXPECT_EQ(result_of(R"({"success":false,"error":7,"output":{"a": 1}})").error().message,
              R"({"a":1})");
    EXPECT_EQ(result_of(R"({"success":false,"output":null})").error().message, "Unknown error");
    EXPECT_EQ(result_of(R"({"success":false})").error().message, "Unknown error");
    EXPECT_EQ(error_of(R"({"id":"x"})").error().message, "Unknown error");
    EXPECT_EQ(error_of(R"({"id":"x","error":null,"success":true})").error().message,
              "Unknown error");
    EXPECT_EQ(
        error_of("{\"error\":\"sensor \xE2\x80\x94 asleep\",\"success\":true}").error().message,
        "sensor \xE2\x80\x94 asleep");
}

TEST_F(WireTest, ACodeInFrontOfTheTextIsTakenIfAToolMayClaimIt) {
    const std::vector<std::pair<std::string, ErrorCode>> table{
        {"INVALID_ARGS", ErrorCode::kInvalidArgs},   {"TOOL_NOT_FOUND", ErrorCode::kToolNotFound},
        {"FORBIDDEN", ErrorCode::kForbidden},        {"PERMISSION_DENIED", ErrorCode::kForbidden},
        {"AUTH_REQUIRED", ErrorCode::kAuthRequired}, {"RATE_LIMITED", ErrorCode::kRateLimited},
        {"UNAVAILABLE", ErrorCode::kUnavailable},    {"TIMEOUT", ErrorCode::kTimeout},
        {"CANCELLED", ErrorCode::kCancelled},        {"INTERNAL", ErrorCode::kInternal},
        {"INTERNAL_ERROR", ErrorCode::kInternal}};
    for (const auto& [word, code] : table) {
        for (const std::string& text : {word + ": why", "[" + word + "] why"}) {
            EXPECT_EQ(error_from_text(text).code, code) << text;
            EXPECT_EQ(error_from_text(text).message, text) << "the text stays whole";
        }
    }
    for (const char* text :
         {"", "why", "TIMEOUT", "TIMEOUT:why", "TIMEOUT : why", "timeout: why", " TIMEOUT: why",
          "TIMEOUTS: why", "[TIMEOUT]why", "[TIMEOUT: why", "TIMEOUT] why",
          "OUTCOME_UNKNOWN: a tool may not say that", "UNAUTHENTICATED: nor that",
          "CONFLICT: nor that", "TOOL_FAILED: is the default"}) {
        EXPECT_EQ(error_from_text(text).code, ErrorCode::kToolFailed) << text;
    }
}

TEST_F(WireTest, AnAnswerIsKeptWithTheBlocksOfAllItsPresentationsAndItsMetrics) {
    const core::TurnMetrics metrics{.input_tokens = 5, .elapsed = Milliseconds(20)};
    EXPECT_EQ(answer_display({}, nullptr), "");
    EXPECT_EQ(answer_display({}, &metrics), R"({"metrics":{"input_tokens":5,"elapsed_ms":20}})");
    const std::vector<std::string> one{R"({"version":1,"blocks":[{"type":"a"}],"more":true})"};
    EXPECT_EQ(answer_display(one, nullptr),
              R"({"presentation":{"version":1,"blocks":[{"type":"a"}],"more":true}})")
        << "one alone is as it came";
    const std::vector<std::string> several{
        R"({"version":2,"blocks":[1,"2"]})", R"({"version":3,"blocks":["another language"]})",
        R"({"version":2,"blocks":[]})", R"({"version":2,"blocks":[{}]})"};
    EXPECT_EQ(answer_display(several, nullptr),
              R"({"presentation":{"version":2,"blocks":[1,"2",{}]}})");
}

TEST_F(WireTest, ADeviceThatAnswersHasSeenTheCallSoItIsNotRepeatedWhateverItsCode) {
    for (const char* text : {"UNAVAILABLE: the sensor is asleep", "RATE_LIMITED: busy",
                             "[RATE_LIMITED] busy", "TIMEOUT: late", "INTERNAL: why", "why"})
        EXPECT_FALSE(error_from_text(text).may_retry()) << text;
}

TEST_F(WireTest, ExtensionsAreThoseListedAndUnknownNamesAreIgnored) {
    EXPECT_TRUE(capabilities(R"({})").empty());
    EXPECT_TRUE(capabilities(R"({"capabilities":null})").empty());
    EXPECT_TRUE(capabilities(R"({"capabilities":"tool_call_cancel"})").empty());
    EXPECT_TRUE(capabilities(R"({"capabilities":[7,null,"teleport"]})").empty());
    const Extensions some = capabilities(
        R"({"capabilities":["tool_call_cancel","teleport","tool_call_request.deadline_ms"]})");
    for (const Extension extension :
         {Extension::kReplace, Extension::kUnregister, Extension::kRejected, Extension::kDeadline,
          Extension::kCancel, Extension::kAccepted, Extension::kProgress, Extension::kApprovals}) {
        EXPECT_EQ(some.has(extension),
                  extension == Extension::kCancel || extension == Extension::kDeadline)
            << name_of(extension);
        EXPECT_TRUE(
            capabilities(R"({"capabilities":[")" + std::string(name_of(extension)) + R"("]})")
                .has(extension));
    }
    EXPECT_EQ(some.bits(), 1u << static_cast<unsigned>(Extension::kCancel) |
                               1u << static_cast<unsigned>(Extension::kDeadline));
}

TEST_F(WireTest, AListWithAnythingInItCountsAsListingCapabilities) {}

TEST_F(WireTest, ProgressFieldsAreOptional) {
    const core::Progress all = progress_of(R"({"message":"warming up","progress":2,"total":5.5})");
    EXPECT_EQ(all.message, "warming up");
    EXPECT_EQ(all.progress, 2.0);
    EXPECT_EQ(all.total, 5.5);
    const core::Progress none = progress_of(R"({"message":7,"progress":"2","total":null})");
    EXPECT_EQ(none.message, "");
    EXPECT_FALSE(none.progress);
    EXPECT_FALSE(none.total);
}

}  // namespace
}  // namespace crab::clawseed
