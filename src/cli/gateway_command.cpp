#include "base/process/file.hpp"
#include "cli/admin_client.hpp"
#include "cli/commands.hpp"
#include "cli/output/exit_codes.hpp"
#include "cli/output/listing.hpp"
#include "cli/output/pretty_json.hpp"
#include "cli/output/terminal.hpp"
#include "config/load.hpp"
#include "config/yaml_document.hpp"

#include <unistd.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace crab::cli {

namespace {

/// Every problem on a line of its own, as compilers write them.
int report_problems(const Error& error) {
    if (error.details.empty()) return report(error);
    std::fputs((printable(error.message, Lines::kKeep) + "\n").c_str(), stderr);
    return kExitUsage;
}

/// The lines of a file that has been read and found good.
class PlacesInFile {
public:
    explicit PlacesInFile(const std::filesystem::path& source) {
        config::Problems none;
        if (const auto text = read_file(source)) document_ = config::read_yaml(*text, none);
    }
    /// `file:line` of what begins with the path of a key, such as `policy[0].principal: …`.
    std::string place_of(const std::string& file, std::string_view problem) const {
        std::string pointer = "/";
        for (const char c : problem.substr(0, std::min(problem.find(':'), problem.size())))
            if (c != ']') pointer += c == '.' || c == '[' ? '/' : c;
        const std::string_view first =
            std::string_view(pointer).substr(1, pointer.find('/', 1) - 1);
        const int line = document_.value.find(first) != nullptr ? document_.line_of(pointer) : 0;
        return line > 0 ? fmt::format("{}:{}", file, line) : file;
    }

private:
    config::YamlDocument document_;
};

/// As the errors of the file's own content are told.
std::unexpected<Error> invalid(const std::filesystem::path& source,
                               const std::vector<std::string>& problems) {
    const std::string file = source.empty() ? "configuration" : source.string();
    const PlacesInFile lines(source);
    json::Value entries = json::Value::array();
    std::string text;
    for (const std::string& problem : problems) {
        entries.push_back(json::Value::object({{"file", file}, {"message", problem}}));
        text += fmt::format("{}{}: {}", text.empty() ? "" : "\n", lines.place_of(file, problem),
                            problem);
    }
    return fail(ErrorCode::kInvalidArgs, std::move(text),
                json::Value::object({{"errors", std::move(entries)}}).dump());
}

json::Value texts(const std::vector<std::string>& all) {
    json::Value list = json::Value::array();
    for (const std::string& each : all) list.push_back(each);
    return list;
}

/// `what: key, key`; nothing when the file sets no such key.
void print_keys(std::string_view what, const std::vector<std::string>& keys) {
    if (!keys.empty()) print_line(fmt::format("{}: {}", what, fmt::join(keys, ", ")));
}

}  // namespace

int run(const GatewayRun& options, const GatewayProgram& gateway) {
    const config::Paths paths = config::Paths::find(options.system, ::getuid());
    Result<config::GatewayConfig> config = config::load_first(options.config, paths);
    if (!config) return report_problems(config.error());
    return gateway.run(
        {.config = std::move(*config), .config_file = options.config, .paths = paths});
}

int run(const GatewayCheck& options, const GatewayProgram& gateway) {
    if (options.schema) return print(config::schema_text()), kExitOk;
    const config::Paths paths = config::Paths::find(false, ::getuid());
    Result<config::GatewayConfig> config = config::load_first(options.config, paths);
    config::Findings findings;
    if (config) {
        findings =
            gateway.check({.config = *config, .config_file = options.config, .paths = paths});
        if (!findings.problems.empty()) config = invalid(config->source, findings.problems);
    }
    if (!options.output.is_text()) {
        json::Value answer = json::Value::object({{"valid", config.has_value()}});
        if (config) answer.set("file", config->source.string());
        if (!findings.warnings.empty()) answer.set("warnings", texts(findings.warnings));
        if (config) {
            answer.set("reload", texts(findings.on_reload));
            answer.set("restart", texts(findings.on_restart));
        }
        const Result<json::Value> details = json::Value::parse(
            config || config.error().details.empty() ? "{}" : config.error().details);
        if (!config)
            answer.set("errors",
                       details->find("errors") ? *details->find("errors") : json::Value::array());
        if (!config && config.error().details.empty())
            answer.find("errors")->push_back(
                json::Value::object({{"message", config.error().message}}));
        if (const int code = show_value(answer, options.output); code != kExitOk) return code;
        return config                           ? kExitOk
               : config.error().details.empty() ? exit_code_of(config.error().code)
                                                : kExitFailed;
    }
    // not the file's content: the file itself
    if (!config && config.error().details.empty()) return report(config.error());
    for (const std::string& warning : findings.warnings) complain("warning: " + warning);
    if (!config) return report_problems(config.error()), kExitFailed;
    print_line(config->source.empty()
                   ? "no configuration file: the defaults count, and they are valid"
                   : config->source.string() + ": valid");
    print_keys("a reload applies", findings.on_reload);
    print_keys("a restart is needed for", findings.on_restart);
    return kExitOk;
}

}  // namespace crab::cli
