#include "hosts/memory/memory_arguments.hpp"

#include "hosts/memory/memory_tools.hpp"
#include "json/parser.hpp"
#include "json/schema/schema.hpp"
#include "json/value.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace crab::memory {
namespace {

core::ToolSpec spec_of(std::string_view name) {
    for (auto& spec : memory_tools()) {
        if (spec.name == name) return spec;
    }
    throw std::logic_error("no such tool");
}

struct MemoryArgumentsTest : testing::Test {
    json::Parser parser;

    bool fits(std::string_view tool, const std::string& args) {
        const auto compiled = core::make_tool(spec_of(tool));
        EXPECT_TRUE(compiled) << compiled.error().message;
        return (*compiled)->input->is_valid(parser.parse(args).value().element());
    }
    std::string entry(std::string member) {
        return fmt::format(R"({{"entries":[{{"text":"x",{}}}]}})", member);
    }
    std::string text_of(std::size_t characters) {
        return fmt::format(R"({{"entries":[{{"text":"{}"}}]}})", std::string(characters, 'x'));
    }
    std::string entries(std::size_t count) {
        std::string list;
        for (std::size_t i = 0; i < count; ++i)
            list += list.empty() ? R"({"text":"x"})" : R"(,{"text":"x"})";
        return R"({"entries":[)" + list + "]}";
    }
    std::string strings(std::size_t count, std::size_t characters = 1) {
        std::string list;
        for (std::size_t i = 0; i < count; ++i)
            list += (list.empty() ? "\"" : ",\"") + std::string(characters, 'x') + "\"";
        return "[" + list + "]";
    }
};

TEST_F(MemoryArgumentsTest, TheToolsAreSortedAndSayWhatARepeatDoes) {
    const auto tools = memory_tools();
    ASSERT_EQ(tools.size(), 3u);
    struct Row {
        std::string_view name;
        bool idempotent, side_effects, accepts_key;
    };
    const Row rows[] = {{"memory.append", false, true, true},
                        {"memory.delete", true, true, true},
                        {"memory.query", true, false, false}};
    for (std::size_t i = 0; i < 3; ++i) {
        EXPECT_EQ(tools[i].name, rows[i].name);
        EXPECT_EQ(tools[i].idempotent, rows[i].idempotent);
        EXPECT_EQ(tools[i].side_effects, rows[i].side_effects);
        EXPECT_EQ(tools[i].accepts_idempotency_key, rows[i].accepts_key);
        EXPECT_EQ(tools[i].default_timeout, Milliseconds(30'000));
        EXPECT_EQ(tools[i].max_timeout, Milliseconds(120'000));
        EXPECT_TRUE(core::make_tool(tools[i]));
    }
}

TEST_F(MemoryArgumentsTest, AppendHasItsLimitsOnBothSides) {
    EXPECT_FALSE(fits(kAppendTool, entries(0)));
    EXPECT_TRUE(fits(kAppendTool, entries(1)));
    EXPECT_TRUE(fits(kAppendTool, entries(100)));
    EXPECT_FALSE(fits(kAppendTool, entries(101)));
    EXPECT_FALSE(fits(kAppendTool, text_of(0)));
    EXPECT_TRUE(fits(kAppendTool, text_of(32'768)));
    EXPECT_FALSE(fits(kAppendTool, text_of(32'769)));
    std::string characters;
    for (int i = 0; i < 32'768; ++i) characters += "ü";
    EXPECT_TRUE(fits(kAppendTool, R"({"entries":[{"text":")" + characters + R"("}]})"))
        << "characters count, not bytes";
    EXPECT_TRUE(fits(kAppendTool, entry(R"("tags":)" + strings(32))));
    EXPECT_FALSE(fits(kAppendTool, entry(R"("tags":)" + strings(33))));
    EXPECT_TRUE(fits(kAppendTool, entry(R"("tags":)" + strings(1, 64))));
    EXPECT_FALSE(fits(kAppendTool, entry(R"("tags":)" + strings(1, 65))));
    EXPECT_FALSE(fits(kAppendTool, entry(R"("tags":[""])")));
    EXPECT_FALSE(fits(kAppendTool, entry(R"("metadata":[])")));
    EXPECT_FALSE(fits(kAppendTool, entry(R"("entry_id":"mine")"))) << "unknown members are refused";
    EXPECT_FALSE(fits(kAppendTool, R"({"entries":[{"text":"x"}],"agent_id":"other"})"));
}

TEST_F(MemoryArgumentsTest, QueryHasItsLimitsOnBothSides) {
    EXPECT_TRUE(fits(kQueryTool, "{}"));
    EXPECT_TRUE(fits(kQueryTool, R"({"query":")" + std::string(1024, 'x') + R"("})"));
    EXPECT_FALSE(fits(kQueryTool, R"({"query":")" + std::string(1025, 'x') + R"("})"));
    EXPECT_FALSE(fits(kQueryTool, R"({"limit":0})"));
    EXPECT_TRUE(fits(kQueryTool, R"({"limit":1})"));
    EXPECT_TRUE(fits(kQueryTool, R"({"limit":100})"));
    EXPECT_FALSE(fits(kQueryTool, R"({"limit":101})"));
    EXPECT_FALSE(fits(kQueryTool, R"({"order":"random"})"));
    EXPECT_FALSE(fits(kQueryTool, R"({"isolation_key":"other"})"));
}

TEST_F(MemoryArgumentsTest, DeleteTakesExactlyOneOfItsThreeForms) {
    EXPECT_FALSE(fits(kDeleteTool, "{}"));
    EXPECT_FALSE(fits(kDeleteTool, R"({"entry_ids":[]})"));
    EXPECT_TRUE(fits(kDeleteTool, R"({"entry_ids":)" + strings(100) + "}"));
    EXPECT_FALSE(fits(kDeleteTool, R"({"entry_ids":)" + strings(101) + "}"));
    EXPECT_TRUE(fits(kDeleteTool, R"({"before":"2026-01-01T00:00:00Z"})"));
    EXPECT_TRUE(fits(kDeleteTool, R"({"before":"2026-01-01T00:00:00Z","tags":["a"]})"));
    EXPECT_TRUE(fits(kDeleteTool, R"({"all":true})"));
    EXPECT_FALSE(fits(kDeleteTool, R"({"all":false})"));
    EXPECT_FALSE(fits(kDeleteTool, R"({"tags":["a"]})"));
    EXPECT_FALSE(fits(kDeleteTool, R"({"all":true,"tags":["a"]})"))
        << "it would forget more than was meant";
    EXPECT_FALSE(fits(kDeleteTool, R"({"all":true,"before":"2026-01-01T00:00:00Z"})"));
    EXPECT_FALSE(fits(kDeleteTool, R"({"all":true,"entry_ids":["x"]})"));
}

TEST_F(MemoryArgumentsTest, WhatSchemasCannotSayIsRefusedWithItsPointer) {
    const auto bad_time = read_append(
        parser.parse(R"({"entries":[{"text":"x"},{"text":"y","occurred_at":"yesterday"}]})")
            .value()
            .element());
    ASSERT_FALSE(bad_time);
    EXPECT_EQ(bad_time.error().code, ErrorCode::kInvalidArgs);
    EXPECT_TRUE(bad_time.error().message.starts_with("/entries/1/occurred_at: "));
    const auto details = json::Value::parse(bad_time.error().details).value();
    EXPECT_EQ(*details.resolve("/errors/0/pointer")->as_string(), "/entries/1/occurred_at");

    const auto metadata = [&](std::size_t bytes) {   // {"k":"…"} has 8 bytes beside the text
        return read_append(parser
                               .parse(entry(fmt::format(R"("metadata": {{ "k": "{}" }})",
                                                        std::string(bytes - 8, 'm'))))
                               .value()
                               .element());
    };
    EXPECT_TRUE(metadata(kMostMetadataBytes)) << "white space does not count";
    EXPECT_FALSE(metadata(kMostMetadataBytes + 1));
    EXPECT_FALSE(read_append(parser.parse(entry(R"("tags":["a\u0000b"])")).value().element()));
    EXPECT_FALSE(read_query(parser.parse(R"({"since":"2026-13-01T00:00:00Z"})").value().element()));
    EXPECT_FALSE(read_delete(parser.parse(R"({"before":"soon"})").value().element()));
}

}  // namespace
}  // namespace crab::memory
