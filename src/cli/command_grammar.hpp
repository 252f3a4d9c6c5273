#pragma once

#include "base/closest_name.hpp"
#include "cli/command.hpp"
#include "cli/output/durations.hpp"
#include "cli/output/json_path.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

/// Only for the command line's own units: CLI11 is slow to compile.
namespace crab::cli {

/// The whole command line; parse() leaves the chosen command in `chosen`.
class CommandLine {
public:
    CommandLine();

    CLI::App& app() { return app_; }
    std::unique_ptr<Command> chosen;
    std::vector<std::string> notes;  ///< on what was written the old way
    /// `old` was written; `now` is how it is written now.
    void note_old(std::string_view old, std::string_view now);

private:
    /// Adds a command with options of type T, which live as long as this object.
    template <class T>
    std::pair<CLI::App*, T*> leaf(CLI::App& parent, const std::string& name,
                                  const std::string& description, const std::string& examples) {
        CLI::App* command = parent.add_subcommand(name, description);
        auto options = std::make_shared<T>();
        if (!examples.empty()) command->footer("Examples:\n" + examples);
        command->callback([this, options] { chosen = std::make_unique<CommandOf<T>>(*options); });
        return {command, options.get()};
    }
    CLI::App& group(const std::string& name, const std::string& description) {
        CLI::App* command = app_.add_subcommand(name, description);
        command->require_subcommand(1);
        return *command;
    }
    static constexpr std::string_view kOutputOptions = "Output options";
    static constexpr std::string_view kGatewayOptions = "Gateway options";

    /// What a command prints: lines as they come, one value, what it has changed, or a list, which
    /// the gateway can be asked for again.
    enum class Answer : std::uint8_t { kStream, kValue, kChange, kFixedList, kList };
    void choose_output(CLI::App* command, Output& output, Answer answer = Answer::kValue);
    void arrange_list(CLI::App* command, Output& output, Answer answer);
    void confirm(CLI::App* command, bool& yes) {
        command->add_flag("--yes", yes, "Do not ask (without a terminal nothing is asked)");
    }
    /// Like CLI::IsMember, but suggests the closest word and does not appear in the help.
    static CLI::Validator one_of(std::vector<std::string> words) {
        CLI::Validator validator;
        validator.operation([words](std::string& given) {
            if (std::ranges::find(words, given) != words.end()) return std::string();
            const std::string_view near = closest_name(given, words);
            return fmt::format("{} is none of {}{}", given, fmt::join(words, ", "),
                               near.empty() ? "" : fmt::format("; did you mean {}?", near));
        });
        return validator;
    }
    static void configuration(CLI::App* command, std::filesystem::path& config) {
        command
            ->add_option("--config", config,
                         "Configuration file (default: ~/.config/crab/gateway.yaml, then "
                         "/etc/crab/gateway.yaml)")
            ->type_name("PATH");
    }
    static void local(CLI::App* command, Target& target) {
        command
            ->add_option("--context", target.context,
                         "Gateway with this name, as crab context set has given it (default: "
                         "CRAB_CONTEXT, then that of crab context use)")
            ->type_name("CONTEXT")
            ->group(std::string(kGatewayOptions));
        command
            ->add_option(
                "--socket", target.socket,
                "Admin socket of the gateway (default: CRAB_SOCKET, then the configuration's)")
            ->type_name("PATH")
            ->group(std::string(kGatewayOptions));
        configuration(command, target.config);
        command->get_option("--config")->group(std::string(kGatewayOptions));
    }
    /// The options of every command that queries this machine's gateway and prints the answer.
    template <class T>
    void asks(CLI::App* command, T& options, Answer answer = Answer::kValue) {
        local(command, options.target);
        choose_output(command, options.output, answer);
    }
    /// The same for those that a public listener serves, too.
    static void remote(CLI::App* command, Target& target, const std::string& other = {}) {
        local(command, target);
        target.may_be_remote = true;
        command
            ->add_option("--url", target.url,
                         "Call a gateway's public listener instead, such as "
                         "http://127.0.0.1:42617" +
                             other + " (default: CRAB_URL)")
            ->type_name("URL")
            ->group(std::string(kGatewayOptions));
        secret(command, "--token", target.token,
               "Bearer token for --url (default: that of the context, then CRAB_TOKEN, which is "
               "better)")
            ->group(std::string(kGatewayOptions));
        authorities(command, target.ca_file)->group(std::string(kGatewayOptions));
        plain(command, target.allow_plain)->group(std::string(kGatewayOptions));
    }
    static CLI::Option* plain(CLI::App* command, bool& out) {
        return command->add_flag("--allow-plain", out,
                                 "Send to another machine without TLS, where something else "
                                 "encrypts (default: refuse)");
    }
    static CLI::Option* authorities(CLI::App* command, std::string& out) {
        return command
            ->add_option("--ca-file", out,
                         "Authorities that may vouch for the gateway, in place of the system's "
                         "(default: CRAB_CA_FILE)")
            ->type_name("PATH")
            ->envname("CRAB_CA_FILE");
    }
    static CLI::Option* secret(CLI::App* command, const std::string& name, Secret<std::string>& out,
                               const std::string& description) {
        return command
            ->add_option_function<std::string>(
                name, [&out](const std::string& text) { out = Secret<std::string>(text); },
                description)
            ->type_name("TOKEN")
            ->envname("CRAB_TOKEN");
    }
    /// `out` is a duration or an optional one.
    template <class D>
    static void duration(CLI::App* command, const std::string& name, D& out,
                         const std::string& description) {
        const auto take = [&out, name](const std::string& text) {
            const auto parsed = parse_duration(text);
            if (!parsed)
                throw CLI::ValidationError(name,
                                           "has to be a duration such as 500ms, 5s, 2m, 1h or 30d");
            if constexpr (requires { typename D::value_type; })
                out = std::chrono::duration_cast<typename D::value_type>(*parsed);
            else
                out = *parsed;
        };
        command->add_option_function<std::string>(name, take, description)->type_name("DURATION");
    }
    /// Repeatable with one value each time, so that following positionals are not consumed.
    static CLI::Option* repeated(CLI::App* command, const std::string& name,
                                 std::vector<std::string>& out, const std::string& value,
                                 const std::string& description) {
        return command->add_option(name, out, description)
            ->type_name(value)
            ->allow_extra_args(false);
    }

    static constexpr std::string_view kUngrouped = "Subcommands";  ///< CLI11's default
    void in_group(const std::string& name);

    // command_line_gateway.cpp
    void gateway();
    void host();
    void policy();
    void policy_matrix(CLI::App& parent);
    static void about_principal(CLI::App* test, PolicyTest& options);
    void config();
    void tls();
    void doctor();
    void console();
    static void of_gateway(CLI::App* command, std::filesystem::path& config, bool& system);
    void audit();
    static std::string moment_of(const std::string& name, const std::string& text);
    static void select_records(CLI::App* command, AuditSelection& which);
    void backup();
    void restore();
    void completion();
    void schema();
    void help();
    void control(CLI::App& gateway);
    void log_levels(CLI::App& gateway);
    void logs();
    void version();
    void context();

    // command_line_calls.cpp
    void tools();
    void agents();
    void chat();
    void call();
    void calls();
    void top();
    void events();

    // command_line_devices.cpp
    void devices();
    void one_device(CLI::App& parent);
    void pair_device(CLI::App& parent);
    void artifacts();
    void sessions();
    void worktrees();
    void tokens();
    void device(CLI::App& devices);
    void bridge();

    // command_line_mcp.cpp
    void mcp();
    static void mcp_sandbox(CLI::App& add, McpAdd& options);
    void mcp_logins(CLI::App& parent);
    void mcp_files(CLI::App& parent);

    // command_line_peers.cpp
    /// The options of every `crab peers pair` command.
    template <class T>
    void pairing(CLI::App* command, T& options);
    void pair(CLI::App& peers);
    void peers();
    static void peer(CLI::App* command, std::string& name, Target& target);
    void approvals();
    void decide(CLI::App& parent, const std::string& name, const std::string& description,
                bool allow, const std::string& examples);
    static void approval(CLI::App* command, std::string& id, Target& target);
    void leases();

    CLI::App app_{"A gateway for remote tools"};
};

}  // namespace crab::cli
