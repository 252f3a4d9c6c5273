#include "trust/origin_policy.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace crab::trust {
namespace {

const std::vector<std::string> kNames{"crab.example", "192.0.2.10"};
const std::vector<std::string> kAllowed{"https://console.example", "http://localhost:5173",
                                        "app://crab"};

TEST(OriginPolicyTest, HostMustBeLoopbackOrAConfiguredNameWhateverThePort) {
    for (const char* host :
         {"localhost", "LOCALHOST:42617", "127.0.0.1:1", "127.3.2.1", "[::1]:42617", "[::1]",
          "crab.example", "Crab.Example.:8443", "192.0.2.10:80"}) {
        EXPECT_TRUE(is_host_allowed(host, kNames)) << host;
    }
    for (const char* host :
         {"", "evil.example", "127.evil.example", "127.0.0.1.evil.example", "127.0.0",
          "127.0.0.1000", "localhost.evil.example", "evil.example:42617", "crab.example:",
          "crab.example:0", "crab.example:65536", "crab.example:80x", "crab.example@evil.example",
          "crab.example/", "[::2]", "[::1", "::1", "localhost, evil.example", "127..0.1"}) {
        EXPECT_FALSE(is_host_allowed(host, kNames)) << host;
    }
}

TEST(OriginPolicyTest, NativeClientsSendNoOriginAndMayComeIn) {
    EXPECT_TRUE(is_origin_allowed(std::nullopt, "http", "localhost:42617", {}));
}

TEST(OriginPolicyTest, TheGatewaysOwnOriginIsAllowedAndEqualInSchemeHostAndPort) {
    EXPECT_TRUE(is_origin_allowed("http://localhost:42617", "http", "localhost:42617", {}));
    EXPECT_TRUE(is_origin_allowed("HTTPS://Crab.Example", "https", "crab.example:443", {}));
    EXPECT_TRUE(is_origin_allowed("http://[::1]:42617", "http", "[::1]:42617", {}));
    EXPECT_FALSE(is_origin_allowed("https://localhost:42617", "http", "localhost:42617", {}));
    EXPECT_FALSE(is_origin_allowed("http://localhost:3000", "http", "localhost:42617", {}));
    EXPECT_FALSE(is_origin_allowed("http://127.0.0.1:42617", "http", "localhost:42617", {}));
}

TEST(OriginPolicyTest, AllowedOriginsAreComparedExactly) {
    for (const char* origin : {"https://console.example", "https://console.example:443",
                               "http://localhost:5173", "app://crab"}) {
        EXPECT_TRUE(is_origin_allowed(origin, "http", "localhost:42617", kAllowed)) << origin;
    }
    for (const char* origin :
         {"http://console.example", "https://console.example:8443", "https://sub.console.example",
          "https://console.example.evil.example", "http://localhost", "app://crabs",
          "https://evil.example"}) {
        EXPECT_FALSE(is_origin_allowed(origin, "http", "localhost:42617", kAllowed)) << origin;
    }
}

TEST(OriginPolicyTest, NullEmptyAndMalformedOriginsAreRefused) {
    for (const char* origin :
         {"null", "", "https://", "https://console.example/", "https://user@console.example",
          "console.example", "https://console.example https://evil.example", "file://",
          "://console.example", "https:///console.example"}) {
        EXPECT_FALSE(is_origin_allowed(origin, "http", "localhost:42617", kAllowed)) << origin;
    }
}

}  // namespace
}  // namespace crab::trust
