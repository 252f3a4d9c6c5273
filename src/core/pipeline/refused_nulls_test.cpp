#include "core/pipeline/refused_nulls.hpp"

#include "json/parser.hpp"

#include <gtest/gtest.h>

namespace crab::core {
namespace {

std::optional<std::string> dropped(std::string_view schema_text, std::string_view args) {
    const auto schema = json::Schema::compile(schema_text).value();
    json::Parser parser;
    const auto violations = schema->check(parser.parse(args).value().element());
    return drop_refused_nulls(args, *schema, violations);
}

TEST(RefusedNulls, ANullThatTheSchemaRefusesIsLeftOutAndTheRestStaysInItsBytes) {
    EXPECT_EQ(dropped(R"({"properties":{"a":{"type":"string"},"b":{}}})",
                      R"({ "a" : null, "b": 1.50 , "c": null})"),
              R"({"b":1.50,"c":null})");
}

TEST(RefusedNulls, ANullOfARequiredMemberStays) {
    EXPECT_EQ(
        dropped(R"({"properties":{"a":{"type":"string"}},"required":["a"]})", R"({"a":null})"),
        std::nullopt);
}

TEST(RefusedNulls, NullsInsideAreFoundToo) {
    EXPECT_EQ(dropped(R"({"properties":{"l":{"items":{"properties":{"x/y":{"type":"integer"}}}}}})",
                      R"({"l":[{"x/y":1},{"x/y":null}]})"),
              R"({"l":[{"x/y":1},{}]})");
}

TEST(RefusedNulls, AnItemOfAnArrayIsNoMember) {
    EXPECT_EQ(dropped(R"({"properties":{"l":{"items":{"type":"integer"}}}})", R"({"l":[null]})"),
              std::nullopt);
}

TEST(RefusedNulls, AnotherFaultIsNotHealed) {
    EXPECT_EQ(dropped(R"({"properties":{"a":{"type":"string"},"b":{"type":"string"}}})",
                      R"({"a":null,"b":1})"),
              std::nullopt);
}

TEST(RefusedNulls, MoreNullsThanACheckNamesAreAllLeftOut) {
    std::string args = "{";
    for (int i = 0; i < 50; ++i)
        args += (i == 0 ? "" : ",") + ("\"p" + std::to_string(i)) + "\":null";
    args += "}";
    EXPECT_EQ(dropped(R"({"additionalProperties":{"type":"string"}})", args), "{}");
}

}  // namespace
}  // namespace crab::core
