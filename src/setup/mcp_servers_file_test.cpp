#include "setup/mcp_servers_file.hpp"

#include "base/process/file.hpp"
#include "base/process/test_folder.hpp"

#include <sys/stat.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace crab::setup {
namespace {

using testing::HasSubstr;
using testing::Not;

struct McpServersFileTest : testing::Test {
    TestFolder folder;

    static std::optional<std::string> environment(std::string_view name) {
        return name == "HOME" ? std::optional<std::string>("/home/ada") : std::nullopt;
    }
    McpServersFile open() {
        auto file = McpServersFile::open(folder.path(), environment);
        EXPECT_TRUE(file) << file.error().message;
        return std::move(*file);
    }
    static json::Value value(std::string_view text) { return json::Value::parse(text).value(); }
    std::string stored() const { return read_file(folder.path() / "mcp_servers.json").value(); }
};

TEST_F(McpServersFileTest, WhatWasAddedIsThereAfterARestart) {
    EXPECT_TRUE(open().servers().empty());
    auto file = open();
    const auto put = file.put("files",
                              value(R"({"command":"npx","args":["-y","x"],)"
                                    R"("cwd":"${HOME}","pin":"ask"})"),
                              "crab mcp add");
    ASSERT_TRUE(put) << put.error().message;
    const McpServersFile again = open();
    const AddedMcpServer& added = again.servers().at("files");
    EXPECT_EQ(added.origin, "crab mcp add");
    ASSERT_TRUE(added.read);
    EXPECT_EQ(added.read->command, "npx");
    EXPECT_EQ(added.read->cwd, "/home/ada");
    EXPECT_EQ(added.read->pin, config::McpPin::kAsk);
    struct stat entry{};
    ASSERT_EQ(::stat((folder.path() / "mcp_servers.json").c_str(), &entry), 0);
    EXPECT_EQ(entry.st_mode & 0777, 0600u);
}

TEST_F(McpServersFileTest, SecretsAreKeptApartAndGoWithTheirServer) {
    auto file = open();
    ASSERT_TRUE(
        file.put("a", value(R"({"command":"x","env":{"GITHUB_TOKEN":"s3cret","DEBUG":"1"}})"), ""));
    ASSERT_TRUE(file.put("b",
                         value(R"({"url":"https://x/mcp","auth":{"headers":)"
                               R"({"Authorization":"Bearer s3cret"}}})"),
                         ""));
    EXPECT_THAT(stored(), Not(HasSubstr("s3cret")));
    EXPECT_THAT(stored(), HasSubstr(R"("DEBUG":"1")"));
    const McpServersFile again = open();
    EXPECT_EQ(again.servers().at("a").read->env.at("GITHUB_TOKEN").text.reveal(), "s3cret");
    EXPECT_EQ(again.servers().at("b").read->auth.headers.at("Authorization").text.reveal(),
              "Bearer s3cret");
    const auto secret = folder.path() / "mcp_secrets/a/env.GITHUB_TOKEN";
    struct stat entry{};
    ASSERT_EQ(::stat(secret.c_str(), &entry), 0);
    EXPECT_EQ(entry.st_mode & 0777, 0600u);
    ASSERT_TRUE(file.remove("a"));
    EXPECT_NE(::stat(secret.c_str(), &entry), 0);
    EXPECT_FALSE(open().servers().contains("a"));
    EXPECT_EQ(file.remove("a").error().code, ErrorCode::kNotFound);
}

TEST_F(McpServersFileTest, AnImportRefersToNothingOfTheGatewayAndAllItsVariablesAreSecrets) {
    auto file = open();
    for (const char* server :
         {R"({"url":"https://x/mcp","auth":{"headers":{"A":"Bearer ${file:mcp_secrets/b/t}"}}})",
          R"({"command":"x","args":["${HOME}"]})", R"({"command":"x","env":{"A":"${file:k}"}})"})
        EXPECT_EQ(file.put("a", value(server), "crab mcp import x").error().code,
                  ErrorCode::kInvalidArgs)
            << server;
    EXPECT_TRUE(file.servers().empty());
    const auto put = file.put(
        "a", value(R"({"command":"x","env":{"DATABASE_URL":"postgres://u:s3cret@$${h}"}})"),
        "crab mcp import x");
    ASSERT_TRUE(put) << put.error().message;
    EXPECT_THAT(stored(), Not(HasSubstr("s3cret")));
    EXPECT_EQ(open().servers().at("a").read->env.at("DATABASE_URL").text.reveal(),
              "postgres://u:s3cret@${h}");
}

TEST_F(McpServersFileTest, ArgumentsThatAreSecretsAreKeptApartAndOldOnesGo) {
    auto file = open();
    ASSERT_TRUE(file.put("a",
                         value(R"({"command":"x","args":["--api-key","s3cret","--token=s3cret",)"
                               R"("-y","plain"]})"),
                         ""));
    EXPECT_THAT(stored(), Not(HasSubstr("s3cret")));
    EXPECT_THAT(open().servers().at("a").read->args,
                testing::ElementsAre("--api-key", "s3cret", "--token=s3cret", "-y", "plain"));
    ASSERT_TRUE(file.put("a", value(R"({"command":"x","env":{"A_TOKEN":"other"}})"), ""));
    struct stat entry{};
    EXPECT_NE(::stat((folder.path() / "mcp_secrets/a/arg.1").c_str(), &entry), 0);
    EXPECT_EQ(::stat((folder.path() / "mcp_secrets/a/env.A_TOKEN").c_str(), &entry), 0);
}

TEST_F(McpServersFileTest, AServerThatDoesNotReadIsRefusedAndChangesNothing) {
    auto file = open();
    ASSERT_TRUE(file.put("a", value(R"({"command":"x"})"), ""));
    for (const char* wrong :
         {"{}", "[]", R"({"command":"sh -c 'rm -rf'"})", R"({"command":"x","argv":[]})",
          R"({"command":"x","env":{"A":"${NOWHERE}"}})"}) {
        const auto put = file.put("a", value(wrong), "");
        ASSERT_FALSE(put) << wrong;
        EXPECT_EQ(put.error().code, ErrorCode::kInvalidArgs) << wrong;
    }
    EXPECT_FALSE(file.put("A b", value(R"({"command":"x"})"), ""));
    EXPECT_FALSE(file.put("../x", value(R"({"command":"x","env":{"KEY":"1"}})"), ""));
    EXPECT_EQ(open().servers().at("a").read->command, "x");
    EXPECT_EQ(open().servers().size(), 1u);
}

TEST_F(McpServersFileTest, OneThatHasBecomeUnreadableDoesNotTakeOthersWithIt) {
    ASSERT_TRUE(replace_file(folder.path() / "mcp_servers.json",
                             R"({"servers":{"a":{"server":{"url":"gopher://x"}},)"
                             R"("b":{"server":{"command":"x"}}}})"));
    const McpServersFile file = open();
    EXPECT_FALSE(file.servers().at("a").read);
    EXPECT_TRUE(file.servers().at("b").read);
    ASSERT_TRUE(replace_file(folder.path() / "mcp_servers.json", "no JSON"));
    EXPECT_EQ(McpServersFile::open(folder.path(), environment).error().code, ErrorCode::kInternal);
}

}  // namespace
}  // namespace crab::setup
