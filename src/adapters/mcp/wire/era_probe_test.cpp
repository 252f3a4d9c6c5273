#include "adapters/mcp/wire/era_probe.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace crab::mcp {
namespace {

using enum ProbeEnd;
using Kind = ProbeAnswer::Kind;

ProbeConclusion answered(std::string_view members, int http_status) {
    json::Parser parser;
    const std::string text = fmt::format(R"({{"jsonrpc":"2.0",{}}})", members);
    const auto message = read_message(text, parser);
    EXPECT_TRUE(message) << text;
    return conclude({.http_status = http_status, .message = &*message}, RevisionSet());
}

std::string error(std::int64_t code, std::string_view data = "{}") {
    return fmt::format(R"("id":1,"error":{{"code":{},"message":"m","data":{}}})", code, data);
}

TEST(McpEraProbe, ADiscoverResultIsModern) {
    for (const int status : {0, 200}) {
        const auto modern =
            answered(R"("id":1,"result":{"supportedVersions":["2025-11-25","2026-07-28"],)"
                     R"("capabilities":{}})",
                     status);
        EXPECT_EQ(modern.end, kModern);
        EXPECT_EQ(modern.revision, Revision::k2026_07_28);
        EXPECT_EQ(answered(R"("id":1,"result":{"supportedVersions":["2099-01-01"]})", status).end,
                  kUnusable);
        EXPECT_EQ(answered(R"("id":1,"result":{"ok":true})", status).end, kLegacy)
            << "no DiscoverResult";
    }
}

TEST(McpEraProbe, ErrorsThatOnlyModernServersKnowSayModern) {
    for (const int status : {0, 400}) {
        EXPECT_EQ(answered(error(-32020), status).end, kModern);
        EXPECT_EQ(answered(error(-32021), status).end, kModern);
        EXPECT_EQ(answered(error(-32022, R"({"supported":["2026-07-28"]})"), status).revision,
                  Revision::k2026_07_28);
        EXPECT_EQ(answered(error(-32022, R"({"supported":["2025-06-18"]})"), status).end, kLegacy);
        EXPECT_EQ(answered(error(-32022, R"({"supported":["2099-01-01"]})"), status).end,
                  kUnusable);
        EXPECT_EQ(answered(error(-32022), status).end, kUnusable);
    }
}

TEST(McpEraProbe, OtherErrorsAreLegacy) {
    EXPECT_EQ(answered(error(-32601), 0).end, kLegacy) << "the TypeScript SDK over stdio";
    EXPECT_EQ(answered(R"("id":null,"error":{"code":-32000,"message":"Bad Request"})", 400).end,
              kLegacy)
        << "and over HTTP";
    for (const int status : {400, 404, 405, 406, 415})
        EXPECT_EQ(conclude({.kind = Kind::kOther, .http_status = status}, RevisionSet()).end,
                  kLegacy);
    EXPECT_EQ(conclude({.kind = Kind::kOther, .http_status = 200}, RevisionSet()).end, kLegacy);
}

TEST(McpEraProbe, SilenceAndAnExitAreLegacyOverStdio) {
    EXPECT_EQ(conclude({.kind = Kind::kSilence}, RevisionSet()).end, kLegacy);
    EXPECT_EQ(conclude({.kind = Kind::kExit}, RevisionSet()).end, kLegacyNewChild);
}

TEST(McpEraProbe, WhatSaysNothingOfTheEraIsAskedAgain) {
    for (const int status : {401, 403})
        EXPECT_EQ(conclude({.kind = Kind::kOther, .http_status = status}, RevisionSet()).end,
                  kAuthorizeFirst);
    for (const int status : {408, 429, 500, 502, 503})
        EXPECT_EQ(conclude({.kind = Kind::kOther, .http_status = status}, RevisionSet()).end,
                  kUnknown);
    EXPECT_EQ(conclude({.kind = Kind::kNoAnswer}, RevisionSet()).end, kUnknown);
}

}  // namespace
}  // namespace crab::mcp
