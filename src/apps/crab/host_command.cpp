#include "apps/crab/commands.hpp"
#include "apps/crab/host_run.hpp"
#include "config/paths.hpp"

#include <unistd.h>

namespace crab::app {

int run(const RunHost& options) {
    HostProcess::Options process{.kind = options.kind, .socket = std::filesystem::absolute(options.socket), .state_dir = options.state_dir};
    if (process.state_dir.empty()) process.state_dir = config::Paths::find(false, ::getuid()).state_dir / "hosts" / name_of(options.kind);
    return run_host(process);
}

}  // namespace crab::app
