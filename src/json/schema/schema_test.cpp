#include "json/schema/schema.hpp"

#include "json/parser.hpp"
#include "json/value.hpp"

#include <chrono>
#include <functional>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace crab::json {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<SchemaViolation> violations(std::string_view schema, std::string_view instance,
                                        SchemaOptions options = {}) {
    Parser parser;
    const auto compiled = Schema::compile(schema, options);
    if (!compiled) return {{.message = "schema: " + compiled.error().message}};
    const auto root = parser.parse(instance);
    if (!root) return {{.message = "instance: " + root.error().message}};
    auto found = (*compiled)->validate(root->element());
    EXPECT_EQ((*compiled)->is_valid(root->element()), found.empty());
    return found;
}

std::vector<std::string> messages(std::string_view schema, std::string_view instance,
                                  SchemaOptions options = {}) {
    std::vector<std::string> out;
    for (const auto& violation : violations(schema, instance, options))
        out.push_back(violation.message);
    return out;
}

std::string compile_error(std::string_view schema, SchemaOptions options = {}) {
    const auto compiled = Schema::compile(schema, options);
    if (compiled) return "no error";
    return compiled.error().message;
}

constexpr std::string_view kSearch = R"({
  "type": "object",
  "properties": {
    "limit": {"type": "integer", "maximum": 100},
    "unit": {"enum": ["celsius", "fahrenheit"]},
    "name": {"type": "string", "minLength": 2, "pattern": "^[a-z]+$"},
    "tags": {"type": "array", "items": {"type": "string"}, "maxItems": 2}
  },
  "required": ["room"],
  "additionalProperties": false
})";

TEST(SchemaViolations, AreSentencesThatSayWhereWhatAndWhatWouldDo) {
    EXPECT_THAT(messages(kSearch, R"({"room":1,"limit":500})"),
                ElementsAre("/room: this property is not allowed; known here: \"limit\", \"unit\", "
                            "\"name\", \"tags\"",
                            "/limit: 500 is more than the maximum 100"));
    EXPECT_THAT(messages(kSearch, R"({"unit":"kelvin"})"),
                ElementsAre(R"(/unit: must be one of "celsius", "fahrenheit")",
                            "/room: required property is missing"));
    EXPECT_THAT(messages(R"({"type":["string","null"]})", "[1]"),
                ElementsAre("(root): must be a string or null, not an array"));
    EXPECT_THAT(messages(R"({"items":{"type":"integer"}})", R"([1,"x",1.5])"),
                ElementsAre("/1: must be an integer, not the string \"x\"",
                            "/2: must be an integer, not the number 1.5"));
    EXPECT_THAT(messages(R"({"minLength":1})", R"("")"), ElementsAre("(root): must not be empty"));
    EXPECT_THAT(
        messages(R"({"anyOf":[{"type":"string"},{"properties":{"a":{"const":1}}}]})", R"({"a":2})"),
        ElementsAre("(root): matches none of the 2 alternatives: (1) must be a string, not an "
                    "object; (2) /a: must be 1"));
    EXPECT_THAT(
        messages(R"({"oneOf":[true,{"type":"string"}]})", R"("x")"),
        ElementsAre("(root): matches the alternatives 1 and 2 of 2, but must match exactly one"));
    EXPECT_THAT(messages(R"({"dependentRequired":{"card":["cvc"]}})", R"({"card":1})"),
                ElementsAre(R"(/cvc: required when "card" is present)"));
    EXPECT_THAT(
        messages(R"({"propertyNames":{"maxLength":2}})", R"({"abc":1})"),
        ElementsAre(
            "/abc: the property name is not allowed: has 3 characters, more than the maximum 2"));
    EXPECT_THAT(messages(R"({"properties":{"a/b":false}})", R"({"a/b":1})"),
                ElementsAre("/a~1b: no value is allowed here"));
    EXPECT_THAT(messages(R"({"format":"ipv4"})", R"("nowhere")", {.assert_formats = true}),
                ElementsAre("(root): \"nowhere\" is not a valid ipv4"));
}

TEST(SchemaViolations, CarryPointersAndTheKeyword) {
    const auto found =
        violations(R"({"$ref":"#/$defs/a~1b","$defs":{"a/b":{"items":{"maximum":1}}}})", "[0,2]");
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(found[0].instance_pointer, "/1");
    EXPECT_EQ(found[0].schema_pointer, "/$defs/a~1b/items/maximum");
    EXPECT_EQ(found[0].rule, "maximum");
    EXPECT_EQ(to_json(found),
              R"([{"pointer":"/1","schema":"/$defs/a~1b/items/maximum","rule":"maximum",)"
              R"("message":"/1: 2 is more than the maximum 1"}])");
}

TEST(SchemaViolations, AreBoundedInNumberAndLength) {
    std::string many = "[";
    for (int i = 0; i < 1'000; ++i) many += "1,";
    many.back() = ']';
    EXPECT_EQ(violations(R"({"items":false})", many).size(), 16u);
    std::string choices = R"({"enum":[)";
    for (int i = 0; i < 1'000; ++i) choices += fmt::format("\"choice-{}\",", i);
    choices.back() = ']';
    const auto found = messages(choices + "}", '"' + std::string(100'000, 'x') + '"');
    ASSERT_EQ(found.size(), 1u);
    EXPECT_LT(found[0].size(), 450u);
    EXPECT_THAT(found[0], HasSubstr("more"));
}

TEST(SchemaCompile, NamesThePlaceAndTheReason) {
    EXPECT_EQ(
        compile_error(R"({"type":5})"),
        R"(schema /type: must name types out of "null", "boolean", "object", "array", "number",)"
        R"( "integer" and "string")");
    EXPECT_THAT(compile_error(R"({"properties":{"a":{"minLength":-1}}})"),
                HasSubstr("schema /properties/a/minLength: must be a whole number"));
    EXPECT_THAT(compile_error(R"({"properties":{"a":{"$ref":"#/nowhere"}}})"),
                HasSubstr("schema /properties/a/$ref: the pointer \"/nowhere\" does not resolve"));
    EXPECT_THAT(compile_error(R"({"$ref":"https://example.com/x.json"})"),
                HasSubstr("there is no schema \"https://example.com/x.json\" in memory"));
    EXPECT_THAT(compile_error(R"({"pattern":"("})"),
                HasSubstr("schema /pattern: a group is not closed"));
    EXPECT_THAT(compile_error(R"({"$schema":"https://example.com/dialect"})"),
                HasSubstr("unknown dialect"));
    EXPECT_THAT(compile_error(R"({"$defs":{"a":5}})"),
                HasSubstr("schema /$defs/a: a schema must be an object or a boolean"));
    EXPECT_THAT(compile_error(R"({"allOf":{}})"), HasSubstr("/allOf: must be an array of schemas"));
    EXPECT_THAT(compile_error(R"({"required":"a"})"),
                HasSubstr("/required: must be an array of property names"));
    EXPECT_THAT(compile_error(R"({"multipleOf":0})"),
                HasSubstr("/multipleOf: must be more than 0"));
    EXPECT_THAT(compile_error("5"), HasSubstr("must be an object or a boolean"));
    EXPECT_THAT(compile_error("{"), HasSubstr("not valid JSON"));
    EXPECT_THAT(compile_error(R"({"$defs":{"a":{"$id":"x:1"},"b":{"$id":"x:1","type":"null"}}})"),
                HasSubstr("two schemas have the identifier"));
}

TEST(SchemaCompile, IsBoundedInBytesAndDepth) {
    EXPECT_EQ(Schema::compile("{}" + std::string(100, ' '), {.max_bytes = 50}).error().code,
              ErrorCode::kOversize);
    std::string deep;
    for (int i = 0; i < 200; ++i) deep += R"({"not":)";
    EXPECT_THAT(compile_error(deep + "true" + std::string(200, '}')), HasSubstr("deeper than 128"));
}

TEST(SchemaCompile, FollowsLongChainsOfReferences) {
    std::string text = R"({"$ref":"#/$defs/0","$defs":{)";
    for (int i = 0; i < 300; ++i) text += fmt::format(R"("{}":{{"$ref":"#/$defs/{}"}},)", i, i + 1);
    text += R"("300":{"type":"string"}}})";
    EXPECT_TRUE(messages(text, R"("x")").empty());
    EXPECT_EQ(messages(text, "1").size(), 1u);
}

TEST(SchemaLimits, EndlessReferencesAreViolationsAndNotCrashes) {
    EXPECT_THAT(messages(R"({"$ref":"#"})", "1"),
                ElementsAre(HasSubstr("refers to itself without end")));
    EXPECT_THAT(messages(R"({"not":{"$ref":"#"}})", "1"),
                ElementsAre(HasSubstr("refers to itself without end")));
    EXPECT_THAT(
        messages(R"({"anyOf":[true,{"$ref":"#"}],"allOf":[{"$ref":"#"},{"$ref":"#"}]})", "1"),
        ElementsAre(HasSubstr("without end")));
}

TEST(SchemaLimits, BranchingThatDoublesAtEachLevelEndsInBoundedTime) {
    std::string text = R"({"$ref":"#/$defs/0","$defs":{)";
    for (int i = 0; i < 60; ++i)
        text +=
            fmt::format(R"("{}":{{"allOf":[{{"$ref":"#/$defs/{}"}},{{"$ref":"#/$defs/{}"}}]}},)", i,
                        i + 1, i + 1);
    text += R"("60":{"type":"integer"}}})";
    EXPECT_THAT(messages(text, "1"), ElementsAre(HasSubstr("too many steps")));
}

TEST(SchemaLimits, RepeatedItemsAreFoundInLongArrays) {
    std::string text = "[";
    for (int i = 0; i < 50'000; ++i) text += fmt::format(R"({{"id":{}}},)", i);
    EXPECT_TRUE(messages(R"({"uniqueItems":true})", text + R"({"id":-1}])").empty());
    EXPECT_EQ(messages(R"({"uniqueItems":true})", text + R"({"id":77.0}])").size(), 1u);
}

TEST(SchemaLimits, LongEnumsAreSearchedByValue) {
    std::string schema = R"({"enum":[)";
    for (int i = 0; i < 5'000; ++i) schema += fmt::format("{},", i);
    schema += R"({"a":1,"b":2}]})";
    EXPECT_TRUE(messages(schema, "4999.0").empty());
    EXPECT_TRUE(messages(schema, R"({"b":2.0,"a":1})").empty());
    EXPECT_EQ(messages(schema, "5000").size(), 1u);
}

TEST(SchemaLimits, ObjectsWithHundredsOfPropertiesAreChecked) {
    std::string schema = R"({"properties":{)", instance = "{", required = "[";
    for (int i = 0; i < 500; ++i) {
        schema += fmt::format(R"("property_{}":{{"const":{}}},)", i, i);
        instance += fmt::format(R"("property_{}":{},)", i, i);
        required += fmt::format(R"("property_{}",)", i);
    }
    schema.back() = '}';
    required.back() = ']';
    schema += R"(,"unevaluatedProperties":false,"required":)" + required + "}";
    instance.back() = '}';
    EXPECT_TRUE(messages(schema, instance).empty());
    EXPECT_EQ(messages(schema, R"({"property_499":0})").size(), 16u);
}

/// A schema with two ways at each of `levels`, which all fail at the end.
std::string two_ways(int levels) {
    std::string text = R"({"$ref":"#/$defs/0","$defs":{)";
    for (int i = 0; i < levels; ++i)
        text +=
            fmt::format(R"("{}":{{"anyOf":[{{"$ref":"#/$defs/{}"}},{{"$ref":"#/$defs/{}"}}]}},)", i,
                        i + 1, i + 1);
    return text + fmt::format(R"("{}":{{"const":0}}}}}})", levels);
}

/// The best of a few tries, for others use the machine too.
std::chrono::microseconds shortest(const std::function<void()>& work) {
    auto best = std::chrono::microseconds::max();
    for (int i = 0; i < 5; ++i) {
        const auto began = std::chrono::steady_clock::now();
        work();
        best = std::min(best, std::chrono::duration_cast<std::chrono::microseconds>(
                                  std::chrono::steady_clock::now() - began));
    }
    return best;
}

TEST(SchemaLimits, WhatCostsTooMuchIsLookedAtOnceAndSaysSo) {
    const auto schema = Schema::compile(two_ways(40)).value();
    Parser parser;
    const Element one = parser.parse("1").value().element();
    const auto found = schema->check(one);
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(found[0].rule, "cost");
    EXPECT_THAT(found[0].message, HasSubstr("too many steps"));
    EXPECT_LT(shortest([&] { (void)schema->check(one); }), std::chrono::milliseconds(50))
        << "a few milliseconds, where it was a second";
    const auto few = Schema::compile(two_ways(8)).value();
    EXPECT_EQ(few->check(one).front().rule, "anyOf");
    EXPECT_TRUE(few->check(parser.parse("0").value().element()).empty());
}

TEST(SchemaLimits, LargeInstancesMayCostMore) {
    const std::string schema =
        R"({"type":"array","items":{"anyOf":[{"type":"null"},{"type":"string"},)"
        R"({"allOf":[{"type":"integer"},{"minimum":0}]}]}})";
    std::string numbers = "[0";
    for (int i = 1; i < 200'000; ++i) numbers += ",7";
    EXPECT_TRUE(messages(schema, numbers + "]").empty());
    EXPECT_EQ(messages(schema, numbers + ",-1]").size(), 1u);
}

TEST(SchemaLimits, StepsThatLookAtMuchCountForMore) {
    std::string many = "[0";
    for (int i = 1; i < 2'000; ++i) many += ",{}";
    many += "]";
    const auto each_way = [&](std::string_view leaf) {
        std::string text = two_ways(14);
        text.replace(text.rfind(R"({"const":0})"), 11, leaf);
        return text;
    };
    std::string object = "{";
    for (int i = 0; i < 2'000; ++i) object += fmt::format(R"("a{}":0,)", i);
    object.back() = '}';
    const std::vector<std::pair<std::string, std::string>> cases{
        {each_way(fmt::format(R"({{"const":{}}})", many)), many.substr(0, many.size() - 1) + ",1]"},
        {each_way(R"({"uniqueItems":true})"), many},
        {each_way(
             R"({"additionalProperties":{"type":"string"},"patternProperties":{"(?=x)y":false}})"),
         object},
        {each_way(R"({"pattern":"(?=(a+)+$)b"})"), '"' + std::string(2'000, 'a') + '"'},
        {each_way(R"({"pattern":"(?:.{0,40}x){0,5}y"})"), '"' + std::string(20'000, 'a') + '"'},
    };
    for (const auto& [schema, value] : cases) {
        const auto compiled = Schema::compile(schema).value();
        Parser parser;
        const Element instance = parser.parse(value).value().element();
        EXPECT_FALSE(compiled->is_valid(instance));
        EXPECT_LT(shortest([&] { (void)compiled->check(instance); }),
                  std::chrono::milliseconds(200))
            << schema.substr(schema.size() - 100);
    }
}

TEST(SchemaLimits, WhatAProgramTakesIsCountedAsItGrows) {
    const auto refused = [](const std::string& text) {
        const auto compiled = Schema::compile(text, {.max_program_bytes = 1 << 20});
        return compiled
                   ? std::string()
                   : std::string(token_of(compiled.error().code)) + " " + compiled.error().message;
    };
    std::string patterns = R"({"properties":{)";
    for (int i = 0; i < 100; ++i)
        patterns += fmt::format(R"("p{}":{{"pattern":"[\\p{{L}}]{{1,200}}x{}"}},)", i, i);
    patterns.back() = '}';
    std::string names =
        fmt::format(R"({{"properties":{{"{}":{{"properties":{{)", std::string(20'000, 'n'));
    for (int i = 0; i < 1'000; ++i) names += fmt::format(R"("{}":{{}},)", i);
    names.back() = '}';
    std::string nodes = R"({"anyOf":[{})";
    for (int i = 0; i < 10'000; ++i) nodes += R"(,{"not":{}})";
    std::string references = R"({"properties":{)", definitions;
    for (int i = 0; i < 2'000; ++i) {
        references += fmt::format(R"("{}":{{"$ref":"#/$defs/{}"}},)", i, i);
        definitions += fmt::format(R"("{}":{{}},)", i);
    }
    references.back() = '}';
    definitions.back() = '}';
    references += R"(,"$defs":{)" + definitions;
    EXPECT_THAT(refused(patterns + "}"), HasSubstr("OVERSIZE the schema takes more than 1024 KiB"));
    EXPECT_THAT(refused(names + "}}}"), HasSubstr("1024 KiB"));
    EXPECT_THAT(refused(nodes + "]}"), HasSubstr("1024 KiB"));
    EXPECT_THAT(refused(references + "}"), HasSubstr("1024 KiB"));
    EXPECT_LT(Schema::compile(
                  R"({"type":"object","properties":{"a":{"type":"string","pattern":"^[a-z]+$"}}})")
                  .value()
                  ->program_bytes(),
              4'096u);
}

TEST(SchemaLimits, WhatASchemaUsedIsToldAlsoWhenItIsRefused) {
    const auto spent = [](const std::string& text) {
        std::size_t bytes = 0;
        (void)Schema::compile(text, {.max_program_bytes = 1 << 20, .spent = &bytes});
        return bytes;
    };
    const std::string heavy = R"("a":{"pattern":"[\\p{L}]{1,50}"},)";
    const std::size_t good = spent("{\"properties\":{" + heavy + R"("z":{"type":"string"}}})");
    EXPECT_EQ(good, Schema::compile("{\"properties\":{" + heavy + R"("z":{"type":"string"}}})")
                        .value()
                        ->program_bytes());
    EXPECT_GT(spent("{\"properties\":{" + heavy + R"("z":{"type":7}}})"), good / 2)
        << "what comes before the mistake";
    std::string much = R"({"properties":{)";
    for (int i = 0; i < 60; ++i)
        much += fmt::format(R"("p{}":{{"pattern":"[\\p{{L}}]{{1,50}}x{}"}},)", i, i);
    EXPECT_GE(spent(much + R"("z":{}}})"), std::size_t{1} << 20) << "what was too much";
    EXPECT_GT(spent(R"json({"pattern":"(?<a>x)(?<a>y)"})json"), spent(R"({"minLength":"x"})"))
        << "a pattern that nobody can compile was tried";
    EXPECT_EQ(spent("no JSON"), 0u);
}

TEST(SchemaObjects, ARootThatNoObjectFitsIsKnown) {
    const auto may = [](std::string_view text) {
        return Schema::compile(text).value()->may_accept_objects();
    };
    for (const char* never :
         {R"({"type":"string"})", R"({"type":["array","null"]})", R"({"const":5})",
          R"({"enum":[1,"a",[]]})", "false", R"({"not":{}})", R"({"not":{"type":"object"}})",
          R"({"allOf":[{},{"type":"string"}]})", R"({"anyOf":[{"type":"string"},false]})",
          R"({"oneOf":[{"type":"null"}]})",
          R"({"$ref":"#/$defs/a","$defs":{"a":{"type":"integer"}}})", R"({"if":{},"then":false})",
          R"({"if":{"type":"object"},"then":{"type":"string"}})",
          R"({"if":true,"then":false,"else":true})"}) {
        EXPECT_FALSE(may(never)) << never;
    }
    for (const char* perhaps :
         {"{}", "true", R"({"type":"object"})", R"({"type":["string","object"]})",
          R"({"enum":[1,{}]})", R"({"anyOf":[{"type":"string"},{}]})", R"({"$ref":"#"})",
          R"({"not":{"type":"string"}})", R"({"not":{"required":["a"]}})",
          R"({"if":{"type":"string"},"then":false})", R"({"properties":{"a":false}})"}) {
        EXPECT_TRUE(may(perhaps)) << perhaps;
    }
}

TEST(SchemaPatterns, FollowEcma262AndNotTheEngine) {
    const auto matches = [](std::string_view pattern, std::string_view text) {
        return messages(Value::object({{"pattern", pattern}}).dump(), Value(text).dump()).empty();
    };
    EXPECT_TRUE(matches("b", "abc"));
    EXPECT_FALSE(matches("^a$", "a\n"));
    EXPECT_FALSE(matches("^[a-z]+$", "abc\n"));
    EXPECT_TRUE(matches(R"(^\s$)", "\xC2\xA0"));
    EXPECT_TRUE(matches(R"(^\s$)", "\xEF\xBB\xBF"));
    EXPECT_FALSE(matches(R"(^\S$)", "\xE2\x80\xA8"));
    EXPECT_FALSE(matches(R"(^\d$)", "٣"));
    EXPECT_FALSE(matches(R"(^\w$)", "é"));
    EXPECT_TRUE(matches(R"(^\p{Letter}+\p{Script=Greek}$)", "aΩ"));
    EXPECT_TRUE(matches(R"(^\cA\x41\u0042\u{1F980}\uD83E\uDD80$)",
                        "\x01"
                        "AB🦀🦀"));
    EXPECT_TRUE(matches("^.$", "🦀"));
    EXPECT_FALSE(matches("^.$", "\xE2\x80\xA8"));
    EXPECT_TRUE(matches(R"(^(?=.*\d)(?!.*x)\w{3,}$)", "ab1"));
    EXPECT_FALSE(matches(R"(^(?=.*\d)(?!.*x)\w{3,}$)", "abx1"));
    EXPECT_TRUE(matches(R"(^(?<q>['"]).*\k<q>$)", "'a'"));
    EXPECT_FALSE(matches(R"(^(['"]).*\1$)", "'a\""));
    EXPECT_TRUE(matches("^[^]$", "\n"));
    EXPECT_FALSE(matches("[]", "a"));
    EXPECT_TRUE(matches("^{[a-z]+}$", "{a}"));
    EXPECT_TRUE(matches("^a{2,3}b?$", "aab"));
    EXPECT_FALSE(matches("^a{2,3}b?$", "aaaab"));
    EXPECT_TRUE(matches("^[a-z]+[0-9]", "abc1x"));
    EXPECT_TRUE(matches("^[a-z]*a$", "bca"));  // needs more than one way to share the letters out
    EXPECT_TRUE(matches("^(a|b|)$", ""));
    EXPECT_TRUE(matches("^[\\w.-]+@[\\w-]+\\.[a-z]{2,}$", "a.b@c-d.org"));
    EXPECT_TRUE(matches("^a{1500}$", std::string(1'500, 'a')));
}

TEST(SchemaPatterns, WhatIsNotEcma262IsRefused) {
    for (const std::string_view pattern :
         {"(", ")", "[", "a**", "a++", "*", "\\Z", "\\a", "(?i)a", "(?P<n>a)", "\\1", "[b-a]",
          "\\u12", "\\p{Nonsense}", "a{2,1}", "\\", "\\k<n>"}) {
        EXPECT_THAT(compile_error(Value::object({{"pattern", pattern}}).dump()),
                    HasSubstr("schema /pattern: "))
            << pattern;
    }
}

TEST(SchemaPatterns, BacktrackingThatExplodesIsCutOff) {
    EXPECT_EQ(messages(R"({"pattern":"^(?=(a+)+$)(a+)+$"})", '"' + std::string(5'000, 'a') + "b\"")
                  .size(),
              1u);
}

}  // namespace
}  // namespace crab::json
