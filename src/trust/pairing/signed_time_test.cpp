#include "trust/pairing/signed_time.hpp"

#include <gtest/gtest.h>

namespace crab::trust {
namespace {

TEST(SignedTimeTest, TimesAreReprintedWithoutTrailingZerosAndWithZForOffsetZero) {
    constexpr std::pair<std::string_view, std::string_view> kTable[] = {
        {"2026-02-13T16:00:00.12Z", "2026-02-13T16:00:00.12Z"},
        {"2026-02-13T16:00:00.120Z", "2026-02-13T16:00:00.12Z"},
        {"2026-02-13T16:00:00Z", "2026-02-13T16:00:00Z"},
        {"2026-02-13T16:00:00.000000000Z", "2026-02-13T16:00:00Z"},
        {"2026-02-13T16:00:00.000000001Z", "2026-02-13T16:00:00.000000001Z"},
        {"2026-02-13T16:00:00.5+00:00", "2026-02-13T16:00:00.5Z"},
        {"2026-02-13T16:00:00-00:00", "2026-02-13T16:00:00Z"},
        {"2026-02-13T16:00:00.10+05:30", "2026-02-13T16:00:00.1+05:30"},
        {"2026-01-01T00:00:00-11:00", "2026-01-01T00:00:00-11:00"},
        {"2024-02-29T23:59:59Z", "2024-02-29T23:59:59Z"},
        {"0000-01-01T00:00:00Z", "0000-01-01T00:00:00Z"},
        {"9999-12-31T23:59:59.999999999Z", "9999-12-31T23:59:59.999999999Z"},
        {"1600-03-01T00:00:00Z", "1600-03-01T00:00:00Z"},
    };
    for (const auto& [text, reprinted] : kTable) {
        const auto time = SignedTime::parse(text);
        ASSERT_TRUE(time) << text;
        EXPECT_EQ(time->text(), reprinted);
    }
}

TEST(SignedTimeTest, OneHundredAndTwentyMillisecondsPrintAsTwelve) {
    const SystemTime time =
        SystemTime(std::chrono::seconds(1'770'998'400)) + std::chrono::milliseconds(120);
    EXPECT_EQ(SignedTime::from(time).text(), "2026-02-13T16:00:00.12Z");
    EXPECT_EQ(SignedTime::from(time).system_time(), time);
}

TEST(SignedTimeTest, UtcIsTheSameMoment) {
    const auto time = SignedTime::parse("2026-01-01T01:30:00.25+02:00");
    EXPECT_EQ(time->in_utc().text(), "2025-12-31T23:30:00.25Z");
    EXPECT_EQ(time->in_utc().system_time(), time->system_time());
}

TEST(SignedTimeTest, TimesBeyondTheClockAreItsEnds) {
    EXPECT_EQ(SignedTime::parse("9999-12-31T23:59:59Z")->system_time(), SystemTime::max());
    EXPECT_EQ(SignedTime::parse("0000-01-01T00:00:00Z")->system_time(), SystemTime::min());
}

TEST(SignedTimeTest, OtherTextsAreRefused) {
    for (const std::string_view text : {"",
                                        "2026-02-13",
                                        "2026-02-13T16:00:00",
                                        "2026-02-13 16:00:00Z",
                                        "2026-02-13t16:00:00Z",
                                        "2026-02-13T16:00:00z",
                                        "2026-02-30T16:00:00Z",
                                        "2026-13-01T16:00:00Z",
                                        "2026-00-01T16:00:00Z",
                                        "2026-02-13T24:00:00Z",
                                        "2026-02-13T16:60:00Z",
                                        "2026-02-13T16:00:60Z",
                                        "2026-02-13T16:00Z",
                                        "2026-02-13T16:00:00.Z",
                                        "2026-02-13T16:00:00.1234567890Z",
                                        "2026-02-13T16:00:00,5Z",
                                        "2026-02-13T16:00:00+0530",
                                        "2026-02-13T16:00:00+24:00",
                                        "2026-02-13T16:00:00+05:60",
                                        "2026-02-13T16:00:00+05",
                                        "2026-02-13T16:00:00Z ",
                                        " 2026-02-13T16:00:00Z",
                                        "26-02-13T16:00:00Z",
                                        "+026-02-13T16:00:00Z",
                                        "2026-2-13T16:00:00Z",
                                        "0000-01-01T00:00:00+01:00",
                                        "9999-12-31T23:59:59-00:01"}) {
        EXPECT_FALSE(SignedTime::parse(text)) << text;
    }
}

}  // namespace
}  // namespace crab::trust
