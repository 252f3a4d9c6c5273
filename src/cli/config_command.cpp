#include "cli/admin_client.hpp"
#include "cli/output/exit_codes.hpp"
#include "cli/output/listing.hpp"
#include "cli/output/pretty_json.hpp"
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
    static const Listing kEntries{
        .members = {"entries"},
        .name = by_member("key"),
        .columns = {column("KEY", "key"),
                    {"VALUE",
                     [](const json::Value& entry) {
                         return flag_of(entry, "secret") ? std::string(kSecret)
                                                         : shown(entry.find("value"));
                     }},
                    {"DEFAULT",
                     [](const json::Value& entry) {
                         return is_default(entry) ? std::string() : shown(entry.find("default"));
                     }},
                    column("LINE", "line"),
                    {"", [](const json::Value& entry) {
                         return flag_of(entry, "restart") ? "restart" : "";
                     }}}};
    const auto ask_for_entries = [&]() -> Result<json::Value> {
        auto config = fetch(options.target, "/v1/admin/config");
        if (!config || !options.changed) return config;
        json::Value changed = json::Value::array();
        for (const json::Value& entry : items_of(*config, "entries")) {
            if (!is_default(entry)) changed.push_back(entry);
        }
        config->set("entries", std::move(changed));
        return config;
    };
    return show_list(ask_for_entries, kEntries, options.output);
}

int run(const ConfigPath& options) {
    const auto config = fetch(options.target, "/v1/admin/config");
    if (!config) return report(config.error());
    const std::string path = text_of(*config, "path");
    if (path.empty()) {
        complain("the gateway runs without a file: all are defaults");
        return kExitNotFound;
    }
    if (!options.output.is_text())
        return show_value(json::Value::object({{"path", path}}), options.output);
    print_line(printable(path));
    return kExitOk;
}

}  // namespace crab::cli
