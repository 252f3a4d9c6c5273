#include "adapters/mcp/server/client_identity.hpp"

#include "adapters/mcp/server/test_support.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tuple>

namespace crab::mcp {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

TEST(McpClientIdentity, IsOneShortLineOfWhatIsSeen) {
    const auto named = [](std::string_view text) {
        return ClientIdentity::read(fmt::format(R"({{"version":"2","name":"{}"}})", text)).name;
    };
    EXPECT_EQ(named("Ada's editor"), "Ada's editor");
    EXPECT_EQ(named("m\u00fcll"), "m\u00fcll");
    EXPECT_EQ(named("dash\\u001b[2J\\u202eboard\\u200b\\n\\tx\u202e"), "dash[2Jboardx");
    EXPECT_EQ(named("a\\ud800b"), "ab") << "half a character";
    EXPECT_EQ(named(std::string(64, 'n')).size(), 64u);
    EXPECT_EQ(named(std::string(65, 'n')), "");
    EXPECT_EQ(named(std::string(3 << 20, 'n')), "");
    EXPECT_EQ(ClientIdentity::read(R"({"name":"a","version":"1.2"})").version, "1.2");
    for (const std::string_view none : {"", "7", "[]", "{}", R"({"name":7,"version":{}})"}) {
        const ClientIdentity client = ClientIdentity::read(none);
        EXPECT_EQ(std::tie(client.name, client.version), std::tuple("", "")) << none;
    }
}

TEST(McpClientIdentity, WhatWasSaidLastIsNotTakenForWhatIsSaidNow) {
    ClientIdentities identities;
    const std::string large = fmt::format(R"({{"name":"large","x":"{}"}})", std::string(2000, 'x'));
    for (int i = 0; i < 2; ++i) {
        EXPECT_EQ(identities.read("").name, "");
        EXPECT_EQ(identities.read(R"({"name":"a"})").name, "a");
        EXPECT_EQ(identities.read(R"({"name":"a"})").name, "a");
        EXPECT_EQ(identities.read(R"({"name":"b"})").name, "b");
        EXPECT_EQ(identities.read(large).name, "large");
    }
}

/// What the records of calls say of clients.
struct McpCallRecords : test::ServerTest {
    std::string last_record() {
        audit.flush_and_wait();
        return records->records().back();
    }
};

TEST_F(McpCallRecords, NameTheClientAndWhatItSpeaks) {
    ask("POST", modern_fields("tools/call", "echo"),
        modern_body("tools/call", R"("name":"echo")",
                    R"(,"io.modelcontextprotocol/clientInfo":)"
                    R"({"name":"ed\u202eit","version":"2"})"));
    EXPECT_THAT(last_record(), AllOf(HasSubstr(R"("front":"mcp")"),
                                     HasSubstr(R"("client":{"name":"edit","version":"2",)"
                                               R"("revision":"2026-07-28","era":"modern"})"),
                                     Not(HasSubstr("upstream"))));
    modern("tools/call", R"("name":"echo")", "echo");
    EXPECT_THAT(last_record(),
                HasSubstr(R"("client":{"name":"","revision":"2026-07-28","era":"modern"})"));
    post(open("2025-06-18"), request(1, "tools/call", R"({"name":"echo"})"));
    EXPECT_THAT(last_record(), HasSubstr(R"("client":{"name":"t","version":"1",)"
                                         R"("revision":"2025-06-18","era":"legacy"})"));
}

}  // namespace
}  // namespace crab::mcp
