#include "config/load.hpp"
#include "config/schema_check.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace crab::config {
namespace {

namespace fs = std::filesystem;

std::string text_of(const fs::path& file) {
    std::ifstream in(file);
    return {std::istreambuf_iterator<char>(in), {}};
}

/// The YAML blocks of a page in Markdown; those within a list are moved to the left.
std::vector<std::string> configurations_of(const std::string& page) {
    std::vector<std::string> found;
    std::istringstream lines(page);
    std::optional<std::size_t> indent;  // of the block that is being read
    for (std::string line; std::getline(lines, line);) {
        const std::size_t at = std::min(line.find_first_not_of(' '), line.size());
        if (!indent && line.substr(at) == "```yaml") {
            indent = at;
            found.emplace_back();
        } else if (indent && line.substr(at) == "```") {
            indent.reset();
        } else if (indent) {
            found.back() += line.substr(std::min(*indent, line.size())) + "\n";
        }
    }
    return found;
}

/// Of the schema alone: files and variables that a configuration names need not be here.
std::vector<std::string> problems_of(const std::string& configuration) {
    static const json::Value schema = *json::Value::parse(schema_text());
    Problems problems;
    YamlDocument document = read_yaml(configuration, problems);
    check_keys_and_types(schema, document, {}, problems);
    check_schema(schema, document, problems);
    std::vector<std::string> said;
    for (const Problem& each : problems)
        said.push_back(key_path(each.pointer) + " " + each.message);
    return said;
}

TEST(DocsConfigs, EveryConfigurationThatAPageShowsFitsTheSchema) {
    std::size_t found = 0;
    for (const char* const folder : {"docs", "examples", "deploy"}) {
        const fs::path root = fs::path(CRAB_SOURCE_DIR) / folder;
        for (const fs::directory_entry& entry : fs::recursive_directory_iterator(root)) {
            std::vector<std::string> shown;
            if (entry.path().extension() == ".md") shown = configurations_of(text_of(entry.path()));
            const bool is_crabs = entry.path().parent_path().filename() != "prometheus" &&
                                  entry.path().filename() != "compose.yaml";
            if (is_crabs && entry.path().extension() == ".yaml") shown = {text_of(entry.path())};
            for (const std::string& each : shown) {
                found += 1;
                EXPECT_THAT(problems_of(each), testing::IsEmpty()) << entry.path() << ":\n" << each;
            }
        }
    }
    EXPECT_GT(found, 20U);
}

TEST(DocsConfigs, AKeyThatThereIsNotIsFoundInABlockWithinAList) {
    const auto shown = configurations_of("- As here:\n\n  ```yaml\n  lisen:\n    a: 1\n  ```\n");
    ASSERT_EQ(shown.size(), 1U);
    EXPECT_EQ(shown[0], "lisen:\n  a: 1\n");
    EXPECT_FALSE(problems_of(shown[0]).empty());
}

}  // namespace
}  // namespace crab::config
