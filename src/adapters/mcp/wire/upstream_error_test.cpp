#include "adapters/mcp/wire/upstream_error.hpp"

#include <gtest/gtest.h>

namespace crab::mcp {
namespace {

using enum Revision;
using enum UpstreamErrorUse;

RpcError error(std::int64_t code, std::string data = {}) {
    return {.code = code, .message = "m", .data = std::move(data)};
}

TEST(McpUpstreamError, CodesBetweenTheGatewayAndItsUpstreamGoNoFurther) {
    for (const std::int64_t code :
         {-32020, -32022, -32000, -32001, -32003, -32019, -32700, -32600, -32601}) {
        for (const Revision client : {k2024_11_05, k2026_07_28})
            EXPECT_EQ(bridge_error(error(code), {.method = "tools/call", .client = client}).use,
                      kOwn)
                << code;
    }
}

TEST(McpUpstreamError, OtherErrorsPassWithCodeMessageAndData) {
    for (const std::int64_t code : {-32602, -32603, -32050, 1, 42}) {
        const BridgedError bridged =
            bridge_error(error(code, R"({"a": 1})"), {.method = "tools/call"});
        EXPECT_EQ(bridged.use, kPass) << code;
        EXPECT_EQ(bridged.error, error(code, R"({"a": 1})"));
    }
}

TEST(McpUpstreamError, AResourceThatIsNotThereHasTheCodeOfTheClientsEra) {
    const auto code_for = [](RpcError given, Era upstream, Revision client) {
        return bridge_error(std::move(given),
                            {.method = "resources/read", .upstream = upstream, .client = client})
            .error.code;
    };
    const std::string uri = R"({"uri":"a:b"})";
    EXPECT_EQ(code_for(error(-32002, uri), Era::kLegacy, k2025_11_25), -32002);
    EXPECT_EQ(code_for(error(-32002, uri), Era::kLegacy, k2026_07_28), -32602);
    EXPECT_EQ(code_for(error(-32602, uri), Era::kModern, k2026_07_28), -32602);
    EXPECT_EQ(code_for(error(-32602, uri), Era::kModern, k2025_06_18), -32002);
    EXPECT_EQ(code_for(error(-32602), Era::kModern, k2025_06_18), -32602) << "bad params";
    EXPECT_EQ(code_for(error(-32602, uri), Era::kLegacy, k2025_06_18), -32602);
}

TEST(McpUpstreamError, AMissingCapabilityIsToldToWhoLacksIt) {
    const RpcError missing =
        error(-32021, R"({"requiredCapabilities":{"sampling":{},"elicitation":{"form":{}}}})");
    EXPECT_EQ(bridge_error(missing, {.client = k2026_07_28}).use, kPass);
    EXPECT_EQ(bridge_error(missing, {.client = k2026_07_28, .client_has_capability = true}).use,
              kOwn);
    const BridgedError legacy = bridge_error(missing, {.client = k2025_11_25});
    EXPECT_EQ(legacy.use, kErrorResult);
    EXPECT_TRUE(legacy.text.contains("sampling, elicitation")) << legacy.text;
    EXPECT_FALSE(bridge_error(error(-32021), {.client = k2025_11_25}).text.empty());
}

TEST(McpUpstreamError, UrlsAreAskedForPassedOrTold) {
    const RpcError needed = error(
        -32042, R"({"elicitations":[{"mode":"url","url":"https://a/b"},{"url":"https://c"}]})");
    const BridgedError modern = bridge_error(needed, {.client = k2026_07_28});
    EXPECT_EQ(modern.use, kAskForUrls);
    EXPECT_TRUE(modern.text.ends_with("\nhttps://a/b\nhttps://c")) << "if it cannot be asked";
    EXPECT_EQ(bridge_error(needed, {.client = k2025_11_25}).use, kPass);
    const BridgedError old = bridge_error(needed, {.client = k2025_06_18});
    EXPECT_EQ(old.use, kErrorResult);
    EXPECT_TRUE(old.text.ends_with("\nhttps://a/b\nhttps://c")) << old.text;
}

}  // namespace
}  // namespace crab::mcp
