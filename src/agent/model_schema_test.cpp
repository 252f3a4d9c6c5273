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
    constexpr std::string_view kPlain =
        R"({"type":"object","properties":{"n":{"type":"integer","minimum":1}},"required":["n"],)"
        R"("additionalProperties":false})";
    EXPECT_EQ(schema_for_models(kPlain), kPlain);
}

TEST(ModelSchema, DropsCombinationsAtTheTopOnly) {
    EXPECT_EQ(
        schema_for_models(R"({"type":"object","oneOf":[{"required":["a"]}],)"
                          R"("properties":{"a":{"anyOf":[{"type":"string"},{"type":"null"}]}}})"),
        R"({"type":"object","properties":{"a":{"anyOf":[{"type":"string"},{"type":"null"}]}}})");
}

TEST(ModelSchema, DropsIdentifiersAtEveryDepthButNoPropertyOfThatName) {
    EXPECT_EQ(
        schema_for_models(R"({"$schema":"x","type":"object","properties":{"$id":{"type":"string",)"
                          R"("$comment":"c"},"any":true}})"),
        R"({"type":"object","properties":{"$id":{"type":"string"},"any":{}}})");
}

TEST(ModelSchema, GivesEveryArrayItems) {
    EXPECT_EQ(
        schema_for_models(
            R"({"type":"object","properties":{"a":{"type":"array"},"b":{"type":["array","null"]},)"
            R"("c":{"type":"array","items":{"type":"array"}}}})"),
        R"({"type":"object","properties":{"a":{"type":"array","items":{}},"b":{"type":["array",)"
        R"("null"],"items":{}},"c":{"type":"array","items":{"type":"array","items":{}}}}})");
}

TEST(ModelSchema, SaysWhatOlderDialectsSayInTheWayOfTheLatest) {
    EXPECT_EQ(
        schema_for_models(
            R"({"type":"object","properties":{"pair":{"type":"array","items":[{"type":"string"},)"
            R"({"type":"array"}],"additionalItems":false}}})"),
        R"({"type":"object","properties":{"pair":{"type":"array","items":false,)"
        R"("prefixItems":[{"type":"string"},{"type":"array","items":{}}]}}})");
    EXPECT_EQ(
        schema_for_models(R"({"type":"object","properties":{"n":{"type":"number","minimum":0,)"
                          R"("exclusiveMinimum":true,"maximum":9,"exclusiveMaximum":false}}})"),
        R"({"type":"object","properties":{"n":{"type":"number","maximum":9,)"
        R"("exclusiveMinimum":0}}})");
}

TEST(ModelSchema, PutsWhatAReferenceAtTheTopMeansInItsPlace) {
    EXPECT_EQ(schema_for_models(R"({"$ref":"#/$defs/Args","$defs":{"Args":{"type":"object",)"
                                R"("properties":{"a":{"type":"string"}},"required":["a"]}}})"),
              R"({"$defs":{"Args":{"type":"object","properties":{"a":{"type":"string"}},)"
              R"("required":["a"]}},"type":"object","properties":{"a":{"type":"string"}},)"
              R"("required":["a"]})");
    EXPECT_EQ(schema_for_models(R"({"$ref":"#"})"), R"({"type":"object","properties":{}})");
    EXPECT_EQ(schema_for_models(R"({"$ref":"#/nowhere"})"),
              R"({"$ref":"#/nowhere","type":"object","properties":{}})");
}

}  // namespace
}  // namespace crab::agent
