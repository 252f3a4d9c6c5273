#include "trust/request_authentication.hpp"

#include "base/test_clock.hpp"
#include "trust/test_token_store.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace crab::trust {
namespace {

using core::Role;
using testing::HasSubstr;

TEST(BearerOf, TheSchemeIsReadWithoutCaseAndTheTokenWithoutTheBlanksBeforeIt) {
    for (const char* field : {"Bearer abc", "bearer abc", "BEARER   abc"})
        EXPECT_EQ(bearer_of(field), "abc") << field;
    for (const char* field :
         {"", "Bearer", "Bearer ", "Bearerabc", "Basic abc", "abc", " Bearer abc", "Bearer\tabc"})
        EXPECT_EQ(bearer_of(field), "") << field;
}

class RequestAuthenticationTest : public testing::Test {
protected:
    FakeClock clock;
    TokenStoreMemory store;
    std::unique_ptr<Tokens> tokens = std::move(Tokens::load(store, clock).value());
    const std::string token = tokens->issue({.name = "phone"}).value().token.reveal();
    CredentialCache credentials{*tokens, clock};
    static RequestPeer near() { return {.loopback = true, .text = "127.0.0.1"}; }
    static RequestPeer far() { return {.loopback = false, .text = "192.0.2.7"}; }
};

TEST_F(RequestAuthenticationTest, AGoodTokenGivesItsPrincipalFromAnywhere) {
    for (const bool open : {false, true}) {
        RequestAuthentication authentication(credentials, open);
        for (const auto peer : {near, far})
            EXPECT_EQ(authentication.authenticate(token, peer).value().principal->id,
                      "device/phone");
    }
}

TEST_F(RequestAuthenticationTest, ABadTokenIsRefusedWhereNoneWouldDo) {
    const RequestAuthentication open(credentials, true);
    EXPECT_EQ(open.authenticate("wrong", near).error().code, ErrorCode::kUnauthenticated);
    EXPECT_TRUE(open.authenticate("", near));
}

TEST_F(RequestAuthenticationTest, WithoutATokenOnlyAListenerOpenForLoopbackLetsIn) {
    const RequestAuthentication closed(credentials, false);
    const RequestAuthentication open(credentials, true);
    EXPECT_EQ(closed.authenticate("", near).error().code, ErrorCode::kUnauthenticated);
    EXPECT_THAT(closed.authenticate("", near).error().message, HasSubstr("crab devices pair"));
    EXPECT_EQ(open.authenticate("", far).error().code, ErrorCode::kUnauthenticated);

    const auto principal = open.authenticate("", near).value().principal;
    EXPECT_EQ(principal->id, "local/127.0.0.1");
    EXPECT_EQ(principal->proof, core::Proof::kOpenLoopback);
    EXPECT_TRUE(principal->may(Role::kDevice));
    EXPECT_TRUE(principal->may(Role::kCaller));
    EXPECT_FALSE(principal->may(Role::kOperator));
    EXPECT_EQ(principal->device, "");
    EXPECT_EQ(principal->credential_id, "");
    EXPECT_TRUE(principal->may_act_in("default"));
    EXPECT_FALSE(principal->may_act_in("system"));
}

TEST_F(RequestAuthenticationTest, ARevokedTokenIsRefusedAtOnce) {
    const RequestAuthentication open(credentials, true);
    const auto principal = open.authenticate(token, near).value().principal;
    ASSERT_TRUE(tokens->revoke(principal->credential_id));
    EXPECT_EQ(open.authenticate(token, near).error().code, ErrorCode::kUnauthenticated);
}

TEST(LocalOperator, TheUserOfTheAdminSocketIsTheOperator) {
    const auto principal = local_operator(1000);
    EXPECT_EQ(principal->id, "local/1000");
    EXPECT_EQ(principal->proof, core::Proof::kLocalSocket);
    EXPECT_TRUE(principal->may(Role::kCaller));
    EXPECT_TRUE(principal->tenant.empty());
}

}  // namespace
}  // namespace crab::trust
