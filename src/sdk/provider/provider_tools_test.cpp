#include "sdk/provider/provider_tools.hpp"

#include "adapters/cetp/test_support.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

namespace crab::sdk {
namespace {

using cetp::Envelope;
using cetp::MethodCall;

class ProviderToolsTest : public testing::Test {
protected:
    ProviderToolsTest() {
        tools.add(
            "balance", "One balance",
            R"({"type":"object","properties":{"account":{"type":"string"}},)"
            R"("required":["account"]})",
            [](const CetpCall& call) {
                return CetpAnswer(call.text("account").value_or("?") + " for " + call.request_id());
            });
        tools.add("locked", "Wants consent", R"({"type":"object"})", [](const CetpCall&) {
            return CetpAnswer::error("AUTH_REQUIRED", "no consent")
                .hint("allow it")
                .intent("allow-tools");
        });
        tools.add("broken", "Throws", R"({"type":"object"})",
                  [](const CetpCall&) -> CetpAnswer { throw std::runtime_error("a secret"); });
        tools.add("large", "Gives much", R"({"type":"object"})",
                  [](const CetpCall&) { return CetpAnswer(std::string(100, 'x')); });
    }
    Envelope execute(const std::string& tool, const std::string& args) {
        return tools.answer(MethodCall::execute_tool(tool, args, "c-1"), {});
    }

    ProviderTools tools{"org.example.Ledger", "Ledger", ""};
};

TEST_F(ProviderToolsTest, ABridgeUnderstandsItsList) {
    const Envelope list = tools.answer(MethodCall::list_tools(), {});
    const auto parsed = cetp::test::parse_tool_list(list.data);
    ASSERT_TRUE(parsed);
    EXPECT_EQ(parsed->tools.size(), 4U);
    EXPECT_TRUE(parsed->diagnostics.empty());
    const MethodCall info{.method = std::string(cetp::kProviderInfo)};
    EXPECT_TRUE(tools.answer(info, {}).data.contains(R"("provider_name":"Ledger")"));
}

TEST_F(ProviderToolsTest, AToolIsOneFunction) {
    EXPECT_EQ(execute("balance", R"({"account":"cash"})"), Envelope::ok("cash for c-1"));
}

TEST_F(ProviderToolsTest, ArgumentsThatDoNotFitAreRefusedWithTheirPointer) {
    EXPECT_EQ(execute("balance", "[]").code, "INVALID_ARGS");
    EXPECT_EQ(execute("balance", "oops").code, "INVALID_ARGS");
    const Envelope wrong = execute("balance", R"({"account":7})");
    EXPECT_EQ(wrong.code, "INVALID_ARGS");
    EXPECT_TRUE(wrong.message.starts_with("/account: ")) << wrong.message;
}

TEST_F(ProviderToolsTest, NoToolNameIsInvalidAndUnknownToolsAndMethodsAreNotFound) {
    EXPECT_EQ(tools.answer({.method = "execute_tool"}, {}).code, "INVALID_ARGS");
    EXPECT_EQ(execute("none", "{}"), Envelope::error("TOOL_NOT_FOUND", "Unknown tool: none"));
    EXPECT_EQ(tools.answer({.method = "write_everything"}, {}).code, "TOOL_NOT_FOUND");
}

TEST_F(ProviderToolsTest, WhatAHandlerThrowsStaysOnThisMachine) {
    EXPECT_EQ(execute("broken", "{}"), Envelope::error("INTERNAL_ERROR", "the tool broke"));
}

TEST_F(ProviderToolsTest, AnErrorKeepsHintAndIntent) {
    EXPECT_EQ(execute("locked", "{}"), (Envelope{.code = "AUTH_REQUIRED",
                                                 .message = "no consent",
                                                 .hint = "allow it",
                                                 .intent = "allow-tools"}));
}

TEST_F(ProviderToolsTest, MoreDataThanTheTransportCarriesIsTooLarge) {
    const MethodCall call = MethodCall::execute_tool("large", "{}", "");
    EXPECT_EQ(tools.answer(call, {}, 99).message, "result too large (100 > 99)");
    EXPECT_TRUE(tools.answer(call, {}, 100).success);
}

TEST_F(ProviderToolsTest, EachChangeOfItsToolsIsTold) {
    int changes = 0;
    tools.on_change([&] { ++changes; });
    tools.add("more", "", "{}", [](const CetpCall&) { return CetpAnswer("here"); });
    EXPECT_EQ(execute("more", "{}"), Envelope::ok("here"));
    EXPECT_TRUE(tools.remove("more"));
    EXPECT_FALSE(tools.remove("more"));
    EXPECT_EQ(execute("more", "{}").code, "TOOL_NOT_FOUND");
    EXPECT_EQ(changes, 2);
}

TEST_F(ProviderToolsTest, NamesAreUniqueAndSchemasCompile) {
    const auto handler = [](const CetpCall&) { return CetpAnswer(""); };
    EXPECT_THROW(tools.add("balance", "", "{}", handler), std::invalid_argument);
    EXPECT_THROW(tools.add("", "", "{}", handler), std::invalid_argument);
    EXPECT_THROW(tools.add("x", "", R"({"type":7})", handler), std::invalid_argument);
}

}  // namespace
}  // namespace crab::sdk
