#include "core/call/traceparent.hpp"

#include <gtest/gtest.h>

#include <string>

namespace crab::core {
namespace {

constexpr std::string_view kGood = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

TEST(TraceParent, NamesATraceAndASpan) {
    const auto parent = parse_traceparent(kGood);
    ASSERT_TRUE(parent);
    EXPECT_EQ(parent->trace_id, "4bf92f3577b34da6a3ce929d0e0e4736");
    EXPECT_EQ(parent->span_id, "00f067aa0ba902b7");
}

TEST(TraceParent, AMalformedOneIsIgnored) {
    const auto with = [](std::size_t at, char c) {
        std::string text(kGood);
        text[at] = c;
        return text;
    };
    for (const std::string& bad :
         {std::string(), std::string(kGood.substr(1)), std::string(kGood) + "-", with(1, '1'),
          with(2, '_'), with(5, 'F'), with(35, '0'), with(40, 'g'), with(52, ' '), with(54, 'x'),
          "00-" + std::string(32, '0') + "-00f067aa0ba902b7-01",
          "00-4bf92f3577b34da6a3ce929d0e0e4736-" + std::string(16, '0') + "-01"})
        EXPECT_FALSE(parse_traceparent(bad)) << bad;
}

}  // namespace
}  // namespace crab::core
