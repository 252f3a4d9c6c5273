#include "hosting/server_files.hpp"

#include "base/process/test_folder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace crab::hosting {
namespace {

namespace fs = std::filesystem;

class ServerFilesTest : public testing::Test {
protected:
    void SetUp() override {
        for (const char* name : {"tree", "tree/inner", "elsewhere"}) fs::create_directory(at(name));
        for (const char* name : {"tree/server.sh", "elsewhere/server.sh"}) {
            std::ofstream(at(name)) << "#!/bin/sh\n";
            fs::permissions(at(name), fs::perms::owner_all);
        }
        config.worktrees.push_back({.id = "desk/tree", .path = at("tree")});
    }
    fs::path at(const char* name) const { return folder.path() / name; }
    bool is_apart(const config::McpServerOptions& server) const {
        const auto apart = check_apart_from_others(config, others, "mine", server);
        if (!apart) EXPECT_THAT(apart.error().message, testing::HasSubstr(met));
        return apart.has_value();
    }

    TestFolder folder;
    config::GatewayConfig config;
    config::McpServers others;
    config::McpServerOptions server;
    const char* met = "desk/tree";  ///< what a refusal names
};

TEST_F(ServerFilesTest, WhatAServerWithoutSandboxIsMadeOfLiesInNoWritableWorktree) {
    server.command = at("elsewhere/server.sh");
    EXPECT_TRUE(is_apart(server));
    server.command = at("tree/server.sh");
    EXPECT_FALSE(is_apart(server));
    server.command = "/bin/sh";
    server.args = {at("tree/server.sh")};
    EXPECT_FALSE(is_apart(server));
    server.args = {"-c", at("tree")};  // what it works on
    EXPECT_TRUE(is_apart(server));
    server.cwd = at("tree");
    EXPECT_FALSE(is_apart(server));
    config.worktrees.front().read_only = true;
    EXPECT_TRUE(is_apart(server));
}

TEST_F(ServerFilesTest, ALinkIntoAWorktreeIsNoWayAround) {
    fs::create_symlink(at("tree/server.sh"), at("elsewhere/linked.sh"));
    server.command = at("elsewhere/linked.sh");
    EXPECT_FALSE(is_apart(server));
}

TEST_F(ServerFilesTest, KeysAreReadAndCertificatesReplacedByNobody) {
    server.url = "https://example.org/mcp";
    server.tls.ca = at("tree/server.sh");
    EXPECT_FALSE(is_apart(server));
    config.worktrees.front().read_only = true;
    EXPECT_TRUE(is_apart(server));
    server.tls.key = at("tree/server.sh");
    EXPECT_FALSE(is_apart(server)) << "reading is enough";
}

TEST_F(ServerFilesTest, WhatASandboxShowsIsNoFolderThatACommandCanExchange) {
    server.command = at("tree/server.sh");
    server.sandbox.emplace();
    EXPECT_TRUE(is_apart(server)) << "its sandbox holds it";
    server.sandbox->read = {at("tree")};
    EXPECT_TRUE(is_apart(server)) << "the root has no name in the worktree";
    server.sandbox->read = {at("tree/inner")};
    EXPECT_FALSE(is_apart(server));
    config.worktrees.front().read_only = true;
    EXPECT_TRUE(is_apart(server));
    server.sandbox->write = {folder.path()};
    EXPECT_FALSE(is_apart(server)) << "the server could exchange the worktree";
}

TEST_F(ServerFilesTest, TheSandboxOfAnotherServerChangesNothingThatThisOneIsMadeOf) {
    config.worktrees.clear();
    met = "sandbox shows";
    auto& sandbox = others["other"].sandbox.emplace();
    others["mine"].sandbox.emplace().write = {at("tree")};  // itself, as it is listed
    server.command = at("tree/server.sh");
    sandbox.read = {at("tree")};
    EXPECT_TRUE(is_apart(server)) << "to read a program is no harm";
    sandbox.write = {at("tree")};
    EXPECT_FALSE(is_apart(server));
    server.sandbox.emplace().write = {at("tree")};
    EXPECT_TRUE(is_apart(server)) << "both work in one folder";
    server.sandbox->read = {at("tree/inner")};
    EXPECT_FALSE(is_apart(server));
    others["other"].enabled = false;
    EXPECT_TRUE(is_apart(server));
}

TEST_F(ServerFilesTest, ASandboxThatIsAddedReachesNoProgramOfAnotherServer) {
    config.worktrees.clear();
    met = "mcp.servers.mine.sandbox";
    others["other"].command = at("tree/server.sh");
    server.command = at("elsewhere/server.sh");
    server.sandbox.emplace().read = {at("tree")};
    EXPECT_TRUE(is_apart(server));
    server.sandbox->write = {at("tree")};
    EXPECT_FALSE(is_apart(server));
}

TEST_F(ServerFilesTest, OfAllServersEachIsNamedThatAnotherReaches) {
    config.worktrees.clear();
    others["run"].command = at("tree/server.sh");
    others["writer"].sandbox.emplace().write = {at("tree")};
    others["apart"].command = at("elsewhere/server.sh");
    others["off"].sandbox.emplace().write = {at("elsewhere")};
    others["off"].enabled = false;
    auto found = find_not_apart(config, others);
    ASSERT_EQ(found.size(), 1U);
    EXPECT_THAT(found.at("run").message, testing::HasSubstr("mcp.servers.writer.sandbox"));
    others["writer"].sandbox->write = {at("tree"), at("tree/inner")};
    others.erase("run");
    EXPECT_TRUE(find_not_apart(config, others).empty()) << "what is its own is no other's";
    others["off"].enabled = true;
    others["reader"].sandbox.emplace().read = {at("tree/inner")};
    found = find_not_apart(config, others);
    EXPECT_TRUE(found.contains("reader")) << "the writer could exchange it";
    EXPECT_TRUE(found.contains("apart"));
}

TEST_F(ServerFilesTest, KeysStandWhereTheConfigurationStands) {
    config.source = at("gateway.yaml");
    server.url = "https://example.org/mcp";
    server.tls.key = "tree/server.sh";
    EXPECT_FALSE(is_apart(server));
}

}  // namespace
}  // namespace crab::hosting
