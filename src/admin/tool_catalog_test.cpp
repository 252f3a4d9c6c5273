#include "admin/tool_catalog.hpp"

#include "core/call/tool_host.hpp"
#include "core/pipeline/test_host_pipeline.hpp"

#include <array>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace crab::admin {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// Two devices; what the second one registers in vain, and what waits, is up to the test.
struct ToolCatalogTest : testing::Test, core::TestHostPipeline {
    std::vector<Presence> present{{.device = "phone"}, {.device = "laptop"}};
    std::vector<std::string> waiting;
    const core::PrincipalRef operator_ = core::principal_of("local/1", {core::Role::kOperator});
    std::optional<ToolCatalog> catalog;

    ToolCatalogTest() {
        serve({}, nullptr, {});
        add("disk_usage", 1, "Shows how full a disk is.\nIn bytes.");
        add("take_photo", 1, "Takes a picture");
        add("take_photo", 2, "Takes a picture");
        catalog.emplace(ToolCatalog::Sources{.pipeline = *pipeline,
                                             .presence = [this] { return present; },
                                             .waiting_tools =
                                                 [this](std::string_view device) {
                                                     return device == "phone"
                                                                ? waiting
                                                                : std::vector<std::string>();
                                                 }});
    }
    void add(std::string name, unsigned connection, std::string description) {
        core::ToolSpec spec;
        spec.description = std::move(description);
        const auto tool = core::tool_of(std::move(name), connection == 1 ? "phone" : "laptop",
                                        ConnectionId{connection}, {}, std::move(spec));
        registry.change(ConnectionId{connection}, std::array<core::ToolRef, 1>{tool}, {});
    }
    /// `name state` of each row that matches.
    std::vector<std::string> find(ToolCatalog::Question question = {}) {
        catalog->refresh(*operator_);
        std::vector<std::string> found;
        for (const auto place : catalog->find(question)) {
            const ToolCatalog::Row& row = catalog->row(place);
            found.push_back(fmt::format("{} {}", row.name, row.state));
        }
        return found;
    }
};

TEST_F(ToolCatalogTest, RowsSayWhyAToolCannotBeCalled) {
    waiting = {"read_contacts"};
    present[1].refused = {{.tool = "bad name", .code = "INVALID_ARGS", .reason = "has a blank"}};
    EXPECT_THAT(find(), ElementsAre("bad name rejected", "disk_usage offered",
                                    "laptop__take_photo ambiguous", "phone__take_photo ambiguous",
                                    "read_contacts held_back"));
    const ToolCatalog::Row* const rejected = catalog->find_name("laptop__bad name");
    ASSERT_NE(rejected, nullptr);
    EXPECT_EQ(rejected->reason, "INVALID_ARGS: has a blank");
    EXPECT_THAT(catalog->find_name("read_contacts")->reason, HasSubstr("crab devices approve"));
    EXPECT_THAT(catalog->find_name("phone__take_photo")->reason, HasSubstr("take_photo"));
    EXPECT_EQ(catalog->find_name("nothing"), nullptr);
}

TEST_F(ToolCatalogTest, QuestionsAreWordsPatternsSourcesAndStates) {
    waiting = {"read_contacts"};
    EXPECT_THAT(find({.text = "DISK full", .source = {}, .state = {}}),
                ElementsAre("disk_usage offered"));
    EXPECT_THAT(find({.text = "disk*", .source = {}, .state = {}}),
                ElementsAre("disk_usage offered"));
    EXPECT_THAT(find({.text = "usage*", .source = {}, .state = {}}), ElementsAre());
    EXPECT_THAT(find({.text = "picture", .source = "device/lap*", .state = {}}),
                ElementsAre("laptop__take_photo ambiguous"));
    EXPECT_THAT(find({.text = {}, .source = {}, .state = "held_back"}),
                ElementsAre("read_contacts held_back"));
    EXPECT_THAT(find({.text = "bytes nowhere", .source = {}, .state = {}}), ElementsAre());
}

TEST_F(ToolCatalogTest, IsMadeAnewOnlyWhenSomethingHasChanged) {
    find();
    const std::uint64_t first = catalog->generation();
    const auto* const rows = &catalog->row(0);
    const auto* const places = catalog->find({}).data();
    find();
    EXPECT_EQ(catalog->generation(), first);
    EXPECT_EQ(&catalog->row(0), rows);
    EXPECT_EQ(catalog->find({}).data(), places) << "the same question is answered once";

    add("vibrate", 1, "Shakes");
    EXPECT_EQ(find().size(), 4u);
    EXPECT_EQ(catalog->generation(), first + 1);
    waiting = {"read_contacts"};
    EXPECT_EQ(find().size(), 5u);
    EXPECT_EQ(catalog->generation(), first + 2) << "what waits is no part of the registry";
}

TEST_F(ToolCatalogTest, KeepsNoToolThatHasLeft) {
    find();
    registry.remove_owner(ConnectionId{1});
    pipeline->list_number();  // the pipeline's own view has it until it looks again
    EXPECT_EQ(catalog->find_name("disk_usage")->tool.lock(), nullptr);
    EXPECT_THAT(find(), ElementsAre("take_photo offered"));
}

}  // namespace
}  // namespace crab::admin
