#include "bridge/bridge_lock.hpp"
#include "bridge/call_provider.hpp"
#include "bridge/record_folders.hpp"
#include "bridge/user_choices.hpp"
#include "cli/admin_client.hpp"
#include "cli/bridge_run.hpp"
#include "cli/commands.hpp"
#include "cli/output/exit_codes.hpp"
#include "cli/output/files.hpp"
#include "cli/output/listing.hpp"
#include "cli/output/pretty_json.hpp"
#include "cli/output/table.hpp"
#include "json/parser.hpp"
#include "sdk/private_file.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace crab::cli {
namespace {

constexpr Milliseconds kUsualTimeout{30'000};

std::string_view name_of(cetp::Transport transport) {
    switch (transport) {
        case cetp::Transport::kDbus: return "dbus";
        case cetp::Transport::kExec: return "exec";
        case cetp::Transport::kUnix: return "unix";
        case cetp::Transport::kBuiltIn: return "built-in";
    }
    return "";
}

const std::string& address_of(const cetp::ProviderRecord& record) {
    switch (record.transport) {
        case cetp::Transport::kDbus:
        case cetp::Transport::kBuiltIn: return record.bus_name;
        case cetp::Transport::kExec: return record.exec;
        case cetp::Transport::kUnix: return record.socket;
    }
    return record.bus_name;
}

/// What the provider wants beyond being called, for the one who is to allow it.
std::string permissions_of(const json::Value& provider) {
    const bool network = flag_of(provider, "network"), home = flag_of(provider, "read_home");
    if (network && home) return "network, home";
    return network ? "network" : home ? "home" : "";
}

}  // namespace

int run(const BridgeRun& options) {
    const bridge::BridgePaths paths = bridge::BridgePaths::find();
    auto ended =
        run_bridge(paths, {.gateway = options.gateway,
                           .token = options.pair_code.empty() ? options.token.reveal() : "",
                           .name = options.name,
                           .ca_file = options.ca_file,
                           .pair_code = options.pair_code,
                           .token_file = options.token_file.empty() ? paths.token.string()
                                                                    : options.token_file.string(),
                           .allow_plain = options.allow_plain});
    if (!ended) return report(ended.error());
    if (!ended->good()) complain(ended->message);
    return exit_code_for(ended->reason);
}

int run(const BridgeList& options) {
    const bridge::BridgePaths paths = bridge::BridgePaths::find();
    const cetp::Discovery found = cetp::choose(bridge::read_records(paths));
    const auto choices = bridge::UserChoices::load(paths.choices);
    if (!choices) return report(choices.error());
    json::Value providers = json::Value::array();
    for (const cetp::ProviderRecord& record : found.records) {
        providers.push_back(json::Value::object({{"id", record.id},
                                                 {"name", record.name},
                                                 {"transport", name_of(record.transport)},
                                                 {"address", address_of(record)},
                                                 {"enabled", choices->allows(record)},
                                                 {"network", record.network},
                                                 {"read_home", record.read_home}}));
    }
    for (const std::string& diagnostic : found.diagnostics) complain(diagnostic);
    static const Listing kProviders{
        .members = {"providers"},
        .name = by_member("id"),
        .columns = {column("PROVIDER", "id"),
                    column("NAME", "name"),
                    column("OVER", "transport"),
                    column("ADDRESS", "address"),
                    {"STATE",
                     [](const json::Value& provider) {
                         return flag_of(provider, "enabled") ? "on" : "off";
                     }},
                    {"PERMISSIONS", permissions_of}},
        .empty =
            "No providers. They are declared in cetp/providers/*.ini below $XDG_DATA_HOME and "
            "$XDG_DATA_DIRS."};
    return show_list(json::Value::object({{"providers", std::move(providers)}}), kProviders,
                     options.output);
}

int run(const BridgeStatusShow& options) {
    const bridge::BridgePaths paths = bridge::BridgePaths::find();
    if (!bridge::is_bridge_locked(paths.lock)) {
        complain("no bridge runs; start it with `crab bridge run`");
        return kExitUnreachable;
    }
    const auto text = sdk::read_private_file(paths.status);
    if (!text) return report(text.error());
    const auto status = json::Value::parse(*text);
    if (!status) return report(status.error());
    if (!options.output.is_text()) return show_value(*status, options.output);
    const json::Value& link = *status->find("link");
    const std::string device = text_of(link, "device");
    print_line(flag_of(link, "connected")
                   ? fmt::format("connected{}{}, {} tools registered", device.empty() ? "" : " as ",
                                 device, status->resolve("/link/tools")->dump())
                   : "not connected: " + text_of(link, "message"));
    Table table({"PROVIDER", "LABEL", "STATE", "TOOLS", "REMARK"});
    std::vector<std::string> requests;
    for (const json::Value& provider : items_of(*status, "providers")) {
        const auto& diagnostics = items_of(provider, "diagnostics");
        std::string remark = text_of(provider, "problem");
        if (remark.empty() && !diagnostics.empty()) remark = *diagnostics.front().as_string();
        table.add({text_of(provider, "id"), text_of(provider, "label"), text_of(provider, "state"),
                   fmt::format("{}", items_of(provider, "tools").size()), remark});
        if (const json::Value* request = provider.find("auth_required")) {
            requests.push_back(fmt::format("{} wants you to act: {}{}{}", text_of(provider, "name"),
                                           text_of(*request, "message"),
                                           text_of(*request, "hint").empty() ? "" : " — ",
                                           text_of(*request, "hint")));
        }
    }
    if (!table.empty()) print(table.to_text(Terminal::out()));
    for (const std::string& request : requests) print_line(printable(request));
    for (const json::Value& diagnostic : items_of(*status, "diagnostics"))
        print_line("skipped: " + printable(*diagnostic.as_string()));
    return kExitOk;
}

int run(const BridgeEnable& options) {
    const bridge::BridgePaths paths = bridge::BridgePaths::find();
    const cetp::Discovery found = cetp::choose(bridge::read_records(paths));
    const bool known = std::ranges::any_of(found.records, [&](const cetp::ProviderRecord& record) {
        return record.id == options.provider;
    });
    auto choices = bridge::UserChoices::load(paths.choices);
    if (!choices) return report(choices.error());
    choices->enabled[options.provider] = options.yes;
    if (const auto saved = choices->save(paths.choices); !saved) return report(saved.error());
    if (!known)
        complain(fmt::format("no file declares {} now; the choice is kept for when one does",
                             options.provider));
    return show_done(
        json::Value::object({{"provider", options.provider}, {"enabled", options.yes}}),
        options.output, options.provider,
        fmt::format("{} is {}", options.provider, options.yes ? "enabled" : "disabled"));
}

int run(const BridgeCall& options) {
    const cetp::Discovery found = cetp::choose(bridge::read_records(bridge::BridgePaths::find()));
    const auto record =
        std::ranges::find(found.records, options.provider, &cetp::ProviderRecord::id);
    if (record == found.records.end()) {
        complain(fmt::format("no provider {} is declared; `crab bridge list` shows them",
                             options.provider));
        return kExitNotFound;
    }
    json::Parser parser;
    if (const auto args = parser.parse(options.args); !args || !args->element().is_object()) {
        complain("the arguments are no JSON object");
        return kExitUsage;
    }
    const auto call = options.tool.empty()
                          ? cetp::MethodCall::list_tools()
                          : cetp::MethodCall::execute_tool(options.tool, options.args, "");
    const cetp::Envelope envelope =
        bridge::call_provider(*record, call, options.timeout.value_or(kUsualTimeout));
    if (!envelope.success) {
        complain(envelope.agent_text());
        return exit_code_of(std::string_view(envelope.code));
    }
    print(envelope.data);
    if (!envelope.data.ends_with('\n')) print("\n");
    return kExitOk;
}

}  // namespace crab::cli
