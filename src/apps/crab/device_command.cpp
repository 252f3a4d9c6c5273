#include "apps/crab/admin_client.hpp"
#include "apps/crab/commands.hpp"
#include "apps/crab/exit_codes.hpp"
#include "apps/crab/files.hpp"
#include "apps/crab/terminal.hpp"

#include <fmt/format.h>

namespace crab::app {

int run(const Device& options) {
    DeviceOptions device = options.options;
    if (!options.token_file.empty()) {
        Result<std::string> token = read_input(options.token_file.string());
        if (!token) return report(token.error());
        while (token->ends_with('\n') || token->ends_with('\r')) token->pop_back();
        device.token = Secret<std::string>(std::move(*token));
    }
    for (const std::string& exec : options.exec) {
        const std::size_t equals = exec.find('=');
        if (equals == 0 || equals == exec.npos || equals + 1 == exec.size()) {
            complain(fmt::format("--exec {}: write NAME=COMMAND", exec));
            return kExitUsage;
        }
        device.exec_tools.push_back({exec.substr(0, equals), exec.substr(equals + 1)});
    }
    return run_device(device);
}

}  // namespace crab::app
