#include "net/loop/ip_address.hpp"

#include <gtest/gtest.h>

namespace crab::net {
namespace {

bool open_internet(std::string_view text) { return is_public(parse_ip_address(text).value()); }
bool loopback(std::string_view text) { return is_loopback(parse_ip_address(text).value()); }

TEST(IpAddress, WhatIsNotOfTheOpenInternetIsKnown) {
    for (const char* text : {"127.0.0.1",
                             "127.8.8.8",
                             "10.1.2.3",
                             "172.16.0.1",
                             "172.31.255.255",
                             "192.168.1.1",
                             "169.254.169.254",
                             "100.64.0.1",
                             "0.0.0.0",
                             "224.0.0.1",
                             "255.255.255.255",
                             "198.18.0.1",
                             "::",
                             "::1",
                             "fe80::1",
                             "fc00::1",
                             "fd12::1",
                             "ff02::1",
                             "::ffff:127.0.0.1",
                             "64:ff9b::10.0.0.1",
                             "2002:7f00:1::",
                             "::127.0.0.1"}) {
        EXPECT_FALSE(open_internet(text)) << text;
    }
    for (const char* text : {"8.8.8.8", "172.32.0.1", "100.128.0.1", "203.0.113.80", "2606:4700::1",
                             "::ffff:8.8.8.8", "64:ff9b::8.8.8.8", "2002:808:808::"}) {
        EXPECT_TRUE(open_internet(text)) << text;
    }
}

TEST(IpAddress, SpellingsThatOnlySomeProgramsTakeForAnAddressAreNames) {
    for (const char* text : {"127.1", "0x7f.0.0.1", "2130706433", "0177.0.0.1", ""})
        EXPECT_EQ(parse_ip_address(text), std::nullopt) << text;
}

TEST(IpAddress, LoopbackIsOneNetworkAndOneAddress) {
    for (const char* text : {"127.0.0.1", "127.8.8.8", "::1", "::ffff:127.0.0.1"})
        EXPECT_TRUE(loopback(text)) << text;
    for (const char* text : {"128.0.0.1", "::", "::2", "10.0.0.1", "fe80::1"})
        EXPECT_FALSE(loopback(text)) << text;
}

TEST(IpAddress, ThisMachineIsNamedByLocalhostAndLoopbackAddressesAlone) {
    for (const char* host :
         {"localhost", "LocalHost", "127.0.0.1", "127.8.8.8", "::1", "[::1]", "::ffff:127.0.0.1"})
        EXPECT_TRUE(names_loopback(host)) << host;
    for (const char* host : {"", "localhost.example", "localhost.", "127.0.0.1.example", "127.1",
                             "10.0.0.1", "192.168.1.1", "fe80::1", "0.0.0.0", "[::]"})
        EXPECT_FALSE(names_loopback(host)) << host;
}

}  // namespace
}  // namespace crab::net
