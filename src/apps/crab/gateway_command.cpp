#include "apps/crab/admin_client.hpp"
#include "apps/crab/commands.hpp"
#include "apps/crab/exit_codes.hpp"
#include "apps/crab/gateway_run.hpp"
#include "apps/crab/host/hosted_commands.hpp"
#include "apps/crab/pretty_json.hpp"
#include "apps/crab/terminal.hpp"
#include "config/load.hpp"

#include <unistd.h>

#include <fmt/format.h>

namespace crab::app {

namespace {

/// Every problem on a line of its own, as compilers write them.
int report_problems(const Error& error) {
    if (error.details.empty()) return report(error);
    std::fputs((printable(error.message, Lines::kKeep) + "\n").c_str(), stderr);
    return kExitUsage;
}

/// What a gateway with this configuration would not do here although it starts.
std::vector<std::string> warnings_of(const config::GatewayConfig& config) {
    if (!has_commands(config)) return {};
    auto abilities = command::SandboxAbilities::detect();
    abilities.cgroups = command::CgroupPlaces::look();
    return commands_not_offered(config, abilities);
}

}  // namespace

int run(const GatewayRun& options) {
    const config::Paths paths = config::Paths::find(options.system, ::getuid());
    Result<config::GatewayConfig> config = config::load_first(options.config, paths);
    if (!config) return report_problems(config.error());
    return run_gateway({.config = std::move(*config), .config_file = options.config, .paths = paths});
}

int run(const GatewayCheck& options) {
    if (options.schema) return print(config::schema_text()), kExitOk;
    const config::Paths paths = config::Paths::find(false, ::getuid());
    Result<config::GatewayConfig> config = config::load_first(options.config, paths);
    if (config) {
        if (auto usable = check_rules(*config, paths); !usable) {
            const std::string problem = usable.error().message;
            const json::Value entry = json::Value::object({{"file", config->source.string()}, {"message", problem}});
            config = fail(ErrorCode::kInvalidArgs, fmt::format("{}: {}", config->source.string(), problem),
                          json::Value::object({{"errors", json::Value::array({entry})}}).dump());
        }
    }
    const std::vector<std::string> warnings = config ? warnings_of(*config) : std::vector<std::string>();
    if (options.output == Output::kJson) {
        json::Value answer = json::Value::object({{"valid", config.has_value()}});
        if (config) answer.set("file", config->source.string());
        if (!warnings.empty()) answer.set("warnings", json::Value(json::Value::array()));
        for (const std::string& warning : warnings) answer.find("warnings")->push_back(warning);
        const Result<json::Value> details = json::Value::parse(config || config.error().details.empty() ? "{}" : config.error().details);
        if (!config) answer.set("errors", details->find("errors") ? *details->find("errors") : json::Value::array());
        if (!config && config.error().details.empty()) answer.find("errors")->push_back(json::Value::object({{"message", config.error().message}}));
        print_json(answer);
        return config ? kExitOk : config.error().details.empty() ? exit_code_of(config.error().code) : kExitFailed;
    }
    if (!config && config.error().details.empty()) return report(config.error());  // not the file's content: the file itself
    if (!config) return report_problems(config.error()), kExitFailed;
    for (const std::string& warning : warnings) complain("warning: " + warning);
    print_line(config->source.empty() ? "no configuration file: the defaults count, and they are valid" : config->source.string() + ": valid");
    return kExitOk;
}

}  // namespace crab::app
