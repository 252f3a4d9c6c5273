#include "core/live/call_filter.hpp"

#include "base/test_clock.hpp"

#include <gtest/gtest.h>

namespace crab::core {
namespace {

const FinishedCall kCall{.record = "{}",
                         .call_id = "01J-call",
                         .time = "2026-05-28T20:26:40.500Z",
                         .principal = "caller/ci",
                         .agent = "butler",
                         .session = "s1",
                         .front = "rtp",
                         .tool = "disk_usage",
                         .source = "device/laptop",
                         .code = "TIMEOUT",
                         .message = "No answer in time",
                         .status = Status::kTimeout,
                         .duration_us = 30'000'000};

bool fits(std::string_view text, const FinishedCall& call = kCall) {
    const FakeClock clock;
    const auto filter = CallFilter::parse(text, clock.system_now());
    EXPECT_TRUE(filter) << text;
    return filter && filter->matches(call);
}

TEST(CallFilter, EachFieldFitsAsItIsWritten) {
    for (const char* text : {"",
                             "  ",
                             "tool:disk*",
                             "TOOL:Disk_Usage",
                             "tool:x,disk*",
                             "status:timeout,error",
                             "status:TIMEOUT",
                             "principal:caller/*",
                             "agent:butler",
                             "session:s1",
                             "front:rtp",
                             "source:device/laptop",
                             "code:timeout",
                             "min:30s",
                             "min:500us",
                             "min:29.5s",
                             "tool:",
                             "butler",
                             "\"no answer\"",
                             "01j-",
                             "tool:disk* status:timeout min:1s in time"})
        EXPECT_TRUE(fits(text)) << text;
    for (const char* text : {"tool:disk", "tool:sms*", "status:ok", "principal:device/*",
                             "agent:ci", "session:s", "source:device/phone", "code:FORBIDDEN",
                             "min:31s", "\"answer no\"", "tool:disk* ok", "colour:red"})
        EXPECT_FALSE(fits(text)) << text;
}

TEST(CallFilter, TheAgentOfACallWithoutOneIsItsPrincipal) {
    FinishedCall call = kCall;
    call.agent = {};
    EXPECT_TRUE(fits("agent:caller/ci", call));
}

TEST(CallFilter, TimesAreMomentsDatesOrSoLongAgo) {
    // The clock says 2026-05-28T20:26:40Z.
    for (const char* text : {"from:1h", "from:2026-05-28", "from:2026-05-28T20:26:40Z",
                             "to:2026-05-28", "to:2026-05-28T20:26:40z", "from:2026 to:2027-01"})
        EXPECT_TRUE(fits(text)) << text;
    for (const char* text :
         {"from:2026-05-29", "to:2026-05-27", "to:1h", "from:2026-05-28T20:26:41Z"})
        EXPECT_FALSE(fits(text)) << text;
    FinishedCall old = kCall;
    old.time = "2026-05-26T00:00:00.000Z";
    EXPECT_FALSE(fits("from:22:00", old)) << "the last time that it was that late";
    EXPECT_TRUE(fits("to:22:00", old));
}

TEST(CallFilter, WhatCannotBeReadIsRefusedWithAReason) {
    const FakeClock clock;
    for (const char* text : {"min:fast", "min:-1us", "from:soon", "to:2026-1", "from:24:00"}) {
        const auto filter = CallFilter::parse(text, clock.system_now());
        ASSERT_FALSE(filter) << text;
        EXPECT_EQ(filter.error().code, ErrorCode::kInvalidArgs);
    }
    const auto parse = [&](const std::string& text) {
        return CallFilter::parse(text, clock.system_now()).has_value();
    };
    EXPECT_FALSE(parse(std::string(CallFilter::kMostBytes + 1, 'a')));
    EXPECT_TRUE(parse(std::string(CallFilter::kMostBytes, 'a')));
    std::string many = "tool:";
    for (std::size_t i = 0; i <= CallFilter::kMostValues; ++i) many += "a,";
    EXPECT_FALSE(parse(many));
}

}  // namespace
}  // namespace crab::core
