#include "net/codec/accept.hpp"

#include <string_view>

#include <gtest/gtest.h>

namespace crab::net {
namespace {

AcceptWeight open(std::string_view accept) {
    return accept_weight(accept, "application/openmetrics-text", "1.0.0");
}
AcceptWeight plain(std::string_view accept) { return accept_weight(accept, "text/plain", "0.0.4"); }

TEST(Accept, TheMostSpecificRangeSaysTheWeight) {
    EXPECT_EQ(open("application/openmetrics-text;q=0.5, */*"), (AcceptWeight{0.5, 2}));
    EXPECT_EQ(open("*/*;q=0.1, application/*;q=0.7"), (AcceptWeight{0.7, 1}));
    EXPECT_EQ(open("text/html"), (AcceptWeight{0, 0}));
    EXPECT_EQ(open("APPLICATION/OpenMetrics-Text ; Q=0.25"), (AcceptWeight{0.25, 2}));
    EXPECT_EQ(open("application/openmetrics-text;q=0, */*").weight, 0);
}

TEST(Accept, WithoutAFieldAllAreWantedAlike) {
    EXPECT_EQ(open(""), plain(""));
    EXPECT_EQ(open("*/*"), plain("*/*"));
}

TEST(Accept, AnotherVersionIsAnotherType) {
    EXPECT_EQ(open("application/openmetrics-text;version=0.0.1").weight, 0);
    EXPECT_EQ(open("application/openmetrics-text; version=\"1.0.0\"; q=0.4"),
              (AcceptWeight{0.4, 2}));
    // What Prometheus 3 sends, from the first to the last it would take
    const std::string_view sent =
        "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,"
        "application/openmetrics-text;version=0.0.1;q=0.5,"
        "text/plain;version=1.0.0;escaping=allow-utf-8;q=0.4,text/plain;version=0.0.4;q=0.3,"
        "*/*;q=0.2";
    EXPECT_EQ(open(sent), (AcceptWeight{0.6, 2}));
    EXPECT_EQ(plain(sent), (AcceptWeight{0.3, 2}));
    EXPECT_GT(open(sent), plain(sent));
}

TEST(Accept, WhatIsNoWeightWeighsNothing) {
    for (const char* field :
         {"application/openmetrics-text;q=", "application/openmetrics-text;q=2",
          "application/openmetrics-text;q=-1", "application/openmetrics-text;q=0.5x", ",;,;=", "/"})
        EXPECT_EQ(open(field).weight, 0) << field;
}

}  // namespace
}  // namespace crab::net
