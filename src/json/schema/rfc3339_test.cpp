#include "json/schema/rfc3339.hpp"

#include <gtest/gtest.h>

namespace crab::json {
namespace {

TEST(Rfc3339, AMomentIsReadToTheMillisecondInWhateverZoneItIsWritten) {
    const std::pair<const char*, const char*> rows[] = {
        {"2026-11-21T09:30:00Z", "2026-11-21T09:30:00.000Z"},
        {"2026-11-21t09:30:00.25z", "2026-11-21T09:30:00.250Z"},
        {"2026-11-21T09:30:00.1239999Z", "2026-11-21T09:30:00.123Z"},
        {"2026-11-21T09:30:00+01:30", "2026-11-21T08:00:00.000Z"},
        {"2026-12-31T20:00:00-08:00", "2027-01-01T04:00:00.000Z"},
        {"2024-02-29T00:00:00-00:00", "2024-02-29T00:00:00.000Z"},
        {"2016-12-31T23:59:60Z", "2017-01-01T00:00:00.000Z"},
        {"1969-12-31T23:59:59.5Z", "1969-12-31T23:59:59.500Z"},
        {"0001-01-01T00:00:00Z", "1678-01-01T00:00:00.000Z"},
        {"9999-12-31T23:59:59Z", "2261-12-31T00:00:00.000Z"},
    };
    for (const auto& [text, moment] : rows) {
        const auto time = parse_rfc3339(text);
        ASSERT_TRUE(time) << text;
        EXPECT_EQ(to_rfc3339(*time), moment) << text;
    }
}

TEST(Rfc3339, AnythingElseIsNoMoment) {
    for (const char* text :
         {"", "2026-11-21", "2026-11-21T09:30Z", "2026-11-21T09:30:00", "2026-02-30T00:00:00Z",
          "2026-11-21T24:00:00Z", "2026-11-21T09:30:00+0100", " 2026-11-21T09:30:00Z", "now"}) {
        EXPECT_FALSE(parse_rfc3339(text)) << text;
    }
}

}  // namespace
}  // namespace crab::json
