#include "core/registry/registry.hpp"

#include "core/call/test_tools.hpp"
#include "core/policy/policy.hpp"
#include "core/registry/absent_tool.hpp"

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace crab::core {
namespace {

constexpr ConnectionId kFirst{1}, kSecond{2}, kThird{3};

struct RegistryTest : testing::Test {
    Registry registry;
    PrincipalRef caller = principal_of("caller/ann");
    std::shared_ptr<const Policy> policy = policy_of();

    View view(std::string_view prefer_source = {}, ConnectionId prefer = {},
              std::string_view tenant = {}) const {
        return {.principal = caller.get(),
                .policy = policy.get(),
                .tenant = tenant,
                .prefer_source = prefer_source,
                .prefer = prefer};
    }
    void add(ConnectionId owner, ToolRef tool) {
        registry.change(owner, std::array{std::move(tool)}, {});
    }
    void drop(ConnectionId owner, std::string name) {
        registry.change(owner, {}, std::array{std::move(name)});
    }
    Result<ToolRef> resolve(std::string_view name) const {
        return registry.snapshot()->resolve(view(), name);
    }
    std::vector<std::string> listed() const {
        std::vector<std::string> names;
        for (const auto& [name, tool] : registry.snapshot()->list(view())) names.push_back(name);
        return names;
    }
};

using Names = std::vector<std::string>;

TEST_F(RegistryTest, AToolHasItsPlainAndItsQualifiedName) {
    const ToolRef tool = tool_of("echo", "phone", kFirst);
    add(kFirst, tool);
    EXPECT_EQ(resolve("echo").value(), tool);
    EXPECT_EQ(resolve("phone__echo").value(), tool);
    EXPECT_EQ(listed(), Names{"echo"});
    EXPECT_EQ(registry.snapshot()->size(), 1u);
}

TEST_F(RegistryTest, WhatAConnectionRegisteredLeavesWithItAndNothingElseDoes) {
    add(kFirst, tool_of("echo", "phone", kFirst));
    add(kSecond, tool_of("echo", "tablet", kSecond));
    registry.remove_owner(kFirst);
    EXPECT_EQ(resolve("echo").value()->source.name, "tablet");
    EXPECT_EQ(resolve("phone__echo").error().code, ErrorCode::kToolNotFound);
    registry.remove_owner(kFirst);
    registry.remove_owner(kSecond);
    EXPECT_EQ(listed(), Names{});
    EXPECT_EQ(registry.snapshot()->size(), 0u);
}

TEST_F(RegistryTest, AnotherConnectionCannotDropWhatItDoesNotOwn) {
    add(kFirst, tool_of("echo", "phone", kFirst));
    drop(kSecond, "echo");
    EXPECT_TRUE(resolve("echo"));
}

TEST_F(RegistryTest, ChangeAddsToTheSetAndReplaceIsTheSet) {
    const ToolRef a = tool_of("a", "phone", kFirst), b = tool_of("b", "phone", kFirst),
                  c = tool_of("c", "phone", kFirst);
    registry.change(kFirst, std::array{a, b}, {});
    registry.change(kFirst, std::array{c}, std::array<std::string, 2>{"a", "no such"});
    EXPECT_EQ(listed(), (Names{"b", "c"}));
    registry.replace(kFirst, std::array{a});
    EXPECT_EQ(listed(), Names{"a"});
    EXPECT_EQ(registry.owned_by(kFirst), std::vector{a});
}

TEST_F(RegistryTest, OfOneOwnersEqualNamesTheLastWins) {
    const ToolRef old = tool_of("a", "phone", kFirst), newer = tool_of("a", "phone", kFirst);
    registry.change(kFirst, std::array{old, newer}, {});
    EXPECT_EQ(resolve("a").value(), newer);
    EXPECT_EQ(registry.snapshot()->size(), 1u);
    registry.replace(kFirst, std::array{newer, old});
    EXPECT_EQ(resolve("a").value(), old);
    registry.replace(kFirst, std::array{old, old});
    EXPECT_EQ(registry.snapshot()->size(), 1u);
}

TEST_F(RegistryTest, OfOneDevicesConnectionsTheLatestWinsUnlessOneIsPreferred) {
    const ToolRef old = tool_of("a", "phone", kFirst), newer = tool_of("a", "phone", kSecond);
    add(kFirst, old);
    add(kSecond, newer);
    EXPECT_EQ(resolve("a").value(), newer);
    EXPECT_EQ(registry.snapshot()->resolve(view({}, kFirst), "a").value(), old);
    EXPECT_EQ(registry.snapshot()->resolve(view({}, kFirst), "phone__a").value(), old);
    EXPECT_EQ(registry.snapshot()->resolve(view({}, kThird), "a").value(), newer);
    registry.remove_owner(kSecond);
    EXPECT_EQ(resolve("a").value(), old);
}

TEST_F(RegistryTest, AnAmbiguousNameListsTheChoicesAndEachOfThemWorks) {
    add(kFirst, tool_of("echo", "phone", kFirst));
    add(kSecond, tool_of("echo", "tablet", kSecond));
    const auto refused = resolve("echo");
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::kAmbiguousTool);
    EXPECT_EQ(refused.error().details, R"({"choices":["phone__echo","tablet__echo"]})");
    EXPECT_EQ(listed(), (Names{"phone__echo", "tablet__echo"}));
    for (const std::string& name : listed()) EXPECT_EQ(resolve(name).value()->unique_name, name);
    EXPECT_EQ(registry.snapshot()->resolve(view("tablet"), "echo").value()->source.name, "tablet");
    EXPECT_EQ(registry.snapshot()->resolve(view(), "echo", "phone").value()->source.name, "phone");
    EXPECT_EQ(registry.snapshot()->resolve(view(), "echo", "nobody").error().code,
              ErrorCode::kToolNotFound);
}

TEST_F(RegistryTest, OfVeryManyChoicesSomeAreListed) {
    for (std::uint64_t i = 1; i <= 100; ++i)
        add(ConnectionId{i}, tool_of("echo", "phone" + std::to_string(i), ConnectionId{i}));
    const auto refused = resolve("echo");
    ASSERT_FALSE(refused);
    EXPECT_EQ(std::ranges::count(refused.error().details, ','), 31);
    EXPECT_LT(refused.error().message.size(), 1000u);
}

TEST_F(RegistryTest, APlainNameCannotShadowAQualifiedOne) {
    const ToolRef good = tool_of("open", "door", kFirst);
    add(kFirst, good);
    add(kSecond, tool_of("door__open", "evil", kSecond));
    EXPECT_EQ(resolve("door__open").value(), good);
    EXPECT_EQ(resolve("evil__door__open").value()->source.name, "evil");
    EXPECT_EQ(listed(), (Names{"evil__door__open", "open"}));
}

TEST_F(RegistryTest, ADeviceCannotTakeABuiltInsNameWithItsQualifiedOne) {
    const ToolRef built_in = tool_of("door__open");
    add(kFirst, built_in);
    const ToolRef device = tool_of("open", "door", kSecond);
    add(kSecond, device);
    EXPECT_EQ(resolve("door__open").value(), built_in);
    EXPECT_EQ(resolve("open").value(), device);
    registry.remove_owner(kSecond);
    EXPECT_EQ(resolve("door__open").value(), built_in);
    EXPECT_EQ(resolve("open").error().code, ErrorCode::kToolNotFound);
}

TEST_F(RegistryTest, TwoSourcesThatShareAQualifiedNameDoNotAnswerForEachOthersPlainNames) {
    const ToolRef one = tool_of("b__c", "a", kFirst), other = tool_of("c", "a__b", kSecond);
    add(kFirst, one);
    add(kSecond, other);
    EXPECT_EQ(resolve("b__c").value(), one);
    EXPECT_EQ(resolve("c").value(), other);
    registry.remove_owner(kSecond);
    EXPECT_EQ(resolve("c").error().code, ErrorCode::kToolNotFound);
    EXPECT_EQ(resolve("b__c").value(), one);
    EXPECT_EQ(resolve("a__b__c").value(), one);
}

TEST_F(RegistryTest, AnUnlistedToolIsFoundByItsUniqueNameOnly) {
    const std::shared_ptr<Tool> hidden = make_tool({.name = "resources.read"}).value();
    hidden->set_source({.kind = SourceKind::kMcpServer, .name = "files"});
    hidden->unlisted = hidden->unique_name_only = true;
    EXPECT_EQ(hidden->source_text, "mcp/files") << "in policy and audit";
    add(kFirst, hidden);
    EXPECT_EQ(resolve("files__resources.read").value(), hidden);
    EXPECT_EQ(resolve("resources.read").error().code, ErrorCode::kToolNotFound);
    EXPECT_EQ(listed(), Names{});
}

TEST_F(RegistryTest, AnUnlistedToolMayHaveItsPlainNameAndIsInNoListEither) {
    const std::shared_ptr<Tool> held = make_tool({.name = "read"}).value();
    held->set_source({.kind = SourceKind::kMcpServer, .name = "files"});
    held->unlisted = true;
    add(kFirst, held);
    EXPECT_EQ(resolve("read").value(), held);
    EXPECT_EQ(listed(), Names{});
}

TEST_F(RegistryTest, AnUnlistedToolTakesNoNameFromThoseThatAreListed) {
    const std::shared_ptr<Tool> held = make_tool({.name = "read"}).value();
    held->set_source({.kind = SourceKind::kMcpServer, .name = "files"});
    held->unlisted = true;
    const ToolRef seen = tool_of("read", "phone", kSecond);
    add(kFirst, held);
    add(kSecond, seen);
    EXPECT_EQ(resolve("read").value(), seen);
    EXPECT_EQ(resolve("files__read").value(), held);
    EXPECT_EQ(listed(), Names{"read"});
}

TEST_F(RegistryTest, EachChangeIsTold) {
    int told = 0;
    const ChangeSignal::Watch watch = registry.changes().watch([&] { ++told; });
    add(kFirst, tool_of("open", "door", kFirst));
    EXPECT_EQ(told, 1);
    registry.remove_owner(kFirst);
    EXPECT_EQ(told, 2);
    registry.remove_owner(kFirst);
    EXPECT_EQ(told, 2) << "nothing had changed";
}

TEST_F(RegistryTest, APlainNameGoesToTheBuiltInAndTheDevicesKeepTheirQualifiedOnes) {
    const ToolRef built_in = tool_of("echo"), device = tool_of("echo", "phone", kSecond);
    add(kFirst, built_in);
    add(kSecond, device);
    EXPECT_EQ(resolve("echo").value(), built_in);
    EXPECT_EQ(resolve("phone__echo").value(), device);
    EXPECT_EQ(listed(), (Names{"echo", "phone__echo"}));
}

TEST_F(RegistryTest, NamesAreReservedInAnyCase) {
    registry.reserve("Memory.Search");
    EXPECT_TRUE(registry.is_reserved("memory.search"));
    EXPECT_TRUE(registry.is_reserved("MEMORY.SEARCH"));
    EXPECT_FALSE(registry.is_reserved("memory.searc"));
}

TEST_F(RegistryTest, NamesOfASourceAreReservedFromItsAnnouncementOn) {
    const ToolSource notes{.kind = SourceKind::kPeer, .name = "Notes", .owner = {}};
    EXPECT_FALSE(registry.is_reserved("notes__append"));
    registry.expect(notes);
    registry.settle(notes);  // it may be away
    for (const char* name : {"notes__append", "NOTES__x", "notes__a__b"})
        EXPECT_TRUE(registry.is_reserved(name)) << name;
    for (const char* name : {"notes", "notes_append", "my_notes__append", "x__notes__append"})
        EXPECT_FALSE(registry.is_reserved(name)) << name;
    EXPECT_TRUE(registry.is_reserved("notes__"));
}

TEST_F(RegistryTest, ASourcesToolComesBeforeADevicesOfTheSameQualifiedName) {
    auto hosted = std::make_shared<Tool>(*tool_of("append", "notes", kFirst));
    hosted->set_source({.kind = SourceKind::kPeer, .name = "notes", .owner = {}});
    const ToolRef theirs = tool_of("append", "notes", kSecond);
    add(kFirst, hosted);
    add(kSecond, theirs);
    EXPECT_EQ(resolve("notes__append").value(), hosted) << "although the device came later";
    EXPECT_EQ(registry.snapshot()->resolve(view({}, kSecond), "notes__append").value(), hosted);
}

TEST_F(RegistryTest, ATenantSeesItsOwnToolsAndThoseOfNobody) {
    add(kFirst, tool_of("a", "phone", kFirst, "acme"));
    add(kSecond, tool_of("b", "tablet", kSecond, "other"));
    add(kThird, tool_of("c", "shared", kThird));
    caller = principal_of("caller/ann", {Role::kCaller}, "acme");
    EXPECT_EQ(listed(), (Names{"a", "c"}));
    EXPECT_EQ(resolve("b").error().code, ErrorCode::kToolNotFound);
    caller = principal_of("caller/ann");
    EXPECT_EQ(listed(), (Names{"a", "b", "c"}));
    EXPECT_EQ(registry.snapshot()->list(view({}, {}, "other")).size(), 2u);
}

TEST_F(RegistryTest, APrincipalOfOneTenantSeesNothingOfAnotherHoweverItAsks) {
    add(kFirst, tool_of("a", "phone", kFirst, "acme"));
    caller = principal_of("caller/eve", {Role::kCaller}, "other");
    EXPECT_TRUE(registry.snapshot()->list(view({}, {}, "acme")).empty());
    EXPECT_EQ(registry.snapshot()->resolve(view({}, {}, "acme"), "a").error().code,
              ErrorCode::kToolNotFound);
}

TEST_F(RegistryTest, WhatMayNotBeCalledIsNeitherListedNorFoundNorSuggested) {
    add(kFirst, tool_of("camera", "phone", kFirst));
    policy = policy_of({PolicyRule{.principal = {},
                                   .tenant = {},
                                   .roles = {},
                                   .sources = {},
                                   .call_allow = {},
                                   .call_deny = globs({"camera"}),
                                   .call_needs_approval = {},
                                   .register_allow = {},
                                   .register_deny = {},
                                   .where = {}}});
    EXPECT_EQ(listed(), Names{});
    const auto refused = resolve("camera");
    EXPECT_EQ(refused.error().code, ErrorCode::kToolNotFound);
    EXPECT_EQ(refused.error().message.find("camera"), std::string::npos);
}

TEST_F(RegistryTest, AMisspeltNameGetsASuggestion) {
    add(kFirst, tool_of("camera", "phone", kFirst));
    EXPECT_NE(resolve("camrea").error().message.find("did you mean camera?"), std::string::npos);
}

TEST_F(RegistryTest, WhatASourceMayHaveThatHasNotToldItsToolsIsUnavailableNotUnknown) {
    const ToolSource shop{.kind = SourceKind::kPeer, .name = "shop", .owner = {}},
        bank{.kind = SourceKind::kProvider, .name = "bank", .owner = {}};
    const auto code_of = [&](std::string_view name, std::string_view provider = {}) {
        const auto found = registry.snapshot()->resolve(view(), name, provider);
        EXPECT_EQ(!found && found.error().may_retry(),
                  !found && found.error().code == ErrorCode::kUnavailable);
        return found ? std::nullopt : std::optional(found.error().code);
    };
    registry.expect(shop);
    registry.expect(shop);
    registry.expect(bank);
    add(kFirst, tool_of("echo", "phone", kFirst));
    EXPECT_EQ(code_of("echo"), std::nullopt);
    EXPECT_EQ(code_of("buy"), ErrorCode::kUnavailable);
    EXPECT_EQ(code_of("shop__buy"), ErrorCode::kUnavailable);
    EXPECT_EQ(code_of("pay", "bank"), ErrorCode::kUnavailable);
    EXPECT_EQ(code_of("pay", "phone"), ErrorCode::kToolNotFound);
    EXPECT_EQ(code_of("phone__buy"), ErrorCode::kToolNotFound)
        << "the phone is there, and has no such tool";
    EXPECT_EQ(code_of("no tool's name!"), ErrorCode::kToolNotFound);
    policy =
        policy_of({{.principal = {}, .sources = globs({"peer/*"}), .call_deny = globs({"*"})}});
    EXPECT_EQ(code_of("shop__buy"), ErrorCode::kUnavailable)
        << "it may be the bank's: a plain name holds anything";
    EXPECT_EQ(code_of("buy", "shop"), ErrorCode::kToolNotFound)
        << "nothing is said of what may not be called";
    policy = policy_of();
    registry.settle(bank);
    EXPECT_EQ(code_of("buy"), ErrorCode::kUnavailable);
    registry.settle(shop);
    registry.settle(shop);
    EXPECT_EQ(code_of("buy"), ErrorCode::kToolNotFound);
    EXPECT_EQ(code_of("shop__buy"), ErrorCode::kToolNotFound);
}

TEST_F(RegistryTest, WhatMayBeAToolOfWhoIsAwayIsUnavailableToThoseWhoMightCallIt) {
    struct Away final : AbsentTools {
        std::vector<std::shared_ptr<const Tool>> meant_by(
            std::string_view name, std::string_view provider) const override {
            if (name != "torch" || (!provider.empty() && provider != "phone")) return {};
            auto tool = absent_tool({.kind = SourceKind::kDevice, .name = "phone", .owner = {}},
                                    "torch", {});
            tool->tenant = TenantId{std::string(kDefaultTenant)};
            return {tool};
        }
    };
    registry.set_absent(std::make_shared<Away>());
    const auto code_of = [&](std::string_view name, std::string_view provider = {}) {
        const auto found = registry.snapshot()->resolve(view(), name, provider);
        return found ? std::nullopt : std::optional(found.error().code);
    };
    EXPECT_EQ(code_of("torch"), ErrorCode::kUnavailable);
    EXPECT_EQ(code_of("torch", "phone"), ErrorCode::kUnavailable);
    EXPECT_EQ(code_of("torch", "tablet"), ErrorCode::kToolNotFound);
    EXPECT_EQ(code_of("lamp"), ErrorCode::kToolNotFound);
    add(kFirst, tool_of("torch", "phone", kFirst));
    EXPECT_EQ(code_of("torch"), std::nullopt) << "it is back";
    registry.remove_owner(kFirst);
    policy =
        policy_of({{.principal = {}, .sources = globs({"device/*"}), .call_deny = globs({"*"})}});
    EXPECT_EQ(code_of("torch"), ErrorCode::kToolNotFound)
        << "nothing is said of what may not be called";
    policy = policy_of();
    registry.set_absent(nullptr);
    EXPECT_EQ(code_of("torch"), ErrorCode::kToolNotFound);
}

TEST_F(RegistryTest, AHiddenDeviceDoesNotMakeANameAmbiguous) {
    add(kFirst, tool_of("echo", "phone", kFirst));
    add(kSecond, tool_of("echo", "tablet", kSecond));
    policy = policy_of({PolicyRule{.principal = {},
                                   .tenant = {},
                                   .roles = {},
                                   .sources = globs({"device/tablet"}),
                                   .call_allow = {},
                                   .call_deny = globs({"*"}),
                                   .call_needs_approval = {},
                                   .register_allow = {},
                                   .register_deny = {},
                                   .where = {}}});
    EXPECT_EQ(resolve("echo").value()->source.name, "phone");
    EXPECT_EQ(listed(), Names{"echo"});
}

TEST_F(RegistryTest, PagesTogetherAreTheWholeList) {
    for (std::uint64_t i = 1; i <= 250; ++i)
        add(ConnectionId{i},
            tool_of("t" + std::to_string(i % 83), "d" + std::to_string(i), ConnectionId{i}));
    Names all;
    for (std::string after;;) {
        const auto page = registry.snapshot()->list(view(), after, 7);
        if (page.empty()) break;
        ASSERT_LE(page.size(), 7u);
        for (const auto& [name, tool] : page) all.push_back(name);
        after = page.back().name;
    }
    EXPECT_EQ(all, listed());
    EXPECT_TRUE(std::ranges::is_sorted(all));
    EXPECT_TRUE(registry.snapshot()->list(view(), {}, 0).empty());
}

TEST_F(RegistryTest, ASnapshotInUseDoesNotChange) {
    add(kFirst, tool_of("a", "phone", kFirst));
    const SnapshotRef before = registry.snapshot();
    registry.remove_owner(kFirst);
    EXPECT_TRUE(before->resolve(view(), "a"));
    EXPECT_FALSE(resolve("a"));
}

/// What the documentation promises, told without any of the registry's own structure.
struct Model {
    std::vector<ToolRef> tools;   ///< oldest first
    const View& view;

    bool visible(const Tool& tool) const {
        return (tool.tenant.empty() || view.tenant.empty() || tool.tenant.text() == view.tenant) &&
               view.policy->may_call(*view.principal, tool);
    }
    /// The tools that a unique name may mean, one for each source: its latest.
    std::vector<ToolRef> reachable() const {
        std::map<std::string, ToolRef> by_name;
        for (const ToolRef& tool : tools) {
            if (visible(*tool)) by_name[tool->unique_name] = tool;
        }
        std::vector<ToolRef> out;
        for (auto& [name, tool] : by_name) out.push_back(std::move(tool));
        return out;
    }
};

/// A registry after sixty random changes, and what was added to it and not removed.
struct RandomRegistry {
    explicit RandomRegistry(std::uint32_t seed) : random(seed) {
        for (int step = 0; step < 60; ++step) change();
    }

    std::string one_of(std::initializer_list<const char*> words) {
        return std::string(words.begin()[random() % words.size()]);
    }
    void change() {
        const std::uint64_t owner = random() % 8 + 1;
        const ConnectionId connection{owner};
        if (random() % 10 == 0) {
            registry.remove_owner(connection);
            for (const auto& [name, tool] : owned[owner]) std::erase(tools, tool);
            owned.erase(owner);
            return;
        }
        // Owner 1 holds the built-ins; 2 and 3 are connections of one device.
        const std::string slug = owner == 1 ? "" : owner <= 3 ? "d2" : "d" + std::to_string(owner);
        const std::string name = owner == 1 ? one_of({"built", "in"})
                                            : one_of({"a", "b", "c", "d2__a", "d4__b", "a__b"});
        const ToolRef tool =
            tool_of(name, slug, connection, owner == 1 ? "" : one_of({"", "", "acme", "other"}));
        const bool removes = random() % 4 == 0;
        if (removes)
            registry.change(connection, {}, std::array{name});
        else
            registry.change(connection, std::array{tool}, {});
        if (const auto it = owned[owner].find(name); it != owned[owner].end()) {
            std::erase(tools, it->second);
            owned[owner].erase(it);
        }
        if (removes) return;
        owned[owner][name] = tool;
        tools.push_back(tool);
    }
    std::shared_ptr<const Policy> policy() {
        PolicyRule deny, allow;
        deny.call_deny = {Glob(one_of({"a", "d2__*", "*b*", "built", "none"}))};
        if (random() % 2 == 0) deny.sources = {Glob(one_of({"device/d2", "device/*", "built_in"}))};
        allow.call_allow = {Glob(one_of({"*", "a", "d*", "built"})),
                            Glob(one_of({"b", "in", "d4__*"}))};
        std::vector<PolicyRule> rules;
        if (random() % 2 == 0) rules.push_back(deny);
        if (random() % 3 == 0) rules.push_back(allow);
        return policy_of(std::move(rules));
    }

    std::mt19937 random;
    Registry registry;
    std::map<std::uint64_t, std::map<std::string, ToolRef>> owned;
    std::vector<ToolRef> tools;  ///< oldest first
};

/// Every listed name leads to the listed tool, and every tool is listed once.
void expect_that_the_list_resolves(const RegistrySnapshot& snapshot, const View& view,
                                   const std::vector<ToolRef>& reachable) {
    std::multiset<const Tool*> seen;
    const auto listed = snapshot.list(view);
    for (const auto& [name, tool] : listed) {
        const auto found = snapshot.resolve(view, name);
        ASSERT_TRUE(found) << name << ": " << found.error().message;
        ASSERT_EQ(*found, tool) << name;
        seen.insert(tool.get());
    }
    std::multiset<const Tool*> expected;
    for (const ToolRef& tool : reachable) expected.insert(tool.get());
    ASSERT_EQ(seen, expected);
    ASSERT_TRUE(std::ranges::is_sorted(listed, {}, &RegistrySnapshot::Listed::name));
}

/// The list at once is that of pages of one, whose names are looked at one by one.
void expect_that_pages_are_the_list(const RegistrySnapshot& snapshot, const View& view) {
    std::vector<std::pair<std::string, ToolRef>> at_once, one_by_one;
    for (const auto& [name, tool] : snapshot.list(view)) at_once.emplace_back(name, tool);
    for (std::string after;;) {
        const auto page = snapshot.list(view, after, 1);
        if (page.empty()) break;
        one_by_one.emplace_back(page[0].name, page[0].tool);
        after = page[0].name;
    }
    ASSERT_EQ(at_once, one_by_one);
}

/// Unique names lead to their tools; plain ones where exactly one has them.
void expect_that_names_resolve(const RegistrySnapshot& snapshot, const View& view,
                               const std::vector<ToolRef>& reachable) {
    for (const ToolRef& tool : reachable) {
        const auto own = snapshot.resolve(view, tool->unique_name);
        ASSERT_TRUE(own) << tool->unique_name;
        ASSERT_EQ(*own, tool);
        const auto plain = snapshot.resolve(view, tool->spec.name);
        const bool taken = std::ranges::any_of(
            reachable, [&](const ToolRef& other) { return other->unique_name == tool->spec.name; });
        const auto same = std::ranges::count_if(
            reachable, [&](const ToolRef& other) { return other->spec.name == tool->spec.name; });
        if (taken) {
            ASSERT_EQ(plain.value()->unique_name, tool->spec.name);
        } else if (same == 1) {
            ASSERT_EQ(plain.value(), tool);
        } else {
            ASSERT_EQ(plain.error().code, ErrorCode::kAmbiguousTool);
        }
    }
}

TEST(Registry, ListingEqualsCallableForRandomRegistriesAndPolicies) {
    for (std::uint32_t seed = 1; seed <= 150; ++seed) {
        SCOPED_TRACE(testing::Message() << "seed " << seed);
        RandomRegistry made(seed);
        const auto policy = made.policy();
        const auto caller = principal_of("caller/ann");
        const std::string tenant = made.one_of({"", "acme", "other"});
        const View view{.principal = caller.get(),
                        .policy = policy.get(),
                        .tenant = tenant,
                        .prefer_source = {},
                        .prefer = {}};
        const SnapshotRef snapshot = made.registry.snapshot();
        ASSERT_EQ(snapshot->size(), made.tools.size());
        const Model model{.tools = made.tools, .view = view};
        const auto reachable = model.reachable();
        ASSERT_NO_FATAL_FAILURE(expect_that_the_list_resolves(*snapshot, view, reachable));
        ASSERT_NO_FATAL_FAILURE(expect_that_names_resolve(*snapshot, view, reachable));
        ASSERT_NO_FATAL_FAILURE(expect_that_pages_are_the_list(*snapshot, view));
        // Nothing invisible can be reached.
        for (const ToolRef& tool : made.tools) {
            const auto found = snapshot->resolve(view, tool->unique_name);
            if (found) ASSERT_TRUE(model.visible(**found));
        }
    }
}

/// Names and tools of a list.
std::map<std::string, ToolRef> by_name(const std::vector<RegistrySnapshot::Listed>& list) {
    std::map<std::string, ToolRef> all;
    for (const auto& [name, tool] : list) all.emplace(name, tool);
    return all;
}

TEST(Registry, AnEarlierListWithWhatHasChangedIsTheListNow) {
    std::size_t known = 0;
    for (std::uint32_t seed = 1; seed <= 300; ++seed) {
        SCOPED_TRACE(testing::Message() << "seed " << seed);
        RandomRegistry made(seed);
        const auto policy = made.policy();
        const auto caller = principal_of("caller/ann");
        const std::string tenant = made.one_of({"", "acme", "other"});
        const View view{.principal = caller.get(),
                        .policy = policy.get(),
                        .tenant = tenant,
                        .prefer_source = {},
                        .prefer = {}};
        const SnapshotRef before = made.registry.snapshot();
        for (std::size_t changes = made.random() % 5; changes > 0; --changes) made.change();
        const SnapshotRef after = made.registry.snapshot();
        const auto change = after->list_change(view, before->number());
        if (!change) continue;
        ++known;
        auto patched = by_name(before->list(view));
        for (const std::string& name : change->names) patched.erase(name);
        for (const auto& [name, tool] : change->now) {
            ASSERT_TRUE(change->names.contains(name));
            patched[name] = tool;
        }
        ASSERT_EQ(patched, by_name(after->list(view)));
        for (const auto& [name, tool] : change->beside) {
            ASSERT_FALSE(change->names.contains(name));
            ASSERT_EQ(patched[name], tool);
        }
    }
    EXPECT_EQ(known, 300u) << "so few changes are remembered";
}

TEST_F(RegistryTest, ChangesThatWereTooManyAreNotRemembered) {
    const auto changed = [&](std::uint64_t since) {
        return registry.snapshot()->list_change(view(), since).has_value();
    };
    const std::uint64_t start = registry.snapshot()->number();
    for (int i = 0; i < 16; ++i) add(kFirst, tool_of(fmt::format("t{}", i), "phone", kFirst));
    EXPECT_TRUE(changed(start));
    add(kFirst, tool_of("one_more", "phone", kFirst));
    EXPECT_FALSE(changed(start));
    EXPECT_TRUE(changed(start + 1));
    EXPECT_FALSE(changed(registry.snapshot()->number() + 1)) << "of another registry";
    std::vector<ToolRef> many;
    for (int i = 0; i < 300; ++i) many.push_back(tool_of(fmt::format("m{}", i), "tv", kSecond));
    registry.replace(kSecond, many);
    EXPECT_FALSE(changed(start + 1));
    const std::uint64_t now = registry.snapshot()->number();
    EXPECT_TRUE(changed(now));
    add(kFirst, tool_of("another", "phone", kFirst));
    EXPECT_TRUE(changed(now));
    EXPECT_FALSE(changed(now - 1));
}

TEST_F(RegistryTest, WhatIsReplacedByItselfStaysAsItIs) {
    std::vector<ToolRef> tools;
    for (const char* const name : {"a", "b", "c"}) tools.push_back(tool_of(name, "phone", kFirst));
    registry.replace(kFirst, tools);
    const SnapshotRef before = registry.snapshot();
    tools[1] = tool_of("b", "phone", kFirst);
    tools.push_back(tools[0]);
    registry.replace(kFirst, tools);
    const auto change = registry.snapshot()->list_change(view(), before->number());
    ASSERT_TRUE(change);
    EXPECT_EQ(change->names, (std::set<std::string, std::less<>>{"b", "phone__b"}));
    EXPECT_EQ(resolve("a").value(), tools[0]);
    EXPECT_EQ(resolve("b").value(), tools[1]);
    EXPECT_EQ(registry.snapshot()->size(), 3u);
    // of equal names the last wins, whichever was there before
    const ToolRef other = tool_of("a", "phone", kFirst);
    registry.replace(kFirst, std::array{other, tools[0]});
    EXPECT_EQ(resolve("a").value(), tools[0]);
    registry.replace(kFirst, std::array{tools[0], other});
    EXPECT_EQ(resolve("a").value(), other);
    EXPECT_EQ(registry.snapshot()->size(), 1u);
    registry.replace(kFirst, {});
    EXPECT_EQ(registry.snapshot()->size(), 0u);
}

/// Some callers, devices and peers, of whom policies may speak by name, role and tenant.
std::vector<PrincipalRef> some_principals() {
    std::vector<PrincipalRef> all;
    for (const char* const id : {"caller/ann", "caller/bob", "device/d2", "peer/p"}) {
        for (const char* const tenant : {"", "acme", "other"}) {
            for (const Roles roles : {Roles{Role::kCaller}, Roles{Role::kDevice},
                                      Roles{Role::kOperator}, Roles{Role::kListener}}) {
                auto made = std::make_shared<Principal>(*principal_of(id, roles, tenant));
                if (all.size() % 3 == 0) made->more_tenants = {TenantId("acme")};
                if (made->id == "peer/p") made->proof = Proof::kCertificate;
                all.push_back(std::move(made));
            }
        }
    }
    return all;
}

TEST(Registry, ViewsOfOneKeyShowTheSame) {
    std::size_t shared = 0;
    for (std::uint32_t seed = 1; seed <= 60; ++seed) {
        SCOPED_TRACE(testing::Message() << "seed " << seed);
        RandomRegistry made(seed);
        PolicyRule some, device;
        some.call_deny = {Glob(made.one_of({"a", "d2__*", "*b*"}))};
        some.principal = Glob(made.one_of({"caller/*", "*/ann", "device/d2"}));
        if (made.random() % 2 == 0) some.tenant = Glob(made.one_of({"acme", "o*"}));
        device.call_allow = {Glob("*")};
        device.roles = {Role::kDevice};
        PeerRule peer{.id = "peer/p", .tenants = {}, .allow = {}, .deny = {}};
        if (made.random() % 2 == 0) peer.role = Role::kCaller;
        const auto policy = Policy::make({some, device}, {peer}).value();
        const SnapshotRef snapshot = made.registry.snapshot();
        std::map<std::string, std::vector<std::string>> lists;
        for (const PrincipalRef& principal : some_principals()) {
            for (const char* const tenant : {"", "acme", "other"}) {
                const View view{.principal = principal.get(),
                                .policy = policy.get(),
                                .tenant = tenant,
                                .prefer_source = {}};
                std::vector<std::string> names;
                for (const auto& [name, tool] : snapshot->list(view))
                    names.push_back(name + " of " + tool->tenant.text());
                const auto [known, is_new] = lists.try_emplace(listing_key(view), names);
                if (!is_new) ++shared;
                ASSERT_EQ(known->second, names) << known->first << ", " << principal->id;
            }
        }
    }
    EXPECT_GT(shared, 3000u) << "or who may do the same would have views of their own";
}

}  // namespace
}  // namespace crab::core
