#include "gateway/mcp/mcp_servers.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace crab::gateway {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::Not;
using testing::StartsWith;

TEST(McpServerSettings, AProgramRunsInAFolderOfItsOwnWithFewVariables) {
    config::McpServerOptions server;
    server.command = "npx";
    server.args = {"-y", "a b"};
    server.env["API_KEY"].text = Secret<std::string>("s3cret");
    ::setenv("CRAB_TEST_OF_MCP_SERVERS", "x", 1);
    auto settings = upstream_settings("files", server, {}, "/state/mcp_work").value();
    const mcp::UpstreamChild& child = *settings.connection.child;
    EXPECT_EQ(child.folder, "/state/mcp_work/files")
        << "not the state folder: some programs offer all that is where they run";
    EXPECT_THAT(child.words, ElementsAre("npx", "-y", "a b"));
    EXPECT_THAT(child.environment, Contains("API_KEY=s3cret"));
    EXPECT_THAT(child.environment, Not(Contains(StartsWith("CRAB_TEST_OF_MCP_SERVERS"))));
    server.cwd = "/srv/files";
    server.sandbox.emplace();
    settings = upstream_settings("files", server, {}, "/state/mcp_work").value();
    EXPECT_EQ(settings.connection.child->folder, "/srv/files");
    EXPECT_THAT(settings.connection.child->environment, Contains("HOME=/tmp"));
}

TEST(McpServerSettings, AServerOverHttpHasItsHeadersOrALogin) {
    config::McpServerOptions server;
    server.url = "https://mcp.example/mcp";
    EXPECT_EQ(upstream_auth("hub", server)->kind, mcp::UpstreamAuth::Kind::kUser)
        << "it may ask for one";
    server.auth.headers["X-Key"].text = Secret<std::string>("k");
    EXPECT_EQ(upstream_auth("hub", server)->kind, mcp::UpstreamAuth::Kind::kNone);
    const auto settings = upstream_settings("hub", server, {}, "/state/mcp_work").value();
    EXPECT_FALSE(settings.connection.child);
    EXPECT_THAT(settings.connection.headers, ElementsAre(testing::Pair("X-Key", "k")));
    server.auth = {};
    server.auth.client_credentials.emplace().key_file = "/nonexistent/key.pem";
    EXPECT_EQ(upstream_auth("hub", server).error().code, ErrorCode::kInvalidArgs);
}

}  // namespace
}  // namespace crab::gateway
