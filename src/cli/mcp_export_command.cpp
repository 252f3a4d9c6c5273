#include "base/process/file.hpp"
#include "cli/admin_client.hpp"
#include "cli/client_config.hpp"
#include "cli/commands.hpp"
#include "cli/gateway_endpoint.hpp"
#include "cli/output/exit_codes.hpp"
#include "cli/output/terminal.hpp"
#include "config/paths.hpp"

#include <optional>
#include <system_error>

#include <fmt/format.h>

namespace crab::cli {
namespace {

namespace fs = std::filesystem;

/// The socket, if `crab mcp stdio` would look for another: clients start programs with few of the
/// person's variables, and XDG_RUNTIME_DIR is not among them.
std::string socket_to_name() {
    const auto here = find_socket({});
    const auto there = find_socket({}, [](std::string_view name) -> std::optional<std::string> {
        return name == "HOME" ? config::process_environment()(name) : std::nullopt;
    });
    if (!here || (there && *here == *there)) return {};
    return fs::absolute(*here).string();
}

GatewayEntry gateway_entry(const McpExport& options) {
    GatewayEntry entry;
    if (!options.url.empty()) {
        entry.url = options.url;
        while (entry.url.ends_with('/')) entry.url.pop_back();
        if (!entry.url.ends_with("/mcp")) entry.url += "/mcp";
        if (!options.scope.empty()) entry.url += "/" + options.scope;
        return entry;
    }
    // The client may have another PATH than the person.
    std::error_code error;
    const fs::path own = fs::read_symlink("/proc/self/exe", error);
    entry.argv = {error ? std::string("crab") : own.string(), "mcp", "stdio"};
    if (!options.scope.empty()) entry.argv.insert(entry.argv.end(), {"--scope", options.scope});
    if (std::string socket = socket_to_name(); !socket.empty())
        entry.argv.insert(entry.argv.end(), {"--socket", std::move(socket)});
    return entry;
}

}  // namespace

int run(const McpExport& options) {
    const ClientKind client = *find_client(options.client);
    std::string before;
    // Settings are often links into a folder that is kept elsewhere, and stay links.
    std::error_code none;
    fs::path file = fs::weakly_canonical(options.file, none);
    if (none) file = options.file;
    if (!options.file.empty()) {
        auto read = crab::read_file(file);
        if (!read && read.error().code != ErrorCode::kNotFound) return report(read.error());
        if (read) before = std::move(*read);
    }
    const auto after = with_gateway(client, before, gateway_entry(options));
    if (!after) return report(after.error());
    if (options.file.empty()) {
        print(*after);
        return kExitOk;
    }
    if (!before.empty()) {
        const fs::path copy = file.string() + ".before-crab";
        if (const auto kept = replace_file(copy, before); !kept) return report(kept.error());
        print_line(printable(fmt::format("{} is a copy of what was there", copy.string())));
    }
    // such as .vscode of a project that has had no settings yet
    std::error_code ignored;
    if (file.has_parent_path()) fs::create_directory(file.parent_path(), ignored);
    if (const auto written = replace_file(file, *after); !written) return report(written.error());
    const bool lacks_token = !options.url.empty() && client == ClientKind::kZed;
    print_line(printable(fmt::format(
        "{} names crab now; {}restart the client", options.file.string(),
        lacks_token ? fmt::format("write a token where it says {}, and ", kTokenToFillIn) : "")));
    return kExitOk;
}

}  // namespace crab::cli
