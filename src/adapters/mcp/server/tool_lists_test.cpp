#include "adapters/mcp/server/tool_lists.hpp"

#include "adapters/mcp/server/catalog_lists.hpp"
#include "adapters/mcp/server/test_support.hpp"
#include "adapters/mcp/server/view_cache.hpp"
#include "json/raw_parts.hpp"

#include <array>
#include <map>
#include <random>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace crab::mcp {
namespace {

using testing::HasSubstr;
using testing::Not;

struct McpToolLists : test::ServerTest {
    McpToolLists()
        : ServerTest([] {
              ServerOptions options = quiet();
              options.page = 3;
              return options;
          }()) {}
    /// Names of a page, and the cursor behind it.
    std::vector<std::string> names(const std::string& body, std::string* cursor = nullptr) {
        const auto result = json::find_raw(body, "result").value_or("");
        std::vector<std::string> found;
        for (json::RawParts tools(json::find_raw(result, "tools").value_or("")); tools.next();)
            found.push_back(json::find_raw_string(tools.value(), "name").value_or("?"));
        if (cursor != nullptr) *cursor = json::find_raw_string(result, "nextCursor").value_or("");
        return found;
    }
    std::string page(const std::string& cursor, std::string_view fields = {}) {
        const std::string params = cursor.empty() ? "" : fmt::format(R"("cursor":"{}")", cursor);
        return ask("POST", modern_fields("tools/list") + std::string(fields),
                   modern_body("tools/list", params))
            .body;
    }
};

TEST_F(McpToolLists, PagesNeitherRepeatNorLoseNamesThatStay) {
    for (const std::string_view name : {"a", "b", "c", "d", "e"}) offer(std::string(name), gate);
    std::string cursor;
    EXPECT_EQ(names(page(""), &cursor), (std::vector<std::string>{"a", "b", "c"}));
    const std::string dropped = "a";
    registry.change(ConnectionId{1}, {}, std::span(&dropped, 1));
    offer("bb", gate);
    EXPECT_EQ(names(page(cursor), &cursor), (std::vector<std::string>{"d", "e", "echo"}));
    EXPECT_EQ(names(page(cursor), &cursor), std::vector<std::string>{"gate"});
    EXPECT_EQ(cursor, "");
}

TEST_F(McpToolLists, ACursorIsOfItsPrincipalAndUnchanged) {
    for (const std::string_view name : {"a", "b", "c"}) offer(std::string(name), gate);
    std::string cursor;
    names(page(""), &cursor);
    ASSERT_FALSE(cursor.empty());
    EXPECT_THAT(page(cursor, "Authorization: Bearer bob\r\n"), HasSubstr("-32602"));
    EXPECT_THAT(page("x" + cursor), HasSubstr("-32602"));
}

TEST_F(McpToolLists, LongNamesAreListedShortAndCanBeCalled) {
    const std::string name(100, 'a');
    offer(name, gate);
    gate->open = true;
    const std::string listed = names(page("")).front();
    EXPECT_EQ(listed.size(), 64u);
    EXPECT_THAT(ask("POST", modern_fields("tools/call", listed),
                    modern_body("tools/call", fmt::format(R"("name":"{}")", listed)))
                    .body,
                HasSubstr("through the gate"));
}

TEST_F(McpToolLists, AnEntryIsMadeOnceForAToolAndARevision) {
    const auto principal = core::principal_of("caller/ann");
    parts[0]->server.thread.run([&] {
        const Scope whole;
        ToolLists lists(*parts[0]->pipeline, registry, whole);
        const auto view = lists.view_of(principal);
        EXPECT_EQ(lists.view_of(principal), view);
        const std::string_view entry = lists.entry(view->items[0], Revision::k2026_07_28);
        EXPECT_THAT(std::string(entry), HasSubstr(R"("description":"does echo")"));
        const std::string digest = lists.digest(*view, Revision::k2026_07_28);
        offer("gate", gate);  // the same again: another view, whose other tools stay as they are
        const auto next = lists.view_of(principal);
        EXPECT_NE(next, view);
        EXPECT_EQ(lists.entry(next->items[0], Revision::k2026_07_28).data(), entry.data());
        EXPECT_EQ(lists.digest(*next, Revision::k2026_07_28), digest);
        offer("third", gate);
        EXPECT_NE(lists.digest(*lists.view_of(principal), Revision::k2026_07_28), digest);
        return 0;
    });
}

TEST_F(McpToolLists, AViewIsMadeOnceForEqualPrincipals) {
    const auto ann = core::principal_of("caller/ann");
    const auto again = std::make_shared<core::Principal>(*ann);
    const auto other = core::principal_of("device/phone", {core::Role::kDevice});
    parts[0]->server.thread.run([&] {
        const Scope all;
        ToolLists lists(*parts[0]->pipeline, registry, all);
        CatalogLists catalog_lists(*parts[0]->pipeline, catalogs, lists);
        const auto view = lists.view_of(ann);
        const auto catalog = catalog_lists.view_of(ann);
        EXPECT_EQ(lists.view_of(again), view);
        EXPECT_EQ(catalog_lists.view_of(again), catalog);
        EXPECT_TRUE(lists.view_of(other)->items.empty()) << "it may call its own tools alone";
        EXPECT_EQ(lists.view_of(core::principal_of("caller/bob")), view) << "who may call the same";
        // no crowd makes it anew for who comes again and again
        for (int i = 0; i < 3000; ++i) {
            const std::string tenant = fmt::format("tenant-{}", i);
            lists.view_of(core::principal_of("caller/ann", {core::Role::kCaller}, tenant));
            EXPECT_EQ(lists.view_of(again), view);
        }
        return 0;
    });
}

TEST_F(McpToolLists, APolicyThatSpeaksOfACallerGivesItAViewOfItsOwn) {
    core::PolicyRule rule;
    rule.principal = Glob("caller/bob");
    rule.call_deny = core::globs({"gate"});
    const auto follow = [&](std::vector<core::PolicyRule> now) {
        core::CallRules set = *rules.get();
        set.policy = core::policy_of(std::move(now));
        rules.set(std::make_shared<const core::CallRules>(set));
    };
    follow({rule});
    const auto ann = core::principal_of("caller/ann"), bob = core::principal_of("caller/bob");
    parts[0]->server.thread.run([&] {
        const Scope all;
        ToolLists lists(*parts[0]->pipeline, registry, all);
        EXPECT_NE(lists.view_of(ann)->find("gate"), nullptr);
        EXPECT_EQ(lists.view_of(bob)->find("gate"), nullptr);
        EXPECT_NE(lists.view_of(ann)->find("gate"), nullptr);
        follow({});
        EXPECT_NE(lists.view_of(bob)->find("gate"), nullptr) << "another policy";
        return 0;
    });
}

TEST_F(McpToolLists, NamesThatSeveralHaveAreListedWithTheirSources) {
    for (std::uint64_t i = 1; i <= 2; ++i) {
        const ConnectionId device{10 + i};
        const std::string slug = fmt::format("d{}", i);
        const std::array tools{core::ToolRef(core::tool_of("same", slug, device)),
                               core::ToolRef(core::tool_of(fmt::format("own{}", i), slug, device))};
        registry.change(device, tools, {});
    }
    // whose plain name is the qualified one of another
    const core::ToolRef taken = core::tool_of("d1__own1", "d3", ConnectionId{13});
    registry.change(ConnectionId{13}, std::span(&taken, 1), {});
    parts[0]->server.thread.run([&] {
        const auto listed = [&](const Scope& scope) {
            ToolLists lists(*parts[0]->pipeline, registry, scope);
            std::string names;
            for (const auto& item : lists.view_of(core::principal_of("caller/ann"))->items)
                if (item.tool->source.name != "phone") names += item.name + " ";
            return names;
        };
        Scope whole, always, one;
        EXPECT_EQ(listed(whole), "d1__same d2__same d3__d1__own1 own1 own2 ");
        always.prefix = Prefix::kAlways;
        EXPECT_EQ(listed(always), "d1__own1 d1__same d2__own2 d2__same d3__d1__own1 ");
        one.name = "one";
        one.tools = core::ToolScope(core::globs({"d1__*"}), core::globs({"d3__*"}));
        EXPECT_EQ(listed(one), "own1 same ");
        return 0;
    });
}

/// What a view shows: of each tool both names and which it is, and the sources.
std::string shown(const ToolView& view) {
    std::string all;
    for (const ToolView::Item& item : view.items)
        all += fmt::format("{} {} {}\n", item.name, item.own_name,
                           static_cast<const void*>(item.tool.get()));
    for (const auto& [source, count] : std::map(view.sources.begin(), view.sources.end()))
        all += fmt::format("{}: {}\n", source, count);
    return all;
}

/// Changes tools whose names are alike, plain and qualified ones.
void change_something(core::Registry& registry, std::mt19937& random) {
    const std::uint64_t owner = random() % 5 + 20;
    const ConnectionId connection{owner};
    const std::array names{"a", "b", "c", "d21__a", "d22__b", "a__b"};
    const std::string name = names[random() % names.size()];
    const core::ToolRef tool = core::tool_of(name, fmt::format("d{}", owner), connection);
    switch (random() % 8) {
        case 0: return registry.remove_owner(connection);
        case 1: return registry.expect({.kind = core::SourceKind::kMcpServer, .name = "x"});
        case 2: return registry.change(connection, {}, std::array{name});
        default: return registry.change(connection, std::array{tool}, {});
    }
}

TEST_F(McpToolLists, APatchedViewIsOneOfTheWholeList) {
    const auto ann = core::principal_of("caller/ann");
    parts[0]->server.thread.run([&] {
        for (std::uint32_t seed = 1; seed <= 60; ++seed) {
            SCOPED_TRACE(testing::Message() << "seed " << seed);
            std::mt19937 random(seed);
            Scope scope;
            scope.prefix = std::array{Prefix::kAuto, Prefix::kAuto, Prefix::kNever}[seed % 3];
            if (seed % 4 == 0) {
                scope.name = "some";
                scope.tools = core::ToolScope(core::globs({"d2*"}), core::globs({"d23__*"}));
            }
            ToolLists lists(*parts[0]->pipeline, registry, scope);
            for (int step = 0; step < 12; ++step) {
                for (std::size_t more = random() % 3; more > 0; --more)
                    change_something(registry, random);
                const auto kept = step % 4 == 0 ? lists.view_of(ann) : nullptr;
                const std::string before = kept ? shown(*kept) : "";
                change_something(registry, random);
                const auto view = lists.view_of(ann);
                ToolLists others(*parts[0]->pipeline, registry, scope);
                EXPECT_EQ(shown(*view), shown(*others.view_of(ann)));
                if (kept) EXPECT_EQ(shown(*kept), before) << "what somebody holds stays";
            }
        }
        return 0;
    });
}

TEST_F(McpToolLists, AViewIsPatchedAndItsDigestIsThatOfWhatItShows) {
    const auto ann = core::principal_of("caller/ann");
    constexpr Revision kNewest = Revision::k2026_07_28, kOlder = Revision::k2025_06_18;
    parts[0]->server.thread.run([&] {
        const Scope whole;
        ToolLists lists(*parts[0]->pipeline, registry, whole);
        const auto digest = [&](Revision revision) {
            return lists.digest(*lists.view_of(ann), revision);
        };
        const std::string newest = digest(kNewest), older = digest(kOlder);
        const ToolView* const before = lists.view_of(ann).get();
        offer("more", gate);
        EXPECT_EQ(lists.view_of(ann).get(), before) << "what nobody holds need not be copied";
        EXPECT_NE(digest(kNewest), newest);
        EXPECT_NE(digest(kOlder), older);
        const std::string with_more = digest(kNewest);
        offer("more", gate, R"({"type":"object","properties":{"n":{"type":"integer"}}})");
        EXPECT_NE(digest(kNewest), with_more);
        offer("more", gate);
        EXPECT_EQ(digest(kNewest), with_more) << "another tool in the same place";
        const std::string more = "more";
        registry.change(ConnectionId{1}, {}, std::array{more});
        EXPECT_EQ(digest(kNewest), newest);
        EXPECT_EQ(digest(kOlder), older);
        // a policy decides on all of them
        rules.set(std::make_shared<const core::CallRules>(*rules.get()));
        EXPECT_EQ(digest(kNewest), newest);
        return 0;
    });
}

TEST_F(McpToolLists, AViewThatNobodyAskedForAgainIsNotKept) {
    const auto ann = core::principal_of("caller/ann");
    const auto device = core::principal_of("device/phone", {core::Role::kDevice});
    parts[0]->server.thread.run([&] {
        const Scope whole;
        ToolLists lists(*parts[0]->pipeline, registry, whole);
        const std::weak_ptr<const ToolView> view = lists.view_of(ann);
        lists.view_of(device);
        offer("one", gate);
        lists.view_of(device);
        EXPECT_FALSE(view.expired());
        offer("two", gate);
        lists.view_of(device);
        EXPECT_TRUE(view.expired()) << "tools that are gone would stay in it for ever";
        return 0;
    });
}

TEST(McpViewCache, WhatWasGivenLastIsOfItsPrincipalAndVersion) {
    ViewCache<int> cache;
    const auto ann = core::principal_of("caller/ann"), twin = core::principal_of("caller/ann");
    const auto view = std::make_shared<const int>(7);
    EXPECT_EQ(cache.last(*ann, 1), nullptr);
    EXPECT_EQ(cache.give(ann, {.version = 1, .view = view}), view);
    EXPECT_EQ(cache.last(*ann, 1), view);
    EXPECT_EQ(cache.last(*ann, 2), nullptr);
    EXPECT_EQ(cache.last(*twin, 1), nullptr);
    cache.begin(1, [](int) { return true; });
    EXPECT_EQ(cache.last(*ann, 1), nullptr) << "dropped with the views";
}

TEST(McpViewCache, OfTooManyTheOneNotUsedForLongestGoes) {
    ViewCache<int> cache({.views = 3, .items = 100});
    const auto keep = [&](const std::string& key, std::size_t items) {
        cache.keep(key, {.version = 1, .view = std::make_shared<const int>(7)}, items);
    };
    keep("a", 1);
    keep("b", 1);
    keep("c", 1);
    EXPECT_NE(cache.find("a"), nullptr);
    keep("d", 1);
    EXPECT_EQ(cache.find("b"), nullptr);
    EXPECT_NE(cache.find("a"), nullptr);
    keep("e", 99);
    EXPECT_EQ(cache.size(), 2u);
    keep("e", 1);
    keep("f", 90);
    EXPECT_EQ(cache.size(), 3u);
    keep("g", 1000);
    EXPECT_EQ(cache.size(), 1u) << "the newest has its place whatever it takes";
    EXPECT_EQ(cache.take("other"), nullptr);
    EXPECT_EQ(*cache.take("g"), 7);
    EXPECT_EQ(cache.take("g"), nullptr);
    keep("h", 1);
    cache.begin(2, [](int) { return true; });
    EXPECT_EQ(cache.size(), 0u);
}

TEST_F(McpToolLists, HintsAreWrittenOut) {
    EXPECT_THAT(page(""), HasSubstr(R"("annotations":{"readOnlyHint":false,"destructiveHint":true,)"
                                    R"("idempotentHint":false,"openWorldHint":true})"));
}

}  // namespace
}  // namespace crab::mcp
