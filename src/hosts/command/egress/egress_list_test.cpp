#include "hosts/command/egress/egress_list.hpp"

#include <gtest/gtest.h>

namespace crab::command {
namespace {

EgressList list(std::vector<std::string> items) { return EgressList::parse(items).value(); }

TEST(EgressList, ANameIsAllowedInAnyCaseWithItsPortOnly) {
    const EgressList names = list({"api.example.org:443"});
    EXPECT_TRUE(names.allows("api.example.org", 443));
    EXPECT_TRUE(names.allows("API.Example.org.", 443));
    EXPECT_FALSE(names.allows("api.example.org", 80));
    EXPECT_FALSE(names.allows("example.org", 443));
    EXPECT_FALSE(names.allows("xapi.example.org", 443));
    EXPECT_FALSE(names.allows("api.example.org.evil.net", 443));
    EXPECT_FALSE(list({}).allows("api.example.org", 443));
}

TEST(EgressList, AStarStandsForAllNamesBelowAndNotForTheNameItself) {
    const EgressList names = list({"*.example.net:443"});
    EXPECT_TRUE(names.allows("a.example.net", 443));
    EXPECT_TRUE(names.allows("b.a.example.net", 443));
    EXPECT_FALSE(names.allows("example.net", 443));
    EXPECT_FALSE(names.allows("notexample.net", 443));
    EXPECT_FALSE(names.allows(".example.net", 443));
}

TEST(EgressList, AnAddressIsAllowedHoweverItIsSpelled) {
    const EgressList addresses = list({"192.0.2.7:80", "[2001:db8::7]:443"});
    EXPECT_TRUE(addresses.allows("192.0.2.7", 80));
    EXPECT_TRUE(addresses.allows("::ffff:192.0.2.7", 80));
    EXPECT_TRUE(addresses.allows("[2001:DB8:0::7]", 443));
    EXPECT_FALSE(addresses.allows("192.0.2.8", 80));
}

TEST(EgressList, AnAddressThatIsNotPublicHasToBeListedItself) {
    const EgressList names = list({"printer.example.org:631", "10.0.0.9:631"});
    EXPECT_FALSE(names.allows_address(net::parse_ip_address("10.0.0.8").value(), 631));
    EXPECT_TRUE(names.allows_address(net::parse_ip_address("10.0.0.9").value(), 631));
    EXPECT_FALSE(names.allows_address(net::parse_ip_address("10.0.0.9").value(), 80));
    EXPECT_TRUE(names.allows_address(net::parse_ip_address("8.8.8.8").value(), 631));
}

TEST(EgressList, WhatIsNoHostAndPortIsNamed) {
    for (const char* text :
         {"example.org", "example.org:", "example.org:0", "example.org:70000", ":443", "*:443",
          "a b:1", "2001:db8::1:443", "https://x:443", "*.*.x:1"}) {
        const auto made = EgressList::parse({text});
        ASSERT_FALSE(made) << text;
        EXPECT_NE(made.error().message.find(text), std::string::npos) << made.error().message;
    }
}

}  // namespace
}  // namespace crab::command
