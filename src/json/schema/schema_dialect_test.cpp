// What differs between the dialects, case by case; the suites for 2020-12 and draft 7 are in
// schema_suite_test.cpp.

#include "json/schema/schema.hpp"

#include "json/parser.hpp"
#include "json/schema/metaschemas.hpp"

#include <gtest/gtest.h>

namespace crab::json {
namespace {

std::string_view metaschema_of(Dialect dialect) {
    switch (dialect) {
        case Dialect::kDraft4: return "http://json-schema.org/draft-04/schema";
        case Dialect::kDraft6: return "http://json-schema.org/draft-06/schema";
        case Dialect::kDraft7: return "http://json-schema.org/draft-07/schema";
        case Dialect::k2019_09: return "https://json-schema.org/draft/2019-09/schema";
        case Dialect::k2020_12: return "https://json-schema.org/draft/2020-12/schema";
    }
    return {};
}

class Dialects : public testing::Test {
protected:
    std::map<std::string, std::string> remotes;
    bool assert_formats = false;

    bool valid(Dialect dialect, std::string_view schema, std::string_view instance) {
        const auto compiled = Schema::compile(
            schema, {.dialect = dialect, .assert_formats = assert_formats, .remotes = &remotes});
        if (!compiled) {
            ADD_FAILURE() << schema << "\n" << compiled.error().message;
            return false;
        }
        Parser parser;
        const auto root = parser.parse(instance);
        EXPECT_TRUE(root) << instance;
        const bool found = (*compiled)->is_valid(root->element());
        EXPECT_EQ((*compiled)->validate(root->element()).empty(), found);
        return found;
    }
    bool compiles(Dialect dialect, std::string_view schema) {
        return Schema::compile(schema, {.dialect = dialect, .remotes = &remotes}).has_value();
    }
};

TEST_F(Dialects, EveryMetaschemaAcceptsItselfAndEveryOther) {
    Parser parser;
    for (const Dialect dialect : {Dialect::kDraft4, Dialect::kDraft6, Dialect::kDraft7,
                                  Dialect::k2019_09, Dialect::k2020_12}) {
        const auto text = find_metaschema(metaschema_of(dialect));
        ASSERT_FALSE(text.empty());
        const auto schema = Schema::compile(text);
        ASSERT_TRUE(schema) << schema.error().message;
        EXPECT_TRUE((*schema)->is_valid(parser.parse(text)->element())) << metaschema_of(dialect);
        const std::string by_reference = fmt::format(R"({{"$ref":"{}#"}})", metaschema_of(dialect));
        EXPECT_TRUE(valid(dialect, by_reference, R"({"minLength":1})"));
        EXPECT_FALSE(valid(dialect, by_reference, R"({"minLength":-1})"));
        EXPECT_FALSE(valid(dialect, by_reference, R"({"properties":{"a":{"type":"nothing"}}})"));
        EXPECT_TRUE(valid(dialect, by_reference, R"({"definitions":{"a":{"type":"integer"}}})"));
        EXPECT_FALSE(valid(dialect, by_reference, R"({"definitions":{"a":{"type":1}}})"));
        EXPECT_EQ(valid(dialect, by_reference, "true"), dialect != Dialect::kDraft4);
    }
}

TEST_F(Dialects, Draft4TakesExclusiveBoundsAsFlags) {
    EXPECT_FALSE(valid(Dialect::kDraft4, R"({"maximum":3,"exclusiveMaximum":true})", "3.0"));
    EXPECT_TRUE(valid(Dialect::kDraft4, R"({"maximum":3,"exclusiveMaximum":true})", "2.2"));
    EXPECT_TRUE(valid(Dialect::kDraft4, R"({"maximum":3,"exclusiveMaximum":false})", "3.0"));
    EXPECT_FALSE(valid(Dialect::kDraft4, R"({"minimum":1.1,"exclusiveMinimum":true})", "1.1"));
    EXPECT_TRUE(valid(Dialect::kDraft4, R"({"minimum":1.1,"exclusiveMinimum":true})", "1.2"));
    EXPECT_TRUE(valid(Dialect::kDraft4, R"({"exclusiveMinimum":true})", "-5"));
    EXPECT_FALSE(compiles(Dialect::kDraft4, R"({"exclusiveMaximum":3})"));
    EXPECT_FALSE(compiles(Dialect::kDraft6, R"({"exclusiveMaximum":true})"));
    EXPECT_FALSE(valid(Dialect::kDraft6, R"({"exclusiveMaximum":3})", "3"));
}

TEST_F(Dialects, OnlyDraft4TellsOnePointZeroFromAnInteger) {
    EXPECT_FALSE(valid(Dialect::kDraft4, R"({"type":"integer"})", "1.0"));
    EXPECT_TRUE(valid(Dialect::kDraft4, R"({"type":"number"})", "1"));
    EXPECT_TRUE(valid(Dialect::kDraft4, R"({"type":"integer"})",
                      "12345678910111213141516171819202122232425262728293031"));
    for (const Dialect dialect :
         {Dialect::kDraft6, Dialect::kDraft7, Dialect::k2019_09, Dialect::k2020_12}) {
        EXPECT_TRUE(valid(dialect, R"({"type":"integer"})", "1.0"));
        EXPECT_FALSE(valid(dialect, R"({"type":"integer"})", "1.1"));
    }
    EXPECT_TRUE(valid(Dialect::kDraft4, R"({"enum":[1]})", "1.0"));
}

TEST_F(Dialects, Draft4NamesSchemasById) {
    remotes["http://localhost:1234/subSchemas.json"] =
        R"({"definitions":{"integer":{"type":"integer"},)"
        R"("again":{"$ref":"#/definitions/integer"}}})";
    remotes["http://localhost:1234/folder/folderInteger.json"] = R"({"type":"integer"})";
    remotes["http://localhost:1234/draft4/locationIndependentIdentifier.json"] =
        R"({"definitions":{"refToInteger":{"$ref":"#foo"},"A":{"id":"#foo","type":"integer"}}})";
    constexpr auto k4 = Dialect::kDraft4;
    constexpr std::string_view kRefs = R"({"id":"http://localhost:1234/","items":{"id":"folder/",)"
                                       R"("items":{"$ref":"folderInteger.json"}}})";
    EXPECT_TRUE(valid(k4, kRefs, "[[1]]"));
    EXPECT_FALSE(valid(k4, kRefs, R"([["a"]])"));
    EXPECT_FALSE(valid(k4, R"({"$ref":"http://localhost:1234/subSchemas.json#/definitions/again"})",
                       R"("a")"));
    EXPECT_FALSE(
        valid(k4,
              R"({"$ref":"http://localhost:)"
              R"(1234/draft4/locationIndependentIdentifier.json#/definitions/refToInteger"})",
              R"("a")"));
    constexpr std::string_view kAnchor =
        R"({"id":"http://localhost:1234/sibling_id/base/",)"
        R"("definitions":{"foo":{"id":"http://localhost:1234/sibling_id/foo.json",)"
        R"("type":"string"},"base_foo":{"id":"foo.json","type":"number"}},)"
        R"("allOf":[{"id":"http://localhost:1234/sibling_id/","$ref":"foo.json"}]})";
    EXPECT_FALSE(valid(k4, kAnchor, R"("a")"));
    EXPECT_TRUE(valid(k4, kAnchor, "1"));
    EXPECT_TRUE(valid(k4, R"({"$id":5,"properties":{"id":{"type":"string"}}})", R"({"id":"x"})"));
    EXPECT_FALSE(valid(
        k4,
        R"({"definitions":{"a":{"enum":[{"id":"https://localhost:1234/id.json","type":"null"}]},)"
        R"("b":{"id":"https://localhost:1234/id.json","type":"string"}},)"
        R"("anyOf":[{"$ref":"#/definitions/a"},{"$ref":"https://localhost:1234/id.json"}]})",
        "1"));
}

TEST_F(Dialects, Draft4KnowsNoLaterKeywordsAndNoBooleanSchemas) {
    constexpr auto k4 = Dialect::kDraft4;
    EXPECT_TRUE(valid(
        k4,
        R"({"const":1,"contains":{"type":"null"},"propertyNames":false,"if":true,"then":false})",
        "[2]"));
    EXPECT_FALSE(compiles(k4, "true"));
    EXPECT_FALSE(compiles(k4, R"({"not":true})"));
    EXPECT_FALSE(valid(k4, R"({"items":[{},{}],"additionalItems":false})", "[1,2,3]"));
    EXPECT_TRUE(valid(k4, R"({"items":[{},{}],"additionalItems":true})", "[1,2,3]"));
    EXPECT_TRUE(valid(k4, R"({"items":{},"additionalItems":false})", "[1,2,3]"));
    EXPECT_FALSE(
        valid(k4, R"({"properties":{"a":{}},"additionalProperties":false})", R"({"b":1})"));
    EXPECT_TRUE(valid(k4, R"({"properties":{"a":{}},"additionalProperties":true})", R"({"b":1})"));
    EXPECT_FALSE(valid(k4, R"({"properties":{"a":{}},"additionalProperties":{"type":"boolean"}})",
                       R"({"b":1})"));
}

TEST_F(Dialects, SiblingsOfARefCountOnlySince2019) {
    constexpr std::string_view kSchema =
        R"({"$ref":"#/definitions/a","maxItems":1,"definitions":{"a":{"type":"array"}}})";
    for (const Dialect dialect : {Dialect::kDraft4, Dialect::kDraft6, Dialect::kDraft7})
        EXPECT_TRUE(valid(dialect, kSchema, "[1,2]"));
    for (const Dialect dialect : {Dialect::k2019_09, Dialect::k2020_12})
        EXPECT_FALSE(valid(dialect, kSchema, "[1,2]"));
}

TEST_F(Dialects, DependenciesTakeNamesAndSchemasInEveryDialect) {
    for (const Dialect dialect : {Dialect::kDraft4, Dialect::kDraft6, Dialect::kDraft7,
                                  Dialect::k2019_09, Dialect::k2020_12}) {
        constexpr std::string_view kSchema =
            R"({"dependencies":{"bar":["foo"],"qux":{"minProperties":3}}})";
        EXPECT_TRUE(valid(dialect, kSchema, R"({"bar":1,"foo":1})"));
        EXPECT_FALSE(valid(dialect, kSchema, R"({"bar":1})"));
        EXPECT_FALSE(valid(dialect, kSchema, R"({"qux":1,"foo":1})"));
        EXPECT_TRUE(valid(dialect, kSchema, R"(["bar"])"));
    }
    EXPECT_FALSE(valid(Dialect::kDraft6, R"({"dependencies":{"bar":false}})", R"({"bar":1})"));
    EXPECT_TRUE(
        valid(Dialect::kDraft7, R"({"dependentRequired":{"bar":["foo"]}})", R"({"bar":1})"));
    EXPECT_FALSE(valid(Dialect::k2019_09, R"({"dependentSchemas":{"bar":{"required":["foo"]}}})",
                       R"({"bar":1})"));
}

TEST_F(Dialects, ItemsAreATupleBefore2020) {
    for (const Dialect dialect :
         {Dialect::kDraft4, Dialect::kDraft6, Dialect::kDraft7, Dialect::k2019_09}) {
        constexpr std::string_view kTuple =
            R"({"items":[{"type":"integer"},{"type":"string"}],"additionalItems":{"type":"null"}})";
        EXPECT_TRUE(valid(dialect, kTuple, R"([1,"a",null])"));
        EXPECT_FALSE(valid(dialect, kTuple, R"([1,"a",1])"));
        EXPECT_FALSE(valid(dialect, kTuple, R"(["a"])"));
        EXPECT_TRUE(valid(dialect, R"({"prefixItems":[{"type":"string"}]})", "[1]"));
        EXPECT_TRUE(valid(dialect, R"({"additionalItems":{"type":"null"}})", "[1]"));
    }
    EXPECT_FALSE(compiles(Dialect::k2020_12, R"({"items":[{"type":"integer"}]})"));
    EXPECT_TRUE(
        valid(Dialect::k2020_12, R"({"prefixItems":[{}],"additionalItems":false})", "[1,2]"));
}

TEST_F(Dialects, RecursiveRefWithoutAnchorIsARef) {
    constexpr auto k19 = Dialect::k2019_09;
    constexpr std::string_view kSchema =
        R"({"properties":{"foo":{"$recursiveRef":"#"}},"additionalProperties":false})";
    EXPECT_TRUE(valid(k19, kSchema, R"({"foo":{"foo":false}})"));
    EXPECT_FALSE(valid(k19, kSchema, R"({"foo":{"bar":false}})"));
    constexpr std::string_view kNested =
        R"({"$id":"http://localhost:4242/recursiveRef2/schema.json",)"
        R"("$defs":{"myobject":{"$id":"myobject.json","$recursiveAnchor":false,)"
        R"("anyOf":[{"type":"string"},{"type":"object",)"
        R"("additionalProperties":{"$recursiveRef":"#"}}]}},"anyOf":[{"type":"integer"},)"
        R"({"$ref":"#/$defs/myobject"}]})";
    EXPECT_TRUE(valid(k19, kNested, R"({"foo":"hi"})"));
    EXPECT_FALSE(valid(k19, kNested, R"({"foo":1})"));
    EXPECT_TRUE(valid(k19, kNested, R"({"foo":{"bar":"hi"}})"));
    EXPECT_FALSE(valid(k19, kNested, R"({"foo":{"bar":1}})"));
}

TEST_F(Dialects, RecursiveRefGoesToTheOutermostAnchor) {
    constexpr auto k19 = Dialect::k2019_09;
    constexpr std::string_view kSchema =
        R"({"$id":"http://localhost:4242/recursiveRef3/schema.json","$recursiveAnchor":true,)"
        R"("$defs":{"myobject":{"$id":"myobject.json","$recursiveAnchor":true,)"
        R"("anyOf":[{"type":"string"},{"type":"object",)"
        R"("additionalProperties":{"$recursiveRef":"#"}}]}},"anyOf":[{"type":"integer"},)"
        R"({"$ref":"#/$defs/myobject"}]})";
    EXPECT_TRUE(valid(k19, kSchema, "1"));
    EXPECT_TRUE(valid(k19, kSchema, R"({"foo":1})"));
    EXPECT_TRUE(valid(k19, kSchema, R"({"foo":{"bar":1}})"));
    EXPECT_FALSE(valid(k19, kSchema, R"({"foo":{"bar":true}})"));
    // Without the anchor in the inner resource the reference stays there; without it in the outer
    // one it does too.
    constexpr std::string_view kInnerOnly =
        R"({"$id":"http://localhost:4242/recursiveRef6/base.json","anyOf":[{"type":"boolean"},)"
        R"({"type":"object",)"
        R"("additionalProperties":{"$id":"http://localhost:4242/recursiveRef6/inner.json",)"
        R"("$recursiveAnchor":true,"anyOf":[{"type":"integer"},{"type":"object",)"
        R"("additionalProperties":{"$recursiveRef":"#"}}]}}]})";
    EXPECT_TRUE(valid(k19, kInnerOnly, R"({"foo":1})"));
    EXPECT_FALSE(valid(k19, kInnerOnly, R"({"foo":true})"));
    EXPECT_TRUE(valid(k19, kInnerOnly, R"({"foo":{"bar":1}})"));
    EXPECT_FALSE(valid(k19, kInnerOnly, R"({"foo":{"bar":true}})"));
}

TEST_F(Dialects, RecursiveRefFollowsThePathThatWasTaken) {
    constexpr auto k19 = Dialect::k2019_09;
    constexpr std::string_view kSchema =
        R"({"$id":"https://example.com/recursiveRef8_main.json",)"
        R"("$defs":{"inner":{"$id":"recursiveRef8_inner.json","$recursiveAnchor":true,)"
        R"("title":"inner","additionalProperties":{"$recursiveRef":"#"}}},)"
        R"("if":{"propertyNames":{"pattern":"^[a-m]"}},"then":{"title":"any type of node",)"
        R"("$id":"recursiveRef8_anyLeafNode.json","$recursiveAnchor":true,)"
        R"("$ref":"recursiveRef8_inner.json"},"else":{"title":"integer node",)"
        R"("$id":"recursiveRef8_integerNode.json","$recursiveAnchor":true,"type":["object",)"
        R"("integer"],"$ref":"recursiveRef8_inner.json"}})";
    EXPECT_TRUE(valid(k19, kSchema, R"({"alpha":1.1})"));
    EXPECT_FALSE(valid(k19, kSchema, R"({"november":1.1})"));
    EXPECT_TRUE(valid(k19, kSchema, R"({"november":1})"));
}

TEST_F(Dialects, Dialect2019IgnoresDynamicRefsAndDialect2020RecursiveOnes) {
    EXPECT_TRUE(valid(Dialect::k2019_09, R"({"$dynamicRef":"#/$defs/none"})", "1"));
    EXPECT_TRUE(valid(Dialect::k2020_12, R"({"$recursiveRef":"#","$recursiveAnchor":true})", "1"));
}

TEST_F(Dialects, UnevaluatedItemsPassOverWhatContainsMatchedOnlySince2020) {
    constexpr std::string_view kSchema =
        R"({"contains":{"type":"string"},"unevaluatedItems":false})";
    EXPECT_FALSE(valid(Dialect::k2019_09, kSchema, R"(["a"])"));
    EXPECT_TRUE(valid(Dialect::k2020_12, kSchema, R"(["a"])"));
    EXPECT_FALSE(valid(Dialect::k2020_12, kSchema, R"(["a",1])"));
    EXPECT_FALSE(valid(Dialect::k2019_09,
                       R"({"items":[{"type":"string"}],"unevaluatedItems":false})", R"(["a",1])"));
    EXPECT_TRUE(
        valid(Dialect::k2019_09,
              R"({"items":[{"type":"string"}],"additionalItems":true,"unevaluatedItems":false})",
              R"(["a",1])"));
    EXPECT_TRUE(valid(Dialect::k2019_09, R"({"items":{"type":"string"},"unevaluatedItems":false})",
                      R"(["a","b"])"));
    EXPECT_TRUE(valid(Dialect::kDraft7, kSchema, R"(["a",1])"));
    EXPECT_FALSE(
        valid(Dialect::k2019_09,
              R"({"$recursiveAnchor":true,"$id":"https://example.com/extended","$ref":"tree",)"
              R"("unevaluatedItems":false,"$defs":{"tree":{"$id":"tree","$recursiveAnchor":true,)"
              R"("type":"array","items":[{"type":"number"},{"$recursiveRef":"#"}]}}})",
              "[1,[2,[],3]]"));
}

TEST_F(Dialects, ContainsCountsOnlySince2019) {
    EXPECT_TRUE(valid(Dialect::kDraft7, R"({"contains":{"const":1},"maxContains":1})", "[1,1]"));
    EXPECT_FALSE(valid(Dialect::k2019_09, R"({"contains":{"const":1},"maxContains":1})", "[1,1]"));
    EXPECT_FALSE(valid(Dialect::k2019_09, R"({"contains":{"const":1},"minContains":2})", "[1]"));
    EXPECT_TRUE(valid(Dialect::k2019_09, R"({"contains":{"const":1},"minContains":0})", "[]"));
    EXPECT_FALSE(valid(Dialect::kDraft6, R"({"contains":{"const":1}})", "[]"));
}

TEST_F(Dialects, VocabulariesOfACustomDialectDecideWhatCounts) {
    remotes["http://localhost:1234/draft2019-09/metaschema-no-validation.json"] =
        R"({"$schema":"https://json-schema.org/draft/2019-09/schema",)"
        R"("$id":"http://localhost:1234/draft2019-09/metaschema-no-validation.json",)"
        R"("$vocabulary":{"https://json-schema.org/draft/2019-09/vocab/applicator":true,)"
        R"("https://json-schema.org/draft/2019-09/vocab/core":true},"$recursiveAnchor":true,)"
        R"("allOf":[{"$ref":"https://json-schema.org/draft/2019-09/meta/applicator"},)"
        R"({"$ref":"https://json-schema.org/draft/2019-09/meta/core"}]})";
    remotes["http://localhost:1234/format.json"] =
        R"({"$schema":"https://json-schema.org/draft/2019-09/schema",)"
        R"("$id":"http://localhost:1234/format.json",)"
        R"("$vocabulary":{"https://json-schema.org/draft/2019-09/vocab/format":true}})";
    remotes["http://localhost:1234/unknown.json"] =
        R"({"$vocabulary":{"http://localhost:1234/vocab/unknown":true}})";
    constexpr std::string_view kSchema =
        R"({"$schema":"http://localhost:1234/draft2019-09/metaschema-no-validation.json",)"
        R"("properties":{"badProperty":false,"numberProperty":{"minimum":10}}})";
    EXPECT_FALSE(valid(Dialect::k2019_09, kSchema, R"({"badProperty":1})"));
    EXPECT_TRUE(valid(Dialect::k2019_09, kSchema, R"({"numberProperty":1})"));
    EXPECT_FALSE(valid(Dialect::k2019_09,
                       R"({"$schema":"http://localhost:1234/format.json","format":"ipv4"})",
                       R"("x")"));
    EXPECT_FALSE(
        compiles(Dialect::k2019_09, R"({"$schema":"http://localhost:1234/unknown.json"})"));
}

TEST_F(Dialects, ReferencesIntoOtherDialectsKeepTheirMeaning) {
    remotes["http://localhost:1234/draft2019-09/ignore-prefixItems.json"] =
        R"({"$id":"http://localhost:1234/draft2019-09/ignore-prefixItems.json",)"
        R"("$schema":"https://json-schema.org/draft/2019-09/schema",)"
        R"("prefixItems":[{"type":"string"}]})";
    remotes["http://localhost:1234/draft2020-12/prefixItems.json"] =
        R"({"$id":"http://localhost:1234/draft2020-12/prefixItems.json",)"
        R"("$schema":"https://json-schema.org/draft/2020-12/schema",)"
        R"("prefixItems":[{"type":"string"}]})";
    remotes["http://localhost:1234/draft7/ignore-dependentRequired.json"] =
        R"({"$id":"http://localhost:1234/draft7/integer.json",)"
        R"("$schema":"http://json-schema.org/draft-07/schema#",)"
        R"("dependentRequired":{"foo":["bar"]}})";
    EXPECT_TRUE(valid(Dialect::k2020_12,
                      R"({"$ref":"http://localhost:1234/draft2019-09/ignore-prefixItems.json"})",
                      "[1]"));
    EXPECT_FALSE(valid(Dialect::k2019_09,
                       R"({"$ref":"http://localhost:1234/draft2020-12/prefixItems.json"})", "[1]"));
    EXPECT_TRUE(valid(Dialect::k2019_09,
                      R"({"$ref":"http://localhost:1234/draft7/ignore-dependentRequired.json"})",
                      R"({"foo":1})"));
}

TEST_F(Dialects, IdAndAnchorFollowTheirDialect) {
    EXPECT_FALSE(
        valid(Dialect::kDraft6,
              R"({"allOf":[{"$ref":"#foo"}],"definitions":{"A":{"$id":"#foo","type":"integer"}}})",
              R"("a")"));
    EXPECT_FALSE(
        valid(Dialect::kDraft7,
              R"({"$ref":"http://localhost:1234/bar#foo",)"
              R"("definitions":{"A":{"$id":"http://localhost:1234/bar#foo","type":"integer"}}})",
              R"("a")"));
    EXPECT_FALSE(valid(
        Dialect::k2019_09,
        R"({"$id":"http://localhost:1234/root","$ref":"http://localhost:1234/nested.json#foo",)"
        R"("$defs":{"A":{"$id":"nested.json","$defs":{"B":{"$anchor":"foo","type":"integer"}}}}})",
        R"("a")"));
    EXPECT_FALSE(compiles(Dialect::k2019_09, R"({"$id":"#foo"})"));
    EXPECT_TRUE(compiles(Dialect::k2019_09, R"({"$id":"http://localhost:1234/a#"})"));
    EXPECT_FALSE(
        compiles(Dialect::kDraft7, R"({"$ref":"#foo","definitions":{"A":{"$anchor":"foo"}}})"));
    EXPECT_FALSE(
        valid(Dialect::k2019_09,
              R"({"$id":"urn:uuid:deadbeef-1234-00ff-ff00-4321feebdaed",)"
              R"("properties":{"foo":{"$ref":"#/$defs/bar"}},"$defs":{"bar":{"type":"string"}}})",
              R"({"foo":1})"));
    EXPECT_FALSE(valid(
        Dialect::k2019_09,
        R"({"$schema":"https://json-schema.org/draft/2019-09/schema",)"
        R"("$id":"http://localhost:1234/outer","$ref":"#/$defs/x","$defs":{"x":{"$id":"/inner",)"
        R"("$schema":"http://json-schema.org/draft-07/schema#","items":[{"type":"string"}]}}})",
        "[1]"));
}

}  // namespace
}  // namespace crab::json
