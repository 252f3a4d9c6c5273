#include "json/parser.hpp"
#include "json/schema/schema.hpp"
#include "json/value.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace crab::json {
namespace {

namespace fs = std::filesystem;

struct SuiteReport {
    int passed = 0;
    int failed = 0;
    std::vector<std::string> failures;  ///< `file: group: case: expected valid, got invalid`
};

std::optional<std::string> read_file(const fs::path& path) {
    std::ifstream in(path, std::ios::binary);
    if (!in) return std::nullopt;
    return std::string(std::istreambuf_iterator<char>(in), {});
}

std::optional<Dialect> dialect_of_path(const fs::path& path) {
    std::optional<Dialect> found;
    for (const fs::path& part : path) {
        if (part == "draft4") found = Dialect::kDraft4;
        if (part == "draft6") found = Dialect::kDraft6;
        if (part == "draft7") found = Dialect::kDraft7;
        if (part == "draft2019-09") found = Dialect::k2019_09;
        if (part == "draft2020-12") found = Dialect::k2020_12;
    }
    return found;
}

std::map<std::string, std::string> read_remotes(const fs::path& dir) {
    std::map<std::string, std::string> remotes;
    std::error_code failed;
    for (fs::recursive_directory_iterator entry(dir, failed), end; !failed && entry != end;
         entry.increment(failed)) {
        if (entry->path().extension() != ".json") continue;
        auto text = read_file(entry->path());
        if (text)
            remotes.emplace(
                "http://localhost:1234/" + entry->path().lexically_relative(dir).generic_string(),
                std::move(*text));
    }
    return remotes;
}

// One group of the file: a schema and its cases. The instances are parsed from the text they are
// dumped to, as messages are.
void run_group(const std::string& file, const Value& group, const SchemaOptions& options,
               SuiteReport& report) {
    const auto text_of = [](const Value& value, std::string_view key) {
        const Value* member = value.find(key);
        return member && member->as_string() ? *member->as_string() : std::string("?");
    };
    const Value* schema_value = group.find("schema");
    const Value* tests = group.find("tests");
    const std::string title = file + ": " + text_of(group, "description");
    if (!schema_value || !tests || !tests->as_array()) {
        ++report.failed;
        report.failures.push_back(title + ": not a group of the suite's format");
        return;
    }
    const auto schema = Schema::compile(schema_value->dump(), options);
    Parser parser;
    for (const Value& test : *tests->as_array()) {
        const std::string name = title + ": " + text_of(test, "description");
        const Value* data = test.find("data");
        const Value* valid = test.find("valid");
        const auto root = data ? parser.parse(data->dump())
                               : fail(ErrorCode::kInvalidArgs, "the case has no data");
        std::string trouble;
        if (!schema) {
            trouble = schema.error().message;
        } else if (!root || !valid || !valid->as_bool()) {
            trouble = "not a case of the suite's format";
        } else {
            const bool found = (*schema)->is_valid(root->element());
            const bool agrees = (*schema)->validate(root->element()).empty() == found;
            if (found != *valid->as_bool())
                trouble =
                    fmt::format("expected {}, got {}", *valid->as_bool() ? "valid" : "invalid",
                                found ? "valid" : "invalid");
            if (!agrees) trouble = "is_valid() and validate() disagree";
        }
        ++(trouble.empty() ? report.passed : report.failed);
        if (!trouble.empty()) report.failures.push_back(name + ": " + trouble);
    }
}

/// Runs every `*.json` file directly inside `dir`, in the format of the official
/// JSON-Schema-Test-Suite. Documents below `remotes_dir` are served from memory under
/// `http://localhost:1234/`. A schema's dialect is its `$schema`, else the one that a part of the
/// path names (draft4, draft6, draft7, draft2019-09, draft2020-12; the last such part), else that
/// of `options`. A file that cannot be read counts as one failure; files are read, so this is not
/// for the hot path.
SuiteReport run_suite(const fs::path& dir, const std::optional<fs::path>& remotes_dir,
                      const SchemaOptions& given = {}) {
    SuiteReport report;
    SchemaOptions options = given;
    if (const auto dialect = dialect_of_path(dir)) options.dialect = *dialect;
    std::map<std::string, std::string> remotes;
    if (remotes_dir) remotes = read_remotes(*remotes_dir);
    if (given.remotes) remotes.insert(given.remotes->begin(), given.remotes->end());
    options.remotes = &remotes;
    std::vector<fs::path> files;
    std::error_code failed;
    for (fs::directory_iterator entry(dir, failed), end; !failed && entry != end;
         entry.increment(failed)) {
        if (entry->path().extension() == ".json") files.push_back(entry->path());
    }
    std::ranges::sort(files);
    for (const fs::path& file : files) {
        const auto text = read_file(file);
        const auto groups =
            text ? Value::parse(*text) : fail(ErrorCode::kNotFound, "cannot be read");
        if (!groups || !groups->as_array()) {
            ++report.failed;
            report.failures.push_back(
                fmt::format("{}: {}", file.filename().string(),
                            groups ? "is no array of groups" : groups.error().message));
            continue;
        }
        for (const Value& group : *groups->as_array())
            run_group(file.filename().string(), group, options, report);
    }
    return report;
}

// Where the official suite's data is: CRAB_JSON_SCHEMA_SUITE names it, else it lies beside the
// checkout or comes with a package.
std::optional<fs::path> find_suite() {
    std::vector<fs::path> places;
    if (const char* named = std::getenv("CRAB_JSON_SCHEMA_SUITE")) places.emplace_back(named);
    places.push_back(fs::path(CRAB_SOURCE_DIR) / ".." / "shared" / "json-schema-test-suite");
    // libtest-json-schema-acceptance-perl
    places.emplace_back("/usr/share/perl5/auto/share/dist/Test-JSON-Schema-Acceptance");
    for (const fs::path& place : places) {
        if (fs::is_directory(place / "tests")) return place;
    }
    return std::nullopt;
}

#define NEEDS_SUITE(variable)                                                                      \
    const auto variable = find_suite();                                                            \
    if (!variable)                                                                                 \
    GTEST_SKIP() << "the official JSON Schema test suite is not here; set CRAB_JSON_SCHEMA_SUITE " \
                    "to its folder"

std::string lines(const std::vector<std::string>& failures) {
    std::string out;
    for (const std::string& failure : failures) out += failure + "\n";
    return out;
}

class RequiredCases : public testing::TestWithParam<const char*> {};

TEST_P(RequiredCases, AllHold) {
    NEEDS_SUITE(suite);
    const fs::path folder = *suite / "tests" / GetParam();
    if (!fs::is_directory(folder))
        GTEST_SKIP() << "this copy of the official suite has no " << GetParam();
    const SuiteReport report = run_suite(folder, *suite / "remotes");
    EXPECT_EQ(report.failed, 0) << lines(report.failures);
    EXPECT_GT(report.passed, 500);
}

INSTANTIATE_TEST_SUITE_P(SchemaSuite, RequiredCases,
                         testing::Values("draft4", "draft6", "draft7", "draft2019-09",
                                         "draft2020-12"));

// What docs/reference/json_schema.md says about the optional folders.
TEST(SchemaSuite, OptionalCasesHoldExceptTheAssertionOfContent) {
    NEEDS_SUITE(suite);
    for (const char* draft : {"draft2020-12", "draft7"}) {
        const SuiteReport report =
            run_suite(*suite / "tests" / draft / "optional", *suite / "remotes");
        EXPECT_GT(report.passed, 100);
        for (const std::string& failure : report.failures) {
            // The second is of older copies: a metaschema's `format: regex`, which counts only when
            // formats are asserted.
            const bool chosen = failure.starts_with("content.json: ") ||
                                failure.starts_with(
                                    "ecmascript-regex.json: \\a is not an ECMA 262 control escape: "
                                    "when used as a pattern");
            EXPECT_TRUE(chosen) << draft << ": " << failure;
        }
    }
}

TEST(SchemaSuite, EveryFormatCaseHoldsWhenFormatsAreAsserted) {
    NEEDS_SUITE(suite);
    for (const char* draft : {"draft2020-12", "draft7"}) {
        const SuiteReport report = run_suite(*suite / "tests" / draft / "optional" / "format",
                                             *suite / "remotes", {.assert_formats = true});
        EXPECT_EQ(report.failed, 0) << lines(report.failures);
        EXPECT_GT(report.passed, 400);
    }
}

}  // namespace
}  // namespace crab::json
