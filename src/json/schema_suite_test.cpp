#include "json/schema_suite.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

namespace crab::json {
namespace {

namespace fs = std::filesystem;

// Where the official suite's data is: CRAB_JSON_SCHEMA_SUITE names it, else it lies beside the checkout or comes with a package.
std::optional<fs::path> find_suite() {
    std::vector<fs::path> places;
    if (const char* named = std::getenv("CRAB_JSON_SCHEMA_SUITE")) places.emplace_back(named);
    places.push_back(fs::path(CRAB_SOURCE_DIR) / ".." / "shared" / "json-schema-test-suite");
    places.emplace_back("/usr/share/json-schema-test-suite");
    for (const fs::path& place : places) {
        if (fs::is_directory(place / "tests")) return place;
    }
    return std::nullopt;
}

#define NEEDS_SUITE(variable)                                                                                         \
    const auto variable = find_suite();                                                                               \
    if (!variable) GTEST_SKIP() << "the official JSON Schema test suite is not here; set CRAB_JSON_SCHEMA_SUITE to its folder"

std::string lines(const std::vector<std::string>& failures) {
    std::string out;
    for (const std::string& failure : failures) out += failure + "\n";
    return out;
}

TEST(SchemaSuite, EveryRequiredCaseOf2020_12Holds) {
    NEEDS_SUITE(suite);
    const SuiteReport report = run_suite(*suite / "tests" / "draft2020-12", *suite / "remotes");
    EXPECT_EQ(report.failed, 0) << lines(report.failures);
    EXPECT_GT(report.passed, 1'000);
}

TEST(SchemaSuite, EveryRequiredCaseOfDraft7Holds) {
    NEEDS_SUITE(suite);
    const SuiteReport report = run_suite(*suite / "tests" / "draft7", *suite / "remotes");
    EXPECT_EQ(report.failed, 0) << lines(report.failures);
    EXPECT_GT(report.passed, 800);
}

// What docs/reference/json_schema.md says about the optional folders.
TEST(SchemaSuite, OptionalCasesHoldExceptTheAssertionOfContent) {
    NEEDS_SUITE(suite);
    const SuiteReport modern = run_suite(*suite / "tests" / "draft2020-12" / "optional", *suite / "remotes");
    EXPECT_EQ(modern.failed, 0) << lines(modern.failures);
    const SuiteReport seven = run_suite(*suite / "tests" / "draft7" / "optional", *suite / "remotes");
    EXPECT_EQ(seven.failed, 4) << lines(seven.failures);
    for (const std::string& failure : seven.failures) EXPECT_TRUE(failure.starts_with("content.json: ")) << failure;
}

TEST(SchemaSuite, EveryFormatCaseHoldsWhenFormatsAreAsserted) {
    NEEDS_SUITE(suite);
    for (const char* draft : {"draft2020-12", "draft7"}) {
        const SuiteReport report = run_suite(*suite / "tests" / draft / "optional" / "format", *suite / "remotes", {.assert_formats = true});
        EXPECT_EQ(report.failed, 0) << lines(report.failures);
        EXPECT_GT(report.passed, 600);
    }
}

}  // namespace
}  // namespace crab::json
