#include "json/schema_suite.hpp"

#include "json/parser.hpp"
#include "json/value.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>

namespace crab::json {
namespace {

namespace fs = std::filesystem;

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
    for (fs::recursive_directory_iterator entry(dir, failed), end; !failed && entry != end; entry.increment(failed)) {
        if (entry->path().extension() != ".json") continue;
        auto text = read_file(entry->path());
        if (text) remotes.emplace("http://localhost:1234/" + entry->path().lexically_relative(dir).generic_string(), std::move(*text));
    }
    return remotes;
}

// One group of the file: a schema and its cases. The instances are parsed from the text they are dumped to, as messages are.
void run_group(const std::string& file, const Value& group, const SchemaOptions& options, SuiteReport& report) {
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
        const auto root = data ? parser.parse(data->dump()) : fail(ErrorCode::kInvalidArgs, "the case has no data");
        std::string trouble;
        if (!schema) {
            trouble = schema.error().message;
        } else if (!root || !valid || !valid->as_bool()) {
            trouble = "not a case of the suite's format";
        } else {
            const bool found = (*schema)->is_valid(root->element());
            const bool agrees = (*schema)->validate(root->element()).empty() == found;
            if (found != *valid->as_bool()) trouble = fmt::format("expected {}, got {}", *valid->as_bool() ? "valid" : "invalid", found ? "valid" : "invalid");
            if (!agrees) trouble = "is_valid() and validate() disagree";
        }
        ++(trouble.empty() ? report.passed : report.failed);
        if (!trouble.empty()) report.failures.push_back(name + ": " + trouble);
    }
}

}  // namespace

SuiteReport run_suite(const fs::path& dir, const std::optional<fs::path>& remotes_dir, const SchemaOptions& given) {
    SuiteReport report;
    SchemaOptions options = given;
    if (const auto dialect = dialect_of_path(dir)) options.dialect = *dialect;
    std::map<std::string, std::string> remotes;
    if (remotes_dir) remotes = read_remotes(*remotes_dir);
    if (given.remotes) remotes.insert(given.remotes->begin(), given.remotes->end());
    options.remotes = &remotes;
    std::vector<fs::path> files;
    std::error_code failed;
    for (fs::directory_iterator entry(dir, failed), end; !failed && entry != end; entry.increment(failed)) {
        if (entry->path().extension() == ".json") files.push_back(entry->path());
    }
    std::ranges::sort(files);
    for (const fs::path& file : files) {
        const auto text = read_file(file);
        const auto groups = text ? Value::parse(*text) : fail(ErrorCode::kNotFound, "cannot be read");
        if (!groups || !groups->as_array()) {
            ++report.failed;
            report.failures.push_back(fmt::format("{}: {}", file.filename().string(), groups ? "is no array of groups" : groups.error().message));
            continue;
        }
        for (const Value& group : *groups->as_array()) run_group(file.filename().string(), group, options, report);
    }
    return report;
}

}  // namespace crab::json
