#include "adapters/mcp/client/upstream_url.hpp"

#include <gtest/gtest.h>

namespace crab::mcp {
namespace {

TEST(McpUpstreamUrl, PartsOfAnUrl) {
    const auto url = parse_upstream_url("HTTPS://Example.com/mcp?x=1#part");
    ASSERT_TRUE(url);
    EXPECT_TRUE(url->tls);
    EXPECT_EQ(url->host_field(), "example.com");
    EXPECT_EQ(url->target(), "/mcp?x=1");
    EXPECT_EQ(parse_upstream_url("http://[::1]:8080").value().host_field(), "[::1]:8080");
    EXPECT_EQ(parse_upstream_url("http://a").value().target(), "/");
    for (const char* bad : {"", "a", "ftp://a/", "http://", "http://user:word@a/", "http://a/ b",
                            "file:///etc/passwd"})
        EXPECT_FALSE(parse_upstream_url(bad)) << bad;
}

TEST(McpUpstreamUrl, References) {
    const net::HttpUrl base = parse_upstream_url("http://a:8080/x/sse?y").value();
    const auto target = [&](const char* text) { return resolve_reference(base, text)->target(); };
    EXPECT_EQ(target("/m?s=1"), "/m?s=1");
    EXPECT_EQ(target("m?s=http://b/"), "/x/m?s=http://b/");
    EXPECT_EQ(target("?s=1"), "/x/sse?s=1");
    EXPECT_TRUE(resolve_reference(base, "http://A:8080/m")->same_origin(base));
    EXPECT_FALSE(resolve_reference(base, "//b:8080/m")->same_origin(base));
    EXPECT_FALSE(resolve_reference(base, "https://a:8080/m")->same_origin(base));
    EXPECT_FALSE(resolve_reference(base, "/m\r\nHost: b"));
    EXPECT_FALSE(resolve_reference(base, "javascript:alert(1)"));
}

}  // namespace
}  // namespace crab::mcp
