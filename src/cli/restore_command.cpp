#include "cli/commands.hpp"
#include "cli/gateway_endpoint.hpp"
#include "cli/output/exit_codes.hpp"
#include "cli/output/listing.hpp"
#include "cli/output/pretty_json.hpp"
#include "cli/output/table.hpp"
#include "cli/state_restore.hpp"

#include <fmt/format.h>

namespace crab::cli {

int run(const Restore& options) {
    std::filesystem::path folder = options.to;
    if (folder.empty()) {
        const auto found = find_state_dir(options.config, options.system);
        if (!found) return report(found.error());
        folder = *found;
    }
    const auto restored = restore_state(options.from, folder);
    if (!restored) return report(restored.error());
    if (!options.output.is_text())
        return show_value(json::Value::object({{"folder", folder.string()},
                                               {"databases", restored->databases},
                                               {"before", restored->before.string()}}),
                          options.output);
    print_line(printable(
        fmt::format("{} databases checked and in {}.", restored->databases, folder.string()),
        Lines::kKeep));
    if (!restored->before.empty())
        print_line(printable(fmt::format("What was there is in {}; delete it when all is well.",
                                         restored->before.string()),
                             Lines::kKeep));
    print_line("Calls since the backup are unknown to it: one that is repeated would run again.");
    return kExitOk;
}

}  // namespace crab::cli
