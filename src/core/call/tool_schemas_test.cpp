#include "core/call/tool_schemas.hpp"

#include "json/schema/schema.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace crab::core {
namespace {

using testing::HasSubstr;

ToolSpec spec_of(std::string input) {
    ToolSpec spec;
    spec.name = "t";
    spec.input_schema = std::move(input);
    return spec;
}

/// Patterns that are large for any engine.
std::string heavy(int patterns, std::string_view salt = "x") {
    std::string text = R"({"type":"object","properties":{)";
    for (int i = 0; i < patterns; ++i)
        text += fmt::format(R"("p{}":{{"pattern":"[\\p{{L}}]{{1,200}}{}{}"}},)", i, salt, i);
    text.back() = '}';
    return text + "}";
}

TEST(ToolSchemas, WhatAllToolsOfAListTakeIsBounded) {
    SchemaBudget budget{.left = 1 << 20};
    int taken = 0;
    Error refused{};
    for (int i = 0; i < 40; ++i) {
        auto made = make_tool(spec_of(heavy(4, fmt::format("s{}_", i))), budget);
        if (made) {
            ++taken;
        } else {
            refused = made.error();
        }
    }
    EXPECT_GE(taken, 4);
    EXPECT_LT(taken, 10);
    EXPECT_EQ(refused.code, ErrorCode::kOversize);
    EXPECT_THAT(refused.message, HasSubstr("together"));
    EXPECT_TRUE(make_tool(spec_of("{}"), budget)) << "something small still fits";
}

TEST(ToolSchemas, OneSchemaMayNotTakeEverything) {
    SchemaBudget budget{.left = std::size_t{1} << 30};
    const auto made = make_tool(spec_of(heavy(200)), budget);
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().code, ErrorCode::kOversize);
    EXPECT_THAT(made.error().message, HasSubstr("4096 KiB"));
    EXPECT_EQ(budget.left, std::size_t{1} << 30);
}

TEST(ToolSchemas, WhatRefusedSchemasCostIsBoundedAndSimpleOnesStayWelcome) {
    SchemaBudget budget;
    for (int i = 0; i < 3; ++i)
        EXPECT_FALSE(make_tool(spec_of(heavy(200, fmt::format("r{}_", i))), budget));
    EXPECT_EQ(budget.for_refused, 0u);
    EXPECT_EQ(budget.left, SchemaBudget::kOneList);
    EXPECT_EQ(budget.most(), SchemaBudget::kSmall);
    const auto made = make_tool(spec_of(heavy(4, "fair")), budget);
    ASSERT_FALSE(made) << "it would have fitted before them";
    EXPECT_THAT(made.error().message, HasSubstr("64 KiB are left"));
    EXPECT_TRUE(
        make_tool(spec_of(R"({"type":"object","properties":{"a":{"type":"string"}}})"), budget));
}

TEST(ToolSchemas, EqualTextsAreOneSchemaAsLongAsSomebodyHoldsIt) {
    const std::size_t before = shared_schemas();
    const std::string text = heavy(2, "shared");
    {
        const auto one = make_tool(spec_of(text)).value();
        const auto other = make_tool(spec_of(text)).value();
        EXPECT_EQ(one->input, other->input);
        EXPECT_EQ(shared_schemas(), before + 1);
        EXPECT_EQ(schema_bytes(*one), one->input->program_bytes());
        SchemaBudget small{.left = 1'000};
        EXPECT_FALSE(make_tool(spec_of(text), small))
            << "what others hold does not widen one's own budget";
    }
    EXPECT_EQ(shared_schemas(), before);
}

TEST(ToolSchemas, AToolWhoseArgumentsCouldBeNoObjectIsRefused) {
    for (const char* never :
         {R"({"type":"string"})", R"({"enum":[1,2]})", R"({"allOf":[{"type":"array"}]})",
          R"({"$ref":"#/$defs/n","$defs":{"n":{"type":"null"}}})"}) {
        const auto made = make_tool(spec_of(never));
        ASSERT_FALSE(made) << never;
        EXPECT_EQ(made.error().code, ErrorCode::kInvalidArgs);
        EXPECT_THAT(made.error().message, HasSubstr("no object fits"));
    }
    EXPECT_TRUE(make_tool(spec_of(R"({"properties":{"a":{"type":"string"}}})")));
    ToolSpec bytes = spec_of(R"({"type":"string"})");
    bytes.accepts = {"image/png"};
    EXPECT_TRUE(make_tool(std::move(bytes))) << "it takes what is no JSON";
}

}  // namespace
}  // namespace crab::core
