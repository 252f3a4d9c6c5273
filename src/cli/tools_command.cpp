#include "base/glob.hpp"
#include "cli/admin_client.hpp"
#include "cli/output/durations.hpp"
#include "cli/output/exit_codes.hpp"
#include "cli/output/listing.hpp"
#include "cli/output/pretty_json.hpp"
#include "cli/output/table.hpp"
#include "cli/tool_names.hpp"

#include <fmt/format.h>

namespace crab::cli {
namespace {

/// `{"tools":[…]}`: the operator's list, or over a URL the discovery document.
Result<json::Value> fetch_tools(const Target& target) {
    Result<AdminClient> client = AdminClient::make(target);
    if (!client) return fail(client.error());
    return accepted(client->get(client->is_remote() ? "/v1/tools" : "/v1/admin/tools"));
}

std::string effects(const json::Value& tool) {
    if (!flag_of(tool, "side_effects")) return "reads";
    if (text_of(tool, "effects") == "unknown") return "unknown";
    return flag_of(tool, "idempotent") ? "repeatable" : "yes";
}

std::string source_of(const json::Value& tool) {
    const std::string kind = text_of(tool, "source_kind"), source = text_of(tool, "source");
    return kind.empty() || source.empty() ? kind + source : kind + "/" + source;
}

/// Those whose name, or qualified name, and source fit.
Result<json::Value> find_tools(const ToolsList& options) {
    Result<json::Value> reply = fetch_tools(options.target);
    if (!reply || (options.glob.empty() && options.source.empty())) return reply;
    const Glob names(options.glob.empty() ? "*" : options.glob),
        sources(options.source.empty() ? "*" : options.source);
    json::Value fitting = json::Value::array();
    for (const json::Value& tool : items_of(*reply, "tools")) {
        if ((names.matches(text_of(tool, "name")) ||
             names.matches(text_of(tool, "qualified_name"))) &&
            sources.matches(source_of(tool)))
            fitting.push_back(tool);
    }
    reply->set("tools", std::move(fitting));
    return reply;
}

std::string type_in_words(const json::Value& schema) {
    const json::Value* type = schema.find("type");
    if (const auto* choices = schema.find("enum"); choices && choices->as_array()) {
        std::string words;
        for (const json::Value& choice : *choices->as_array())
            words += (words.empty() ? "" : "|") + choice.dump();
        return words;
    }
    if (!type) return "any";
    if (type->as_string()) return *type->as_string();
    std::string words;
    for (const json::Value& one : type->as_array() ? *type->as_array() : json::Value::Items{}) {
        words += (words.empty() ? "" : "|") + (one.as_string() ? *one.as_string() : "any");
    }
    return words;
}

void print_arguments(const json::Value& schema) {
    const json::Value* properties = schema.find("properties");
    if (!properties || !properties->as_object() || properties->as_object()->empty())
        return print_line("  (no arguments are described)");
    Table table({"  ARGUMENT", "TYPE", "REQUIRED", "DESCRIPTION"});
    for (const auto& [name, property] : *properties->as_object()) {
        bool required = false;
        for (const json::Value& one : items_of(schema, "required"))
            required = required || one == json::Value(name);
        table.add({"  " + name, type_in_words(property), required ? "yes" : "",
                   text_of(property, "description")});
    }
    print(table.to_text(Terminal::out()));
}

void print_tool(const json::Value& tool) {
    const Terminal& out = Terminal::out();
    print_line(out.paint(Colour::kBold, printable(text_of(tool, "name"))) +
               (text_of(tool, "title").empty() ? "" : "  " + printable(text_of(tool, "title"))));
    if (!text_of(tool, "description").empty())
        print_line(printable(text_of(tool, "description"), Lines::kKeep));
    print_line("");
    const auto field = [](std::string_view label, const std::string& value) {
        if (!value.empty()) print_line(fmt::format("{:<14}{}", label, printable(value)));
    };
    field("source", source_of(tool));
    field("also called", text_of(tool, "qualified_name") == text_of(tool, "name")
                             ? ""
                             : text_of(tool, "qualified_name"));
    field("side effects", effects(tool));
    field("timeout", fmt::format("{}, at most {}",
                                 to_words(Milliseconds(number_of(tool, "timeout_ms_default"))),
                                 to_words(Milliseconds(number_of(tool, "timeout_ms_max")))));
    field("annotations", text_of(tool, "annotations"));
    print_line("\narguments");
    if (const json::Value* schema = tool.find("input_schema")) print_arguments(*schema);
    if (const json::Value* schema = tool.find("output_schema"))
        print_line("\nresult schema\n" + printable(pretty(*schema), Lines::kKeep));
}

}  // namespace

int run(const ToolsList& options) {
    static const Listing kTools{
        .members = {"tools"},
        .name = by_member("name"),
        .columns = {column("TOOL", "name"),
                    {"SOURCE", source_of},
                    {"EFFECTS", effects},
                    wide_column("QUALIFIED NAME", "qualified_name"),
                    wide_column("TITLE", "title"),
                    column("DESCRIPTION", "description")},
        .empty =
            "No tools. A device's tools appear while it is connected: crab devices pair, then "
            "crab devices run."};
    Listing listing = kTools;
    if (!options.glob.empty() || !options.source.empty()) listing.empty = "No such tools.";
    return show_list([&] { return find_tools(options); }, listing, options.output);
}

int run(const ToolsShow& options) {
    const Result<json::Value> reply = fetch_tools(options.target);
    if (!reply) return report(reply.error());
    std::vector<std::string> names;
    for (const json::Value& tool : items_of(*reply, "tools")) {
        if (text_of(tool, "name") == options.tool ||
            text_of(tool, "qualified_name") == options.tool) {
            if (!options.output.is_text()) return show_value(tool, options.output);
            print_tool(tool);
            return kExitOk;
        }
        names.push_back(text_of(tool, "name"));
    }
    complain(no_such_tool(options.tool, names));
    return kExitNotFound;
}

}  // namespace crab::cli
