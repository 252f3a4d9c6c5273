#include "adapters/mcp/wire/shown_url.hpp"

#include <gtest/gtest.h>

#include <string>

namespace crab::mcp {
namespace {

TEST(McpShownUrl, PagesAreHttpsOrOnThisMachine) {
    for (const char* url : {"https://a.example/login?x=1#y", "HTTPS://a.example:8443",
                            "http://localhost:3000/cb", "http://127.0.0.1/", "http://[::1]:80/x"})
        EXPECT_TRUE(is_shown_url(url)) << url;
    for (const char* url :
         {"", "https://", "https:///path", "http://a.example/", "http://localhost.evil.example/",
          "http://localhost@evil.example/", "https://good.example@evil.example/",
          "javascript:alert(1)", "file:///etc/passwd", "https://a b", "https://a\nb",
          "http://localhost\\.evil.example", "ftp://a.example", "https://\u0430pple.example/",
          "https://a.example/\u202egpj.exe"})
        EXPECT_FALSE(is_shown_url(url)) << url;
    EXPECT_FALSE(is_shown_url("https://a.example/" + std::string(4096, 'x')));
}

}  // namespace
}  // namespace crab::mcp
