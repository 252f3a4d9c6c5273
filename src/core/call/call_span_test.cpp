#include "core/call/call_span.hpp"

#include "core/call/call.hpp"
#include "core/call/traceparent.hpp"

#include <string>

#include <gtest/gtest.h>

namespace crab::core {
namespace {

constexpr std::string_view kTrace = "4bf92f3577b34da6a3ce929d0e0e4736";
constexpr std::string_view kCallers = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

TEST(CallSpan, StandsInTheTraceOfItsCaller) {
    const CallSpan span =
        span_of({.call_id = "a", .time = "t", .trace_id = "other", .traceparent = kCallers});
    EXPECT_EQ(span.trace_id, kTrace);
    EXPECT_EQ(span.parent, "00f067aa0ba902b7");
    EXPECT_EQ(span.flags, "01");
    EXPECT_EQ(span.foreign, "");
    EXPECT_EQ(span.span_id.size(), 16u);
}

TEST(CallSpan, WithoutOneItIsTheRootOfATraceThatItsNamesGive) {
    const CallSpan own =
        span_of({.call_id = "a", .time = "t", .trace_id = kTrace, .traceparent = {}});
    EXPECT_EQ(own.trace_id, kTrace);
    EXPECT_EQ(own.foreign, "");
    const CallSpan foreign =
        span_of({.call_id = "a", .time = "t", .trace_id = "turn", .traceparent = "00-nonsense"});
    EXPECT_TRUE(is_trace_id(foreign.trace_id));
    EXPECT_EQ(foreign.foreign, "turn");
    EXPECT_EQ(foreign.parent, "");
    EXPECT_EQ(foreign.trace_id, trace_id_of("turn"));
    const CallSpan alone =
        span_of({.call_id = "a", .time = "t", .trace_id = {}, .traceparent = {}});
    EXPECT_TRUE(is_trace_id(alone.trace_id));
    EXPECT_EQ(alone.foreign, "");
}

TEST(CallSpan, AnIdThatComesAgainIsAnotherSpan) {
    const CallNames first{.call_id = "a", .time = "t", .trace_id = kTrace, .traceparent = {}};
    CallNames later = first;
    later.time = "u";
    EXPECT_EQ(span_of(first).span_id, span_of(first).span_id);
    EXPECT_NE(span_of(first).span_id, span_of(later).span_id);
}

TEST(CallSpan, HandsOnItsOwnIdWithTheCallersFlagsOrTheShares) {
    TraceShare share;
    Call call;
    call.id = "a";
    call.traceparent = kCallers;
    const std::string text = own_traceparent(call, share);
    const auto handed = parse_traceparent(text);
    ASSERT_TRUE(handed);
    EXPECT_EQ(handed->trace_id, kTrace);
    EXPECT_NE(handed->span_id, "00f067aa0ba902b7");
    EXPECT_TRUE(text.ends_with("-01")) << "the caller's";
    call.traceparent = {};
    EXPECT_TRUE(own_traceparent(call, share).ends_with("-00"));
    share.set(1);
    EXPECT_TRUE(own_traceparent(call, share).ends_with("-01"));
}

}  // namespace
}  // namespace crab::core
