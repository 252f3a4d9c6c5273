#include "cli/mcp_shown.hpp"

#include "base/process/file.hpp"
#include "config/paths.hpp"

#include <unistd.h>

namespace crab::cli {
namespace {

namespace fs = std::filesystem;

fs::path folder() { return config::Paths::find(false, ::getuid()).state_dir; }

/// By server.
json::Value read_all() {
    const auto text = read_file(folder() / "mcp_shown.json");
    auto all = json::Value::parse(text ? *text : "{}");
    return all && all->is_object() ? std::move(*all) : json::Value::object();
}

}  // namespace

Result<void> keep_shown(std::string_view server, json::Value::Items entries) {
    if (auto made = config::ensure_private_directory(folder(), ::getuid()); !made) return made;
    json::Value all = read_all();
    all.set(server, json::Value::array(std::move(entries)));
    return replace_file(folder() / "mcp_shown.json", all.dump() + "\n");
}

std::optional<json::Value::Items> find_shown(std::string_view server) {
    const json::Value all = read_all();
    const json::Value* const entries = all.find(server);
    if (entries == nullptr || entries->as_array() == nullptr) return std::nullopt;
    return *entries->as_array();
}

}  // namespace crab::cli
