#include "fleet/catalogue.hpp"

#include "base/task/test_loop.hpp"
#include "core/call/test_tools.hpp"
#include "fleet/link_tools.hpp"
#include "fleet/registry_directory.hpp"
#include "fleet/remote_host.hpp"

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace crab::fleet {
namespace {

using namespace std::chrono_literals;

/// The links of a fleet, in memory.
struct TableOfLinks final : LinkTable {
    Result<std::vector<std::uint64_t>> claim(NodeName self, const std::vector<Link>& changed,
                                             const std::vector<std::uint64_t>& kept) override {
        if (away) return fail(ErrorCode::kUnavailable, "away");
        const auto is_kept = [&](const Link& one) {
            return one.process.node == self.number && std::ranges::count(kept, one.connection) != 0;
        };
        if (std::cmp_not_equal(std::ranges::count_if(links, is_kept), kept.size()))
            return fail(ErrorCode::kNotFound, "not there");
        std::erase_if(links, [&](const Link& one) {
            return one.process.node == self.number && !is_kept(one);
        });
        std::vector<std::uint64_t> given;
        for (Link link : changed) {
            written.push_back(link.source);
            link.process = {.node = self.number, .boot = self.number * 11u};
            if (link.epoch == 0) link.epoch = ++last_epoch;
            given.push_back(link.epoch);
            links.push_back(std::move(link));
        }
        ++changes;
        return given;
    }
    Result<std::string> version() override {
        if (away) return fail(ErrorCode::kUnavailable, "away");
        return std::to_string(changes);
    }
    Result<std::vector<Link>> read(std::uint16_t but_of) override {
        std::vector<Link> others;
        for (const Link& link : links)
            if (link.process.node != but_of) others.push_back(link);
        std::ranges::sort(others, {}, &Link::epoch);
        return others;
    }
    std::vector<Link> links;
    std::vector<std::string> written;  ///< names, in order
    std::uint64_t last_epoch = 0;
    int changes = 0;
    bool away = false;
};

core::ToolRef device_tool(const std::string& device, const std::string& owner,
                          std::uint64_t connection, core::ToolSpec spec = {}) {
    spec.name = "act";
    const auto tool = core::make_tool(std::move(spec)).value();
    tool->set_source({.kind = core::SourceKind::kDevice,
                      .name = device,
                      .owner = owner,
                      .connection = ConnectionId{connection}});
    return tool;
}

struct NodeOfTest {
    NodeOfTest(TestLoop& loop, BlockingPool& pool, LinkTable& table, std::uint16_t number)
        : catalogue({.table = table,
                     .pool = pool,
                     .registry = registry,
                     .self = [this] { return name; },
                     .devices = [this] { return devices; },
                     .clock = loop.clock,
                     .home = loop.executor(),
                     .timers = loop.timers}),
          name{.number = number, .incarnation = 1},
          directory({.registry = registry.published(),
                     .rules = rules,
                     .known = catalogue.known(),
                     .clock = loop.clock,
                     .timers = loop.timers}) {
        catalogue.start();
    }
    void connect(std::uint64_t connection, const std::string& device, const std::string& owner,
                 core::ToolSpec spec = {}) {
        registry.change(
            ConnectionId{connection},
            std::vector<core::ToolRef>{device_tool(device, owner, connection, std::move(spec))},
            {});
        devices.push_back(ConnectionId{connection});
    }
    void close(std::uint64_t connection) {
        registry.remove_owner(ConnectionId{connection});
        std::erase(devices, ConnectionId{connection});
    }
    std::optional<Route> find(TestLoop& loop, std::string_view tool) {
        core::Call call;
        call.tool = tool;
        const auto found = loop.start(directory.find(call, *principal));
        return found->get();
    }

    core::Registry registry;
    std::vector<ConnectionId> devices;
    Catalogue catalogue;
    NodeName name;
    Published<core::CallRules> rules{std::make_shared<const core::CallRules>(
        core::CallRules{.policy = core::policy_of(), .hooks = {}, .rates = {}})};
    core::PrincipalRef principal = core::principal_of("caller/ann");
    RegistryDirectory directory;
};

struct CatalogueTest : testing::Test {
    TestLoop loop;
    BlockingPool pool{0};
    TableOfLinks table;
    int jobs = 0;  ///< that the pool has done
    NodeOfTest one{loop, pool, table, 1}, two{loop, pool, table, 2};

    CatalogueTest() { pass(); }
    ~CatalogueTest() override {
        for (NodeOfTest* node : {&one, &two}) node->catalogue.stop([] {});
        pass();
    }
    void pass(std::chrono::milliseconds time = 3s) {
        for (; time > 0ms; time -= 10ms) {
            loop.advance(10ms);
            while (pool.run_here()) {
                ++jobs;
                loop.settle();
            }
        }
    }
    static ForwardHead head_of(const Route& route) {
        return {.connection = route.connection, .epoch = route.epoch};
    }
};

TEST_F(CatalogueTest, ADeviceOfOneNodeIsFoundAtTheOtherUntilItLeaves) {
    core::ToolSpec spec;
    spec.description = "does it";
    spec.side_effects = true;
    one.connect(5, "kettle", "device/kettle", spec);
    pass();
    const auto route = two.find(loop, "kettle__act");
    ASSERT_TRUE(route);
    EXPECT_EQ(route->place, (bus::Place{.node = 1, .loop = 0, .boot = 11}));
    EXPECT_EQ(route->tool, "kettle__act");
    EXPECT_TRUE(two.find(loop, "act")) << "by its plain name too";
    EXPECT_FALSE(one.find(loop, "kettle__act")) << "where it is, it is here";
    EXPECT_TRUE(one.catalogue.is_here(head_of(*route)));
    const auto listed = two.registry.snapshot()->size();
    EXPECT_EQ(listed, 1u);
    one.close(5);
    EXPECT_FALSE(one.catalogue.is_here(head_of(*route))) << "at once";
    pass();
    EXPECT_FALSE(two.find(loop, "kettle__act"));
    EXPECT_EQ(two.registry.snapshot()->size(), 0u);
}

TEST_F(CatalogueTest, ADeviceThatMovesIsWhereItCameLast) {
    one.connect(5, "kettle", "device/kettle");
    pass();
    two.connect(9, "kettle", "device/kettle");
    pass();
    const auto route = one.find(loop, "kettle__act");
    ASSERT_TRUE(route) << "although its broken link is still here";
    EXPECT_EQ(route->place.node, 2);
    EXPECT_FALSE(two.find(loop, "kettle__act"));
    one.connect(6, "kettle", "device/kettle");
    one.close(5);
    pass();
    EXPECT_FALSE(one.find(loop, "kettle__act"));
    EXPECT_EQ(two.find(loop, "kettle__act")->connection, 6u);
}

TEST_F(CatalogueTest, ANameIsNotTakenFromAnotherPrincipalsDevice) {
    one.connect(5, "kettle", "device/kettle");
    pass();
    two.connect(9, "kettle", "caller/mallory");
    pass();
    EXPECT_FALSE(one.find(loop, "kettle__act")) << "the one that is here keeps it";
    EXPECT_EQ(one.registry.snapshot()->size(), 1u);
    EXPECT_EQ(two.registry.snapshot()->size(), 1u);
}

TEST_F(CatalogueTest, ANewIncarnationClaimsItsLinksAgainUnderTheirEpochs) {
    one.connect(5, "kettle", "device/kettle");
    pass();
    const auto before = two.find(loop, "kettle__act");
    table.links.clear();  // those of a fenced incarnation do not count
    ++table.changes;
    pass();
    EXPECT_FALSE(two.find(loop, "kettle__act"));
    one.name.incarnation = 2;
    pass();
    const auto after = two.find(loop, "kettle__act");
    ASSERT_TRUE(after);
    EXPECT_EQ(after->epoch, before->epoch);
}

TEST_F(CatalogueTest, OnlyWhatChangedIsWrittenAndAllThatTheDatabaseHasLost) {
    one.connect(5, "kettle", "device/kettle");
    one.connect(6, "lamp", "device/lamp");
    pass();
    EXPECT_EQ(std::exchange(table.written, {}), (std::vector<std::string>{"kettle", "lamp"}));
    core::ToolSpec other;
    other.description = "does more";
    one.registry.change(
        ConnectionId{6},
        std::vector<core::ToolRef>{device_tool("lamp", "device/lamp", 6, std::move(other))}, {});
    pass();
    EXPECT_EQ(std::exchange(table.written, {}), std::vector<std::string>{"lamp"});
    EXPECT_TRUE(two.find(loop, "kettle__act"));
    one.close(6);
    pass();
    EXPECT_EQ(table.written, std::vector<std::string>{});
    EXPECT_FALSE(two.find(loop, "lamp__act"));
    const auto before = two.find(loop, "kettle__act");
    table.links.clear();
    one.connect(7, "door", "device/door");
    pass();
    EXPECT_EQ(table.written, (std::vector<std::string>{"kettle", "door"}));
    ASSERT_TRUE(two.find(loop, "kettle__act"));
    EXPECT_EQ(two.find(loop, "kettle__act")->epoch, before->epoch);
}

TEST_F(CatalogueTest, ToolsOfOtherNodesAreReadInThePool) {
    const auto jobs_of = [&](const std::function<void()>& change) {
        pass();
        jobs = 0;
        change();
        ++table.changes;
        pass();
        return jobs;
    };
    const int known = jobs_of([] {});
    core::ToolRef tool = device_tool("kettle", "device/kettle", 5);
    const int unknown = jobs_of([&] {
        table.links.push_back({.process = {.node = 3, .boot = 33},
                               .connection = 5,
                               .epoch = 1,
                               .source = "kettle",
                               .tools = link_tools_to_wire(std::vector<core::ToolRef>{tool})});
    });
    EXPECT_EQ(unknown, known + 2) << "one more at each of the two nodes";
    EXPECT_TRUE(one.find(loop, "kettle__act"));
    EXPECT_EQ(jobs_of([] {}), known) << "and not again";
}

TEST_F(CatalogueTest, WithoutTheDatabaseWhatWasReadLastCounts) {
    one.connect(5, "kettle", "device/kettle");
    pass();
    table.away = true;
    one.connect(6, "lamp", "device/lamp");
    pass();
    EXPECT_TRUE(two.find(loop, "kettle__act"));
    EXPECT_FALSE(two.find(loop, "lamp__act"));
    table.away = false;
    pass();
    EXPECT_TRUE(two.find(loop, "lamp__act"));
}

TEST_F(CatalogueTest, AReservedNameIsNotGivenToADeviceOfAnotherNode) {
    two.registry.reserve("act");
    two.registry.reserve("lamp__");
    one.connect(5, "kettle", "device/kettle");
    one.connect(6, "lamp", "device/lamp");
    pass();
    EXPECT_TRUE(two.find(loop, "kettle__act"));
    EXPECT_FALSE(two.find(loop, "act"));
    EXPECT_FALSE(two.find(loop, "lamp__act"));
}

TEST(LinkToolsTest, AToolIsReadAsItWasWritten) {
    core::ToolSpec spec;
    spec.name = "act";
    spec.title = "Act";
    spec.description = "does it";
    spec.input_schema = R"({"type":"object","properties":{"a":{"type":"integer"}}})";
    spec.accepts = {"image/png", "image/jpeg"};
    spec.default_timeout = 7s;
    spec.max_timeout = 70s;
    spec.max_concurrency = 3;
    spec.annotations = {.read_only = false, .destructive = true, .open_world = {}, .trusted = true};
    spec.idempotent = spec.effects_known = true;
    const auto tool = core::make_tool(spec).value();
    tool->tenant = TenantId("acme");
    tool->more_tenants = {TenantId("garden"), TenantId("")};
    tool->drops_nulls = true;
    tool->set_source(
        {.kind = core::SourceKind::kDevice, .name = "kettle", .owner = "device/kettle"});
    const auto read =
        parse_link_tools(link_tools_to_wire(std::vector<core::ToolRef>{tool})).value();
    ASSERT_EQ(read.size(), 1u);
    const core::Tool& same = *read[0];
    EXPECT_EQ(same.unique_name, "kettle__act");
    EXPECT_EQ(same.source.owner, "device/kettle");
    EXPECT_EQ(same.tenant, tool->tenant);
    EXPECT_EQ(same.more_tenants, tool->more_tenants);
    EXPECT_EQ(same.spec.title, "Act");
    EXPECT_EQ(same.spec.input_schema, tool->spec.input_schema);
    EXPECT_NE(same.input, nullptr);
    EXPECT_EQ(same.spec.accepts, spec.accepts);
    EXPECT_EQ(same.spec.default_timeout, 7s);
    EXPECT_EQ(same.spec.max_timeout, 70s);
    EXPECT_EQ(same.spec.max_concurrency, 3u);
    EXPECT_EQ(same.spec.annotations.read_only, false);
    EXPECT_EQ(same.spec.annotations.destructive, true);
    EXPECT_EQ(same.spec.annotations.open_world, std::nullopt);
    EXPECT_TRUE(same.spec.annotations.trusted);
    EXPECT_TRUE(same.spec.idempotent);
    EXPECT_FALSE(same.spec.side_effects);
    EXPECT_TRUE(same.spec.effects_known);
    EXPECT_TRUE(same.drops_nulls);
    EXPECT_FALSE(same.unlisted);
    EXPECT_EQ(link_tools_to_wire(std::vector<core::ToolRef>{read[0]}),
              link_tools_to_wire(std::vector<core::ToolRef>{tool}));
}

TEST(LinkToolsTest, WhatIsCutOrNoToolIsRefused) {
    const auto tool = device_tool("kettle", "device/kettle", 1);
    const std::string text = link_tools_to_wire(std::vector<core::ToolRef>{tool});
    for (std::size_t size = 1; size < text.size(); ++size)
        EXPECT_FALSE(parse_link_tools(std::string_view(text).substr(0, size))) << size;
    const auto nobodys = device_tool("kettle", "", 1);
    EXPECT_FALSE(parse_link_tools(link_tools_to_wire(std::vector<core::ToolRef>{nobodys})));
}

TEST_F(CatalogueTest, ANodeThatHasJustBegunWaitsUntilItKnowsWhatOthersHaveAndNotForLong) {
    one.connect(5, "kettle", "device/kettle");
    pass();
    table.away = true;
    NodeOfTest three{loop, pool, table, 3};
    core::Call call;
    call.tool = "kettle__act";
    const auto late = loop.start(three.directory.find(call, *three.principal));
    pass(100ms);
    EXPECT_FALSE(late->ended());
    table.away = false;
    pass(2s);
    ASSERT_TRUE(late->ended());
    EXPECT_TRUE(late->get());
    EXPECT_FALSE(three.find(loop, "nobody__act")) << "at once, for it knows";
    table.away = true;
    NodeOfTest four{loop, pool, table, 4};
    const auto never = loop.start(four.directory.find(call, *four.principal));
    pass(4s);
    ASSERT_TRUE(never->ended());
    EXPECT_FALSE(never->get());
    for (NodeOfTest* node : {&three, &four}) node->catalogue.stop([] {});
    pass();
}

}  // namespace
}  // namespace crab::fleet
