#include "adapters/mcp/wire/revision.hpp"

#include <gtest/gtest.h>

namespace crab::mcp {
namespace {

using enum Revision;

TEST(McpRevision, EveryPublishedVersionIsReadAndWritten) {
    for (const std::string_view name :
         {"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"}) {
        const auto revision = find_revision(name);
        ASSERT_TRUE(revision) << name;
        EXPECT_EQ(name_of(*revision), name);
        EXPECT_EQ(era_of(*revision), name < "2026" ? Era::kLegacy : Era::kModern);
    }
    EXPECT_EQ(find_revision("2025-11-26"), std::nullopt);
    EXPECT_EQ(find_revision(""), std::nullopt);
}

TEST(McpRevision, ALegacyRequestGetsItsVersionOrTheNewestLegacyOne) {
    const RevisionSet all;
    EXPECT_EQ(all.negotiate("2024-11-05"), k2024_11_05);
    EXPECT_EQ(all.negotiate("2025-03-26"), k2025_03_26);
    EXPECT_EQ(all.negotiate("2025-06-18"), k2025_06_18);
    EXPECT_EQ(all.negotiate("2026-07-28"), k2025_11_25) << "initialize opens no modern session";
    EXPECT_EQ(all.negotiate("1.0.0"), k2025_11_25);
    const std::array some{k2025_03_26, k2026_07_28};
    const RevisionSet two(some);
    EXPECT_EQ(two.negotiate("2025-11-25"), k2025_03_26);
    const std::array modern{k2026_07_28};
    EXPECT_EQ(RevisionSet(modern).negotiate("2025-11-25"), std::nullopt);
}

TEST(McpRevision, TheNewestCommonVersionIsTaken) {
    const RevisionSet all;
    const std::array<std::string_view, 3> theirs{"2025-06-18", "2026-07-28", "2099-01-01"};
    EXPECT_EQ(all.newest_common(theirs), k2026_07_28);
    const std::array only_legacy{k2025_11_25, k2025_06_18};
    EXPECT_EQ(RevisionSet(only_legacy).newest_common(theirs), k2025_06_18);
    EXPECT_EQ(all.newest_common({}), std::nullopt);
}

TEST(McpRevision, SupportedVersionsAreListedNewestFirst) {
    EXPECT_EQ(RevisionSet().to_json(),
              R"(["2026-07-28","2025-11-25","2025-06-18","2025-03-26","2024-11-05"])");
    const std::array two{k2025_03_26, k2026_07_28};
    EXPECT_EQ(RevisionSet(two).to_json(), R"(["2026-07-28","2025-03-26"])");
}

TEST(McpRevision, TheTableIsThatOfThePage) {
    const auto with = [](auto member) {
        std::string names;
        for (const Features& features : kFeatures) names += features.*member ? 'x' : '-';
        return names;
    };
    // 2024-11-05, 2025-03-26, 2025-06-18, 2025-11-25, 2026-07-28
    EXPECT_EQ(with(&Features::session), "xxxx-");
    EXPECT_EQ(with(&Features::streamable_http), "-xxxx");
    EXPECT_EQ(with(&Features::batches), "-x---");
    EXPECT_EQ(with(&Features::version_header), "--xxx");
    EXPECT_EQ(with(&Features::request_headers), "----x");
    EXPECT_EQ(with(&Features::asks_in_requests), "xxxx-");
    EXPECT_EQ(with(&Features::form_elicitation), "--xxx");
    EXPECT_EQ(with(&Features::url_elicitation), "---xx");
    EXPECT_EQ(with(&Features::session_methods), "xxxx-");
    EXPECT_EQ(with(&Features::listen), "----x");
    EXPECT_EQ(with(&Features::own_tasks), "---x-");
    EXPECT_EQ(with(&Features::tasks_extension), "----x");
    EXPECT_EQ(with(&Features::close_cancels), "----x");
    EXPECT_EQ(with(&Features::primes_streams), "---x-");
    EXPECT_EQ(with(&Features::result_type), "----x");
    EXPECT_EQ(with(&Features::cache_hints), "----x");
    EXPECT_EQ(with(&Features::audio), "-xxxx");
    EXPECT_EQ(with(&Features::resource_links), "--xxx");
    EXPECT_EQ(with(&Features::annotations), "-xxxx");
    EXPECT_EQ(with(&Features::titles), "--xxx");
    EXPECT_EQ(with(&Features::object_meta), "--xxx");
    EXPECT_EQ(with(&Features::icons), "---xx");
    EXPECT_EQ(with(&Features::completions), "-xxxx");
    EXPECT_EQ(features_of(k2025_03_26).structured, Structured::kNone);
    EXPECT_EQ(features_of(k2025_11_25).structured, Structured::kObject);
    EXPECT_EQ(features_of(k2026_07_28).structured, Structured::kAny);
    EXPECT_EQ(features_of(k2025_11_25).resource_not_found, -32002);
    EXPECT_EQ(features_of(k2026_07_28).resource_not_found, -32602);
}

}  // namespace
}  // namespace crab::mcp
