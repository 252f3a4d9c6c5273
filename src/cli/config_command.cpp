#include "cli/admin_client.hpp"
#include "cli/output/exit_codes.hpp"
#include "cli/output/pretty_json.hpp"
#include "cli/output/table.hpp"
#include "cli/output/terminal.hpp"

namespace crab::cli {
namespace {

constexpr std::string_view kSecret = "(a secret)";

std::string shown(const json::Value* value) {
    if (value == nullptr) return "";
    return value->as_string() != nullptr ? *value->as_string() : value->dump();
}

bool is_default(const json::Value& entry) {
    const json::Value* const value = entry.find("value");
    const json::Value* const standard = entry.find("default");
    return value != nullptr && standard != nullptr && *value == *standard;
}

}  // namespace

int run(const ConfigShow& options) {
    const auto config = fetch(options.target, "/v1/admin/config");
    if (!config) return report(config.error());
    if (options.output == Output::kJson) return print_json(*config), kExitOk;
    Table table({"KEY", "VALUE", "DEFAULT", "LINE", ""});
    for (const json::Value& entry : items_of(*config, "entries")) {
        const bool usual = is_default(entry);
        if (usual && options.changed) continue;
        table.add({text_of(entry, "key"),
                   flag_of(entry, "secret") ? std::string(kSecret) : shown(entry.find("value")),
                   usual ? "" : shown(entry.find("default")), shown(entry.find("line")),
                   flag_of(entry, "restart") ? "restart" : ""});
    }
    print(table.to_text(Terminal::out()));
    return kExitOk;
}

int run(const ConfigPath& options) {
    const auto config = fetch(options.target, "/v1/admin/config");
    if (!config) return report(config.error());
    const std::string path = text_of(*config, "path");
    if (path.empty()) {
        complain("the gateway runs without a file: all are defaults");
        return kExitNotFound;
    }
    print_line(printable(path));
    return kExitOk;
}

}  // namespace crab::cli
