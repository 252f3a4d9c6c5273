#include "adapters/clawseed/registration.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include <chrono>
#include <memory>

#include <fmt/format.h>

namespace crab::clawseed {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class RegistrationTest : public testing::Test {
protected:
    /// Reads `tools`, the text of an array.
    Registration read(const std::string& tools, bool replace = false) {
        RegistrationContext context{.registry = registry,
                                    .policy = policy,
                                    .principal = std::make_shared<const core::Principal>(principal),
                                    .limits = limits,
                                    .overrides = overrides,
                                    .held = held,
                                    .schema_bytes_of_others = [this] { return bytes_of_others; },
                                    .believes_claims = believed};
        RegistrationReader reader(
            fmt::format(R"({{"type":"register_tools","replace":{},"tools":{}}})", replace, tools),
            64, std::move(context));
        steps = 1;
        while (reader.step(slice)) ++steps;
        return reader.take();
    }
    /// One element with these members behind name, description and parameters.
    core::ToolSpec read_one(std::string_view more) {
        const Registration registration =
            read(fmt::format(R"([{{"name":"t","description":"d","parameters":{{}}{}{}}}])",
                             more.empty() ? "" : ",", more));
        EXPECT_EQ(registration.taken.size(), 1u)
            << (registration.rejected.empty() ? "" : registration.rejected[0].message);
        return registration.taken.empty() ? core::ToolSpec{} : registration.taken[0].tool->spec;
    }
    static std::string tool(std::string_view name) {
        return fmt::format(R"({{"name":"{}","description":"d","parameters":{{}}}})", name);
    }
    static std::vector<std::string> names(const Registration& registration) {
        std::vector<std::string> found;
        for (const auto& taken : registration.taken) found.push_back(taken.tool->spec.name);
        return found;
    }
    // an object inside objects, `depth` deep, that is a schema
    static std::string nested(std::size_t depth) {
        std::string text;
        for (std::size_t i = 0; i + 1 < depth; ++i) text += R"({"not":)";
        text += R"({"type":"string"})";
        return text + std::string(depth - 1, '}');
    }

    core::Registry registry;
    std::shared_ptr<const core::Policy> policy = core::Policy::make({}).value();
    core::Principal principal{.id = "device/kitchen-tablet",
                              .tenant = {},
                              .roles = {core::Role::kDevice},
                              .proof = core::Proof::kBearerToken,
                              .device = "kitchen-tablet",
                              .credential_id = "c"};
    RegistrationLimits limits;
    std::vector<ToolOverride> overrides;
    std::vector<RegisteredTool> held;
    std::size_t bytes_of_others = 0;
    bool believed = false;
    std::chrono::steady_clock::duration slice = std::chrono::hours(1);
    int steps = 0;
};

TEST_F(RegistrationTest, Item14_AnElementWithoutItsThreeFieldsIsSkippedAndTheOthersAreTaken) {
    const Registration registration =
        read(R"([{"description":"d","parameters":{}}, {"name":"a","parameters":{}}, {"name":"b",)"
             R"("description":"d"},
        {"name":"c","description":null,"parameters":{}}, {"name":7,"description":"d",)"
             R"("parameters":{}}, {"name":"e","description":"d","parameters":[]},
        7, null, "text", [], {}, {"name":"good","description":"","parameters":{},"extra":null}])");
    EXPECT_EQ(registration.count, 12u);
    EXPECT_THAT(names(registration), ElementsAre("good"));
    ASSERT_EQ(registration.rejected.size(), 11u);
    EXPECT_EQ(registration.rejected[1].name, "a");
    EXPECT_EQ(registration.rejected[10].index, 10u);
    for (const Rejected& rejected : registration.rejected)
        EXPECT_EQ(rejected.code, ErrorCode::kInvalidArgs);
}

TEST_F(RegistrationTest, Item13_OfEqualNamesTheLastWinsAndAllCount) {
    const Registration registration =
        read(R"([{"name":"a","description":"old","parameters":{}},{"name":"b","description":"d",)"
             R"("parameters":{}},{"name":"a","description":"new","parameters":{}}])");
    EXPECT_EQ(registration.count, 3u);
    EXPECT_THAT(names(registration), ElementsAre("a", "b"));
    EXPECT_EQ(registration.taken[0].tool->spec.description, "new");
    EXPECT_THAT(registration.rejected, IsEmpty());
}

TEST_F(RegistrationTest, ABrokenRepeatLeavesTheGoodOneBeforeIt) {
    const Registration registration =
        read(R"([{"name":"a","description":"good","parameters":{}},{"name":"a","description":"d",)"
             R"("parameters":{"type":7}}])");
    EXPECT_THAT(names(registration), ElementsAre("a"));
    EXPECT_EQ(registration.taken[0].tool->spec.description, "good");
    EXPECT_EQ(registration.rejected.size(), 1u);
}

TEST_F(RegistrationTest, Item53_NamesAre1To128OfAFewCharacters) {
    for (const std::string& good : {std::string("a"), std::string("phone__camera"),
                                    std::string("A-Z.a_9"), std::string(128, 'n')})
        EXPECT_THAT(names(read("[" + tool(good) + "]")), ElementsAre(good));
    for (const std::string& bad : {std::string(), std::string("a b"), std::string("a/b"),
                                   std::string("é"), std::string("a\\n"), std::string(129, 'n')}) {
        const Registration registration = read("[" + tool(bad) + "]");
        EXPECT_EQ(registration.count, 1u);
        ASSERT_EQ(registration.rejected.size(), 1u) << bad;
        EXPECT_EQ(registration.rejected[0].code, ErrorCode::kInvalidArgs);
    }
}

TEST_F(RegistrationTest, EmptyParametersMeanAnyObjectAndOthersMustCompile) {
    EXPECT_EQ(read_one("").input_schema, R"({"type":"object"})");
    const Registration broken =
        read(R"([{"name":"a","description":"d","parameters":{"type":"integr"}}])");
    ASSERT_EQ(broken.rejected.size(), 1u);
    EXPECT_EQ(broken.rejected[0].code, ErrorCode::kInvalidArgs);
}

TEST_F(RegistrationTest, DescriptionAndParametersHaveTheirLimits) {
    const auto with = [](std::string_view description, std::string_view parameters) {
        return fmt::format(R"([{{"name":"a","description":"{}","parameters":{}}}])", description,
                           parameters);
    };
    EXPECT_EQ(read(with(std::string(8192, 'd'), "{}")).taken.size(), 1u);
    EXPECT_EQ(read(with(std::string(8193, 'd'), "{}")).rejected.at(0).code, ErrorCode::kOversize);
    EXPECT_EQ(read(with("d", nested(32))).taken.size(), 1u);
    EXPECT_EQ(read(with("d", nested(33))).rejected.at(0).code, ErrorCode::kOversize);
    const std::string frame = R"({"description":""})";
    EXPECT_EQ(read(with("d", fmt::format(R"({{"description":"{}"}})",
                                         std::string(65536 - frame.size(), 'x'))))
                  .taken.size(),
              1u);
    EXPECT_EQ(read(with("d", fmt::format(R"({{"description":"{}"}})",
                                         std::string(65537 - frame.size(), 'x'))))
                  .rejected.at(0)
                  .code,
              ErrorCode::kOversize);
}

TEST_F(RegistrationTest, Item53_ReservedNamesAreRefusedInAnyCase) {
    registry.reserve("shell");
    for (const char* name : {"shell", "Shell", "SHELL"})
        EXPECT_EQ(read("[" + tool(name) + "]").rejected.at(0).code, ErrorCode::kForbidden);
    EXPECT_THAT(names(read("[" + tool("shell2") + "]")), ElementsAre("shell2"));
}

TEST_F(RegistrationTest, Item54_PolicyAllowsNamesAndADenialNamesTheRule) {
    std::vector<core::PolicyRule> rules(1);
    rules[0].principal = Glob("device/kitchen-tablet");
    rules[0].register_allow = {Glob("read_*")};
    rules[0].register_deny = {Glob("read_contacts")};
    policy = core::Policy::make(std::move(rules)).value();
    const Registration registration = read("[" + tool("read_thermometer") + "," +
                                           tool("read_contacts") + "," + tool("camera") + "]");
    EXPECT_THAT(names(registration), ElementsAre("read_thermometer"));
    ASSERT_EQ(registration.rejected.size(), 2u);
    for (const Rejected& rejected : registration.rejected) {
        EXPECT_EQ(rejected.code, ErrorCode::kForbidden);
        EXPECT_THAT(rejected.message, HasSubstr("policy"));
    }
}

TEST_F(RegistrationTest, ThereIsALimitOfDistinctNamesAndAKnownNameIsNoNewOne) {
    limits.tools = 3;
    held = {{"known", 1'000}};
    const Registration registration = read("[" + tool("a") + "," + tool("b") + "," + tool("c") +
                                           "," + tool("known") + "," + tool("a") + "]");
    EXPECT_EQ(registration.count, 5u);
    EXPECT_THAT(names(registration), ElementsAre("a", "b", "known"));
    ASSERT_EQ(registration.rejected.size(), 1u);
    EXPECT_EQ(registration.rejected[0].name, "c");
    EXPECT_EQ(registration.rejected[0].code, ErrorCode::kRateLimited);
}

TEST_F(RegistrationTest, AListOfAMillionBadElementsIsCountedButNotRememberedOneByOne) {
    std::string list = "[0";
    for (int i = 1; i < 1'000'000; ++i) list += ",0";
    const Registration registration = read(list + "]");
    EXPECT_EQ(registration.count, 1'000'000u);
    EXPECT_EQ(registration.rejected.size(), 256u);
}

TEST_F(RegistrationTest, OnlyWhatIsRegisteredNowCountsAgainstTheLimit) {
    limits.tools = 3;
    held = {{"a", 0}, {"b", 0}, {"c", 0}};
    const std::string fresh =
        "[" + tool("d") + "," + tool("shell") + "," + tool("e") +
        R"(,{"name":"bad","description":"d","parameters":{"type":"string"}},)" + tool("f") + "," +
        tool("g") + "]";
    EXPECT_EQ(read(fresh).taken.size(), 0u);
    EXPECT_THAT(read(fresh).rejected.at(0).message, HasSubstr("3 tools registered"));
    registry.reserve("shell");
    EXPECT_THAT(names(read(fresh, true)), ElementsAre("d", "e", "f"))
        << "what is refused takes no place, and the list replaces the others";
}

TEST_F(RegistrationTest, AToolWhoseParametersCannotBeAnObjectIsRefused) {
    const Registration registration =
        read(R"([{"name":"a","description":"d","parameters":{"type":"string"}},{"name":"b",)"
             R"("description":"d","parameters":{"anyOf":[{"type":"array"},{"const":1}]}},
        {"name":"c","description":"d","parameters":{"anyOf":[{"type":"array"},)"
             R"({"type":"object"}]}}])");
    EXPECT_THAT(names(registration), ElementsAre("c"));
    ASSERT_EQ(registration.rejected.size(), 2u);
    for (const Rejected& rejected : registration.rejected) {
        EXPECT_EQ(rejected.code, ErrorCode::kInvalidArgs);
        EXPECT_THAT(rejected.message, HasSubstr("no object fits"));
    }
}

std::string heavy_tool(int number) {
    std::string patterns;
    for (int i = 0; i < 20; ++i)
        patterns += fmt::format(R"({}"p{}":{{"pattern":"[\\p{{L}}]{{1,200}}n{}x{}"}})",
                                i == 0 ? "" : ",", i, number, i);
    return fmt::format(R"({{"name":"t{}","description":"d","parameters":{{"type":"object",)"
                       R"("properties":{{{}}}}}}})",
                       number, patterns);
}

TEST_F(RegistrationTest, WhatSchemasTakeIsBoundedForAListAndForAPrincipal) {
    std::string list = "[" + heavy_tool(0);
    for (int i = 1; i < 40; ++i) list += "," + heavy_tool(i);
    list += "," + tool("small") + "]";
    const Registration one = read(list);
    EXPECT_GE(one.taken.size(), 4u);
    EXPECT_LT(one.taken.size(), 20u);
    EXPECT_EQ(one.taken.back().tool->spec.name, "small");
    EXPECT_EQ(one.rejected.at(0).code, ErrorCode::kOversize);
    EXPECT_LE(one.schema_bytes, core::SchemaBudget::kOneList + (64u << 10));
    bytes_of_others = limits.schema_bytes - (1u << 20);
    EXPECT_LT(read(list).taken.size(), one.taken.size())
        << "other connections of the principal count";
    bytes_of_others = 0;
    held = {{"t0", limits.schema_bytes}};
    EXPECT_EQ(names(read(list)), names(one)) << "what the list names again is given back first";
    held = {{"other", limits.schema_bytes}};
    EXPECT_THAT(names(read(list)), IsEmpty());
}

TEST_F(RegistrationTest, AListIsReadInPieces) {
    std::string list = "[" + tool("t0");
    for (int i = 1; i < 50; ++i) list += "," + tool("t" + std::to_string(i));
    slice = std::chrono::steady_clock::duration::zero();
    EXPECT_EQ(read(list + "]").taken.size(), 50u);
    EXPECT_EQ(steps, 50);
}

TEST_F(RegistrationTest, OfAVeryLongListTheBeginningIsLookedAt) {
    limits.elements = 3;
    const Registration registration = read("[" + tool("a") + "," + tool("b") + "," + tool("c") +
                                           "," + tool("d") + "," + tool("e") + "]");
    EXPECT_EQ(registration.count, 5u);
    EXPECT_THAT(names(registration), ElementsAre("a", "b", "c"));
    ASSERT_EQ(registration.rejected.size(), 1u);
    EXPECT_EQ(registration.rejected[0].index, 3u);
}

TEST_F(RegistrationTest, ClaimsOfADeviceThatIsBelievedCount) {
    believed = true;
    const core::ToolSpec reads = read_one(R"("annotations":{"read_only":true})");
    EXPECT_TRUE(reads.annotations.trusted);
    EXPECT_TRUE(reads.idempotent);
    EXPECT_FALSE(reads.may_have_effects());
    EXPECT_TRUE(read_one("").may_have_effects()) << "it says nothing, so nothing is known";
    EXPECT_TRUE(read_one(R"("annotations":{"read_only":false})").side_effects);
}

TEST_F(RegistrationTest, TimeoutsAreClaimsBelowTheGatewaysMaximum) {
    EXPECT_EQ(read_one("").default_timeout, Milliseconds(30'000));
    EXPECT_EQ(read_one("").max_timeout, Milliseconds(120'000));
    EXPECT_EQ(read_one(R"("timeout_ms":500)").default_timeout, Milliseconds(500));
    EXPECT_EQ(read_one(R"("timeout_ms":500000)").default_timeout, Milliseconds(120'000));
    EXPECT_EQ(read_one(R"("max_timeout_ms":1000)").default_timeout, Milliseconds(1'000));
    EXPECT_EQ(read_one(R"("max_timeout_ms":9223372036854775807)").max_timeout,
              Milliseconds(120'000));
    for (const char* ignored : {R"("timeout_ms":0)", R"("timeout_ms":-1)", R"("timeout_ms":"500")",
                                R"("timeout_ms":null)"})
        EXPECT_EQ(read_one(ignored).default_timeout, Milliseconds(30'000));
}

TEST_F(RegistrationTest, ConcurrencyOutputSchemaAndInteractivityAreTaken) {
    const core::ToolSpec spec =
        read_one(R"("max_concurrency":2,"interactive":true,"output_schema":{"type":"object"})");
    EXPECT_EQ(spec.max_concurrency, 2u);
    EXPECT_TRUE(spec.interactive);
    EXPECT_EQ(spec.output_schema, R"({"type":"object"})");
    EXPECT_FALSE(read_one(R"("max_concurrency":0)").max_concurrency);
    EXPECT_FALSE(read_one(R"("max_concurrency":4294967297)").max_concurrency);
    EXPECT_EQ(read(R"([{"name":"a","description":"d","parameters":{},"output_schema":{"type":7}}])")
                  .rejected.size(),
              1u);
}

TEST_F(RegistrationTest, ClaimsOfADeviceOnlyMakeTheGatewayMoreCareful) {
    const core::ToolSpec flattering =
        read_one(R"("annotations":{"read_only":true,"idempotent":true,"destructive":false})");
    EXPECT_FALSE(flattering.idempotent);
    EXPECT_FALSE(flattering.annotations.trusted);
    EXPECT_TRUE(read_one(R"("annotations":{"destructive":true,"read_only":true})").side_effects);
    EXPECT_TRUE(read_one(R"("annotations":{"read_only":false})").side_effects);
    EXPECT_FALSE(read_one(R"("annotations":[])").annotations.read_only);
}

TEST_F(RegistrationTest, TheOperatorsWordHoldsOverTheDevices) {
    ToolOverride rule{.match = Glob("t*"),
                      .timeout = Milliseconds(700),
                      .max_timeout = Milliseconds(900),
                      .max_concurrency = 5,
                      .queue = {},
                      .trust_annotations = true,
                      .idempotent = {},
                      .side_effects = {}};
    overrides = {rule};
    const core::ToolSpec spec =
        read_one(R"("timeout_ms":50,"max_timeout_ms":100,"max_concurrency":1,)"
                 R"("annotations":{"read_only":true})");
    EXPECT_EQ(spec.default_timeout, Milliseconds(700));
    EXPECT_EQ(spec.max_timeout, Milliseconds(900));
    EXPECT_EQ(spec.max_concurrency, 5u);
    EXPECT_TRUE(spec.idempotent) << "a trusted read_only tool may be repeated";
    EXPECT_FALSE(spec.side_effects);
    overrides[0].match = Glob("other");
    EXPECT_EQ(read_one(R"("timeout_ms":50)").default_timeout, Milliseconds(50));
}

}  // namespace
}  // namespace crab::clawseed
