#include "core/call/test_tools.hpp"
#include "core/policy/policy.hpp"
#include "json/parser.hpp"

#include <gtest/gtest.h>

#include <fmt/format.h>

namespace crab::core {
namespace {

/// What may be read of, and got from, MCP servers. Source: docs/protocols/mcp.md, section 7.5.
struct PolicyOfMcp : testing::Test {
    static std::shared_ptr<const Policy> denies(std::initializer_list<const char*> patterns) {
        return Policy::make({{.principal = Glob("caller/ann"), .call_deny = globs(patterns)}})
            .value();
    }
    static ToolRef method(std::string name) {
        auto tool = make_tool({.name = std::move(name)}).value();
        tool->set_source({.kind = SourceKind::kMcpServer, .name = "docs"});
        tool->unlisted = tool->unique_name_only = true;
        return tool;
    }
    Verdict reads(const Policy& policy, std::string_view uri, const Tool& tool) {
        const auto args = parser.parse(fmt::format(R"({{"uri":"{0}","name":"{0}"}})", uri));
        return policy.decide_call(*ann, tool, args->element()).verdict;
    }
    const PrincipalRef ann = principal_of("caller/ann");
    const ToolRef read = method("resources.read"), get = method("prompts.get");
    json::Parser parser;
};

TEST_F(PolicyOfMcp, CallersMayUnlessDenied) {
    const auto policy = denies({"mcp.resource.read:docs/file:///secret*", "mcp.prompt.get:docs/x"});
    EXPECT_EQ(reads(*policy, "file:///open", *read), Verdict::kAllow);
    EXPECT_EQ(reads(*policy, "file:///secret/a", *read), Verdict::kDeny);
    EXPECT_EQ(reads(*policy, "x", *get), Verdict::kDeny);
    EXPECT_EQ(reads(*policy, "xy", *get), Verdict::kAllow);
    EXPECT_EQ(reads(*policy, "file:///secret/a", *get), Verdict::kAllow) << "another action";
    EXPECT_TRUE(policy->may_call(*ann, *read)) << "some may be read";
    EXPECT_EQ(policy->decide_call(*ann, *read, CallArguments::not_json()).verdict, Verdict::kDeny);
    EXPECT_EQ(reads(*policy, "file:///secret/a", *tool_of("resources.read", "docs")),
              Verdict::kAllow)
        << "a device's tool is no method of an MCP server";
}

TEST_F(PolicyOfMcp, OfWhomNothingMayBeReadIsNotSeen) {
    const auto policy = denies({"mcp.resource.read:docs/*"});
    EXPECT_FALSE(policy->may_call(*ann, *read));
    EXPECT_TRUE(policy->may_call(*ann, *get));
    EXPECT_TRUE(denies({"mcp.resource.read:other/*"})->may_call(*ann, *read));
}

TEST_F(PolicyOfMcp, AnAllowListConfinesToWhatItNames) {
    const auto policy = Policy::make({{.principal = Glob("caller/ann"),
                                       .call_allow = globs({"m*", "mcp.resource.read:docs/a*"})}})
                            .value();
    EXPECT_EQ(reads(*policy, "ab", *read), Verdict::kAllow);
    EXPECT_EQ(reads(*policy, "b", *read), Verdict::kDeny) << "m* is about names of tools";
    EXPECT_TRUE(policy->may_call(*ann, *read));
    EXPECT_FALSE(policy->may_call(*ann, *get));
}

TEST_F(PolicyOfMcp, ReadingMayNeedAnApproval) {
    const auto policy =
        Policy::make({{.call_needs_approval = globs({"mcp.resource.read:docs/pay*"})}}).value();
    EXPECT_EQ(reads(*policy, "payroll", *read), Verdict::kNeedsApproval);
    EXPECT_EQ(reads(*policy, "menu", *read), Verdict::kAllow);
}

}  // namespace
}  // namespace crab::core
