#include "agent/model_schema.hpp"

#include <gtest/gtest.h>

namespace crab::agent {
namespace {

TEST(ModelSchema, IsAnObjectWithProperties) {
    EXPECT_EQ(schema_for_models("{}"), R"({"type":"object","properties":{}})");
    EXPECT_EQ(schema_for_models("true"), R"({"type":"object","properties":{}})");
    EXPECT_EQ(schema_for_models("not json"), R"({"type":"object","properties":{}})");
}

TEST(ModelSchema, KeepsWhatEveryVendorTakes) {
    constexpr std::string_view kPlain = R"({"type":"object","properties":{"n":{"type":"integer","minimum":1}},"required":["n"],"additionalProperties":false})";
    EXPECT_EQ(schema_for_models(kPlain), kPlain);
}

TEST(ModelSchema, DropsCombinationsAtTheTopOnly) {
    EXPECT_EQ(schema_for_models(R"({"type":"object","oneOf":[{"required":["a"]}],"properties":{"a":{"anyOf":[{"type":"string"},{"type":"null"}]}}})"),
              R"({"type":"object","properties":{"a":{"anyOf":[{"type":"string"},{"type":"null"}]}}})");
}

TEST(ModelSchema, DropsIdentifiersAtEveryDepthButNoPropertyOfThatName) {
    EXPECT_EQ(schema_for_models(R"({"$schema":"x","type":"object","properties":{"$id":{"type":"string","$comment":"c"},"any":true}})"),
              R"({"type":"object","properties":{"$id":{"type":"string"},"any":{}}})");
}

TEST(ModelSchema, IsRemembered) {
    ModelSchemas schemas;
    EXPECT_EQ(&schemas.of("{}"), &schemas.of("{}"));
}

}  // namespace
}  // namespace crab::agent
