#include "cli/admin_client.hpp"
#include "cli/commands.hpp"
#include "cli/gateway_endpoint.hpp"
#include "cli/output/durations.hpp"
#include "cli/output/exit_codes.hpp"
#include "cli/output/listing.hpp"
#include "cli/output/pretty_json.hpp"
#include "cli/output/table.hpp"
#include "cli/state_backup.hpp"

#include <fmt/format.h>

namespace crab::cli {

int run(const Backup& options) {
    const auto folder = find_state_dir(options.config, options.system);
    if (!folder) return report(folder.error());
    const auto saved = back_up_state(*folder, options.to);
    if (!saved) return report(saved.error());
    std::uint64_t bytes = 0;
    json::Value files = json::Value::array();
    Table table({"FILE", "SIZE"});
    for (const SavedFile& file : *saved) {
        bytes += file.bytes;
        files.push_back(json::Value::object({{"name", file.name.string()}, {"bytes", file.bytes}}));
        table.add({file.name.string(), bytes_in_words(static_cast<std::int64_t>(file.bytes))});
    }
    if (!options.output.is_text())
        return show_value(
            json::Value::object(
                {{"folder", options.to.string()}, {"bytes", bytes}, {"files", std::move(files)}}),
            options.output);
    print(table.to_text(Terminal::out()));
    print_line(printable(
        fmt::format("\n{} in {}. It holds the gateway's private keys and what was said in chats: "
                    "keep it as safe as the original.",
                    bytes_in_words(static_cast<std::int64_t>(bytes)), options.to.string()),
        Lines::kKeep));
    return kExitOk;
}

}  // namespace crab::cli
