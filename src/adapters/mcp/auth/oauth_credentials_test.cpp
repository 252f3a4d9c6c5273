#include "adapters/mcp/auth/oauth_credentials_file.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

namespace crab::mcp {
namespace {

class McpOAuthCredentials : public ::testing::Test {
protected:
    McpOAuthCredentials() {
        std::string name = (std::filesystem::temp_directory_path() / "crab-oauth-XXXXXX").string();
        path_ = ::mkdtemp(name.data());
    }
    ~McpOAuthCredentials() override { std::filesystem::remove_all(path_); }
    /// Opens the file, runs `use` and waits until all is written.
    template <class Use>
    void with_file(Use use) {
        BlockingPool pool(2);
        auto folder = crypto::KeyFolder::open(path_);
        ASSERT_TRUE(folder);
        auto opened = OAuthCredentialsFile::open(std::move(*folder), pool);
        ASSERT_TRUE(opened) << opened.error().message;
        use(**opened);
    }

    std::filesystem::path path_;
    const TokenKey key_{.source = "files", .owner = "caller/ann"};
};

TEST_F(McpOAuthCredentials, TheFileKeepsThemForItsOwnerAlone) {
    const SystemTime expires{std::chrono::seconds(1'800'000'000)};
    with_file([&](OAuthCredentials& credentials) {
        EXPECT_FALSE(credentials.find_tokens(key_));
        credentials.save_client("https://a", {.id = "c", .secret = Secret<std::string>("s")});
        credentials.save_tokens(key_, {.issuer = "https://a",
                                       .resource = "https://r",
                                       .client_id = "c",
                                       .access = Secret<std::string>("at"),
                                       .refresh = Secret<std::string>("rt"),
                                       .expires_at = expires,
                                       .scope = "x",
                                       .wanted_scope = "y",
                                       .step_ups = 2});
    });
    const auto file = path_ / "oauth.json";
    EXPECT_EQ(std::filesystem::status(file).permissions(),
              std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
    with_file([&](OAuthCredentials& credentials) {
        EXPECT_EQ(credentials.find_client("https://a")->secret.reveal(), "s");
        EXPECT_FALSE(credentials.find_client("https://a/")) << "issuers are compared as they are";
        EXPECT_FALSE(credentials.find_client("https://b"));
        EXPECT_FALSE(credentials.find_tokens({.source = "files", .owner = "caller/bob"}));
        const auto tokens = credentials.find_tokens(key_);
        ASSERT_TRUE(tokens);
        EXPECT_EQ(tokens->access.reveal(), "at");
        EXPECT_EQ(tokens->refresh.reveal(), "rt");
        EXPECT_EQ(tokens->issuer, "https://a");
        EXPECT_EQ(tokens->resource, "https://r");
        EXPECT_EQ(tokens->client_id, "c");
        EXPECT_EQ(tokens->expires_at, expires);
        EXPECT_EQ(tokens->scope, "x");
        EXPECT_EQ(tokens->wanted_scope, "y");
        EXPECT_EQ(tokens->step_ups, 2);
        credentials.forget_tokens(key_);
    });
    with_file([&](OAuthCredentials& credentials) { EXPECT_FALSE(credentials.find_tokens(key_)); });
}

TEST_F(McpOAuthCredentials, AFileThatCannotBeReadIsNotReplaced) {
    auto folder = crypto::KeyFolder::open(path_);
    ASSERT_TRUE(folder->write("oauth.json", "{}", crypto::KeyFolder::Access::kPrivate));
    BlockingPool pool(1);
    const auto opened = OAuthCredentialsFile::open(std::move(*folder), pool);
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().code, ErrorCode::kInvalidArgs);
}

}  // namespace
}  // namespace crab::mcp
