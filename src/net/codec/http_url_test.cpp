#include "net/codec/http_url.hpp"

#include <gtest/gtest.h>

namespace crab::net {
namespace {

TEST(HttpUrl, Parts) {
    const auto url = HttpUrl::parse("HTTPS://Example.ORG:8443/a/b?c=d");
    ASSERT_TRUE(url);
    EXPECT_TRUE(url->tls);
    EXPECT_EQ(url->host, "example.org");
    EXPECT_EQ(url->port, 8443);
    EXPECT_EQ(url->target(), "/a/b?c=d");
    EXPECT_EQ(url->origin(), "https://example.org:8443");
}

TEST(HttpUrl, ThePortOfTheSchemeIsImplied) {
    EXPECT_EQ(HttpUrl::parse("https://a")->host_field(), "a");
    EXPECT_EQ(HttpUrl::parse("http://a:80/")->origin(), "http://a");
    EXPECT_EQ(HttpUrl::parse("http://[::1]:8080")->host_field(), "[::1]:8080");
    EXPECT_EQ(HttpUrl::parse("http://a?b")->target(), "/?b");
    EXPECT_EQ(HttpUrl::parse("http://a")->target(), "/");
}

TEST(HttpUrl, IsNothingElse) {
    for (const char* text : {"", "a", "ftp://a/", "http://", "http://user:word@a/", "http://a/ b",
                             "http://a/\x7f", "http://a/#b", "http://a\\b", "file:///etc/passwd"})
        EXPECT_FALSE(HttpUrl::parse(text)) << text;
    EXPECT_FALSE(HttpUrl::parse("http://a/" + std::string(4096, 'b')));
}

TEST(HttpUrl, AnOriginIsSchemeHostAndPort) {
    const auto same = [](const char* one, const char* other) {
        return HttpUrl::parse(one)->same_origin(*HttpUrl::parse(other));
    };
    EXPECT_TRUE(same("https://A/x", "https://a:443/y?z"));
    EXPECT_FALSE(same("https://a", "http://a"));
    EXPECT_FALSE(same("https://a", "https://b"));
    EXPECT_FALSE(same("https://a", "https://a:444"));
}

}  // namespace
}  // namespace crab::net
