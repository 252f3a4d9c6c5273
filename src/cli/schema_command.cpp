#include "cli/admin_client.hpp"
#include "cli/commands.hpp"
#include "cli/output/exit_codes.hpp"
#include "cli/output/files.hpp"
#include "cli/output/terminal.hpp"
#include "json/parser.hpp"
#include "json/schema/schema.hpp"

#include <filesystem>
#include <map>

#include <fmt/format.h>

namespace crab::cli {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> json_files(const fs::path& directory) {
    std::vector<fs::path> files;
    std::error_code error;
    for (const auto& entry : fs::recursive_directory_iterator(directory, error)) {
        if (entry.is_regular_file() && entry.path().extension() == ".json")
            files.push_back(entry.path());
    }
    std::ranges::sort(files);
    return files;
}

/// Runs files of the official suite: a list of
/// {"description","schema","tests":[{"description","data","valid"}]} each.
class Suite {
public:
    Suite(const fs::path& directory, const fs::path& remotes) : directory_(directory) {
        for (const fs::path& file :
             remotes.empty() ? std::vector<fs::path>() : json_files(remotes)) {
            if (auto text = read_input(file.string()))
                remotes_["http://localhost:1234/" + fs::relative(file, remotes).generic_string()] =
                    std::move(*text);
        }
        // The suite marks the drafts before 2019-09 by their folders only.
        const std::string path = fs::absolute(directory).generic_string();
        for (const auto& [folder, dialect] : {std::pair{"draft4", json::Dialect::kDraft4},
                                              {"draft6", json::Dialect::kDraft6},
                                              {"draft7", json::Dialect::kDraft7},
                                              {"draft2019-09", json::Dialect::k2019_09}}) {
            if (path.find(folder) != path.npos) options_.dialect = dialect;
        }
        options_.remotes = &remotes_;
    }

    Result<void> run_file(const fs::path& file) {
        Result<std::string> text = read_input(file.string());
        if (!text) return fail(text.error());
        const auto root = parser_.parse(*text);
        if (!root)
            return fail(ErrorCode::kInvalidArgs,
                        fmt::format("{}: {}", file.string(), root.error().message));
        options_.assert_formats = file.parent_path().filename() == "format";
        const std::string name = fs::relative(file, directory_).generic_string();
        simdjson::dom::array groups;
        if (root->element().get_array().get(groups) != simdjson::SUCCESS)
            return fail(ErrorCode::kInvalidArgs, name + ": is not a file of the suite");
        for (const json::Element group : groups) run_group(name, group);
        return {};
    }

    int passed = 0;
    int failed = 0;

private:
    void run_group(const std::string& file, json::Element group) {
        const auto schema_json = json::get(group, "schema");
        const auto tests = json::get_array(group, "tests");
        if (!schema_json || !tests) return;
        const auto schema = json::Schema::compile(json::to_text(*schema_json), options_);
        for (const json::Element test : *tests) {
            const auto data = json::get(test, "data");
            const bool expected = json::get_bool(test, "valid").value_or(false);
            const bool right = schema && data && (*schema)->is_valid(*data) == expected &&
                               (*schema)->validate(*data).empty() == expected;
            ++(right ? passed : failed);
            if (right) continue;
            print_line(fmt::format("FAIL {}: {}: {}{}", file,
                                   json::get_string(group, "description").value_or(""),
                                   json::get_string(test, "description").value_or(""),
                                   schema ? "" : " (" + schema.error().message + ")"));
        }
    }

    fs::path directory_;
    std::map<std::string, std::string> remotes_;
    json::SchemaOptions options_;
    json::Parser parser_{{.max_bytes = std::size_t{64} << 20, .max_depth = 1024}};
};

}  // namespace

int run(const SchemaCheck& options) {
    const Result<std::string> schema_text = read_input(options.schema.string());
    if (!schema_text) return report(schema_text.error());
    const Result<std::string> instance_text = read_input(options.instance.string());
    if (!instance_text) return report(instance_text.error());
    const auto schema = json::Schema::compile(*schema_text, {.max_bytes = std::size_t{64} << 20});
    if (!schema) return report(schema.error());
    json::Parser parser({.max_bytes = std::size_t{64} << 20, .max_depth = 1024});
    const auto root = parser.parse(*instance_text);
    if (!root) return report(root.error());
    const auto violations = (*schema)->validate(root->element(), 1000);
    print_line(json::to_json(violations));
    return violations.empty() ? kExitOk : kExitFailed;
}

int run(const SchemaSuite& options) {
    const std::vector<fs::path> files = json_files(options.directory);
    if (files.empty())
        return report({.code = ErrorCode::kNotFound,
                       .message = "no .json files in " + options.directory.string()});
    Suite suite(options.directory, options.remotes);
    for (const fs::path& file : files) {
        if (auto done = suite.run_file(file); !done) return report(done.error());
    }
    print_line(fmt::format("passed {}\nfailed {}", suite.passed, suite.failed));
    return suite.failed == 0 ? kExitOk : kExitFailed;
}

}  // namespace crab::cli
