#include "base/process/file.hpp"
#include "cli/admin_client.hpp"
#include "cli/client_config.hpp"
#include "cli/commands.hpp"
#include "cli/output/exit_codes.hpp"
#include "cli/output/terminal.hpp"

#include <system_error>

#include <fmt/format.h>

namespace crab::cli {
namespace {

namespace fs = std::filesystem;

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
    return entry;
}

}  // namespace

int run(const McpExport& options) {
    const ClientKind client = *find_client(options.client);
    std::string before;
    if (!options.file.empty()) {
        auto read = crab::read_file(options.file);
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
        const fs::path copy = options.file.string() + ".before-crab";
        if (const auto kept = replace_file(copy, before); !kept) return report(kept.error());
        print_line(printable(fmt::format("{} is a copy of what was there", copy.string())));
    }
    if (const auto written = replace_file(options.file, *after); !written)
        return report(written.error());
    print_line(
        printable(fmt::format("{} names crab now; restart the client", options.file.string())));
    return kExitOk;
}

}  // namespace crab::cli
