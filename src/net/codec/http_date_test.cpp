#include "net/codec/http_date.hpp"

#include <gtest/gtest.h>

namespace crab::net {
namespace {

using namespace std::chrono_literals;

TEST(HttpDate, HasThreeForms) {
    const SystemTime expected =
        SystemTime(std::chrono::sys_days(std::chrono::year(1994) / 11 / 6)) + 8h + 49min + 37s;
    EXPECT_EQ(parse_http_date("Sun, 06 Nov 1994 08:49:37 GMT"), expected);
    EXPECT_EQ(parse_http_date("Sunday, 06-Nov-94 08:49:37 GMT"), expected);
    EXPECT_EQ(parse_http_date("Sun Nov  6 08:49:37 1994"), expected);
    EXPECT_EQ(parse_http_date("Wed Nov 16 08:49:37 1994"), expected + std::chrono::days(10));
}

TEST(HttpDate, IsNothingElse) {
    for (const char* text :
         {"", "7", "Sun", "Sun, 06 Nov 1994 08:49:37", "Sun, 06 Nov 1994 08:49:37 UTC",
          "Sun, 6 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 9999 08:49:37 GMT",
          "Sun, 06 Nov 0001 08:49:37 GMT", "Sun, 31 Feb 1994 08:49:37 GMT",
          "Sun, 06 Nix 1994 08:49:37 GMT", "Sun, 06 Nov 1994 24:00:00 GMT",
          "Sun, 06 Nov 1994 08:49:37 GMT ", "Sun, -6 Nov 1994 08:49:37 GMT",
          "Sun Nov   6 08:49:37 1994", ",", "Sun,"}) {
        EXPECT_EQ(parse_http_date(text), std::nullopt) << text;
    }
}

}  // namespace
}  // namespace crab::net
