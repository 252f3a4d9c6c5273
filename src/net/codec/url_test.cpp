#include "net/codec/url.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace crab::net {
namespace {

using namespace std::string_literals;

TEST(Url, PathsKeepThePlusAndRefuseWhatIsNotEncodedProperly) {
    EXPECT_EQ(percent_decode("a%2Db+c%C3%a9"), "a-b+c\xc3\xa9");
    EXPECT_EQ(percent_decode(""), "");
    for (const std::string_view bad : {"%", "a%2", "%zz", "%2", "%%41", "%00", "a%00b", "%-1"})
        EXPECT_EQ(percent_decode(bad), std::nullopt) << bad;
}

TEST(Url, FormsTurnPlusIntoSpaceAndLeaveBrokenPercentsAlone) {
    EXPECT_EQ(form_decode("Kitchen+tablet%2B%21"), "Kitchen tablet+!");
    EXPECT_EQ(form_decode("100%"), "100%");
    EXPECT_EQ(form_decode("%zz%4"), "%zz%4");
    EXPECT_EQ(form_decode("%00"), "\0"s);
}

TEST(Url, WhatIsEncodedDecodesToItself) {
    std::string all;
    for (int c = 1; c < 256; ++c) all += static_cast<char>(c);
    EXPECT_EQ(percent_decode(percent_encode(all)), all);
    EXPECT_EQ(form_decode(percent_encode(all)), all);
    EXPECT_EQ(percent_encode("a-b_c.d~ /+"), "a-b_c.d~%20%2F%2B");
}

TEST(Url, QueriesAreReadInOrder) {
    std::vector<std::pair<std::string, std::string>> seen;
    for_each_query("a=1&b&&=x&c=2=3&", [&](std::string_view name, std::string_view value) {
        seen.emplace_back(name, value);
        return true;
    });
    EXPECT_EQ(seen, (std::vector<std::pair<std::string, std::string>>{
                        {"a", "1"}, {"b", ""}, {"", "x"}, {"c", "2=3"}}));
    int visits = 0;
    for_each_query("a&b&c", [&](std::string_view, std::string_view) { return ++visits < 2; });
    EXPECT_EQ(visits, 2);
}

TEST(Url, AParameterIsFoundByItsDecodedName) {
    EXPECT_EQ(find_query("session_id=a%2Db&name=Kitchen+tablet", "session_id"), "a-b");
    EXPECT_EQ(find_query("session_id=a%2Db&name=Kitchen+tablet", "name"), "Kitchen tablet");
    EXPECT_EQ(find_query("session%5Fid=x&session_id=y", "session_id"), "x")
        << "the first one decides";
    EXPECT_EQ(find_query("token", "token"), "");
    EXPECT_EQ(find_query("tokens=1", "token"), std::nullopt);
    EXPECT_EQ(find_query("", "token"), std::nullopt);
}

TEST(Url, HostsAreNamesOrAddressesWithAPort) {
    const auto host = [](std::string_view text) {
        const auto parsed = parse_host(text);
        return parsed ? std::string(parsed->host) + "|" +
                            (parsed->port ? std::to_string(*parsed->port) : "")
                      : "none";
    };
    EXPECT_EQ(host("example.org"), "example.org|");
    EXPECT_EQ(host("my_host-1.local:42617"), "my_host-1.local|42617");
    EXPECT_EQ(host("127.0.0.1:1"), "127.0.0.1|1");
    EXPECT_EQ(host("[::1]"), "::1|");
    EXPECT_EQ(host("[2001:db8::1]:65535"), "2001:db8::1|65535");
    EXPECT_EQ(host("h:0"), "h|0");
    for (const std::string_view bad :
         {"",    ":1",   "h:",     "h:65536", "h:x",  "h:1:2",      "h:-1",
          "::1", "[::1", "[::1]x", "[::1]:",  "[]",   "[h]",        "[::1%eth0]",
          "u@h", "h/a",  "h h",    "h%41",    "h\\a", "[127.0.0.1]"}) {
        EXPECT_EQ(host(bad), "none") << bad;
    }
    EXPECT_EQ(host(std::string(255, 'a')), std::string(255, 'a') + "|");
    EXPECT_EQ(host(std::string(256, 'a')), "none");
}

TEST(Url, OriginsHaveSchemeHostAndPort) {
    const auto origin = parse_origin("https://Example.org");
    ASSERT_TRUE(origin);
    EXPECT_EQ(origin->scheme, "https");
    EXPECT_EQ(origin->host, "Example.org");
    EXPECT_EQ(origin->port, 443);
    EXPECT_EQ(parse_origin("http://[::1]:42617")->host, "::1");
    EXPECT_EQ(parse_origin("http://h")->port, 80);
    EXPECT_EQ(parse_origin("chrome-extension://abcdef")->port, 0);
    for (const std::string_view bad :
         {"null", "", "http://", "://h", "http:/h", "http://h/", "http://h/a", "http://h?q",
          "http://u@h", "1http://h", "ht tp://h", "http://h:", "http://a http://b", "http://h#"}) {
        EXPECT_FALSE(parse_origin(bad)) << bad;
    }
}

}  // namespace
}  // namespace crab::net
