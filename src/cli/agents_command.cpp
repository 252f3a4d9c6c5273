#include "cli/admin_client.hpp"
#include "cli/commands.hpp"
#include "cli/mcp_cost.hpp"
#include "cli/output/exit_codes.hpp"
#include "cli/output/listing.hpp"
#include "cli/output/pretty_json.hpp"
#include "cli/output/table.hpp"
#include "net/codec/url.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace crab::cli {
namespace {

std::string joined(const json::Value& object, std::string_view key) {
    std::string text;
    for (const json::Value& each : items_of(object, key))
        text += (text.empty() ? "" : " ") + (each.as_string() ? *each.as_string() : each.dump());
    return text;
}

std::string end_of(const json::Value& turn) {
    const std::string end = text_of(turn, "end");
    return end.empty() ? "runs" : end;
}

/// `all but sms.*`
std::string tools_of_agent(const json::Value& agent) {
    const json::Value* const tools = agent.find("tools");
    const std::string allowed = tools != nullptr ? joined(*tools, "allow") : "",
                      denied = tools != nullptr ? joined(*tools, "deny") : "";
    return (allowed.empty() ? "all" : allowed) + (denied.empty() ? "" : " but " + denied);
}

}  // namespace

int run(const AgentsList& options) {
    static const Listing kTurns{
        .members = {"turns"},
        .name = by_member("turn_id"),
        .columns = {column("TURN", "turn_id"),
                    column("AGENT", "agent"),
                    column("EVENT", "event_type"),
                    column("BEGUN", "begun_at"),
                    {"END", end_of},
                    column("SESSION", "session_id"),
                    wide_column("EVENT ID", "event_id")},
        .empty =
            "No event has started a turn. An agent names its events under agents: … on: in "
            "the configuration."};
    static const Listing kAgents{
        .members = {"agents"},
        .name = by_member("name"),
        .columns = {column("AGENT", "name"),
                    column("TENANT", "tenant"),
                    {"MODELS", [](const json::Value& agent) { return joined(agent, "models"); }},
                    {"EVENTS", [](const json::Value& agent) { return joined(agent, "events"); }},
                    {"TOOLS", tools_of_agent}}};
    return show_list([&] { return fetch(options.target, "/v1/admin/agents"); },
                     options.turns ? kTurns : kAgents, options.output);
}

int run(const AgentsShow& options) {
    const Result<json::Value> reply =
        fetch(options.target, "/v1/admin/agents/turns/" + net::percent_encode(options.turn_id));
    if (!reply) return report(reply.error());
    if (!options.output.is_text()) return show_value(*reply, options.output);
    const json::Value* const turn = reply->find("turn");
    if (turn == nullptr)
        return report(fail(ErrorCode::kInternal, "the gateway's answer has no turn").error());
    print_line(
        printable(fmt::format("{} was started by {} {} at {}, end: {}", text_of(*turn, "agent"),
                              text_of(*turn, "event_type"), text_of(*turn, "event_id"),
                              text_of(*turn, "begun_at"), end_of(*turn))));
    for (const json::Value& message : items_of(*reply, "messages")) {
        print_line("");
        print_line(Terminal::out().paint(Colour::kBold, printable(text_of(message, "role"))));
        print_line(printable(text_of(message, "content"), Lines::kKeep));
    }
    return kExitOk;
}

int run(const ToolsCost& options) {
    if (options.front == "mcp") return show_mcp_cost(options);
    const Result<json::Value> reply =
        fetch(options.target, "/v1/admin/agents/tools?agent=" + net::percent_encode(options.agent));
    if (!reply) return report(reply.error());
    if (!options.output.is_text()) return show_value(*reply, options.output);
    std::vector<const json::Value*> tools;
    for (const json::Value& tool : items_of(*reply, "tools")) tools.push_back(&tool);
    std::ranges::sort(tools, [](const json::Value* a, const json::Value* b) {
        return std::pair(-number_of(*a, "tokens"), text_of(*a, "name")) <
               std::pair(-number_of(*b, "tokens"), text_of(*b, "name"));
    });
    Table table({"TOKENS", "OFFERED", "TOOL"});
    for (const json::Value* tool : tools)
        table.add({fmt::format("{}", number_of(*tool, "tokens")),
                   flag_of(*tool, "offered") ? "yes" : "", text_of(*tool, "name")});
    if (!table.empty()) print(table.to_text(Terminal::out()));
    const std::int64_t visible = number_of(*reply, "visible");
    print_line(
        fmt::format("{}{} may call {} tools, about {} tokens in each request; its budget is {} "
                    "tools and {} tokens.",
                    table.empty() ? "" : "\n", printable(text_of(*reply, "agent")), visible,
                    number_of(*reply, "visible_tokens"), number_of(*reply, "max_tools"),
                    number_of(*reply, "max_tokens")));
    print_line(flag_of(*reply, "searched")
                   ? fmt::format("That is too much: the model gets find_tools and those marked, "
                                 "about {} tokens, and what it finds.",
                                 number_of(*reply, "offered_tokens"))
                   : "The model gets all of them.");
    return kExitOk;
}

}  // namespace crab::cli
