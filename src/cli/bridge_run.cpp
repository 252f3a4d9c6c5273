#include "cli/bridge_run.hpp"

#include "base/log.hpp"
#include "bridge/bridge.hpp"
#include "bridge/bridge_lock.hpp"
#include "cli/output/interrupt.hpp"
#include "net/loop/journal.hpp"

#include <csignal>
#include <future>

#include <unistd.h>

namespace crab::cli {

Result<DeviceEnd> run_bridge(const bridge::BridgePaths& paths, crab::DeviceOptions device) {
    log::configure(log::Level::kInfo, log::Format::kText);
    log::set_sink(net::journal_of_standard_error());
    std::signal(SIGPIPE, SIG_IGN);
    if (auto made = config::ensure_private_directory(paths.lock.parent_path(), ::geteuid()); !made)
        return fail(std::move(made.error()));
    const Descriptor lock = bridge::take_bridge_lock(paths.lock);
    if (!lock.is_open()) {
        return fail(ErrorCode::kConflict,
                    "a bridge of this user runs already; `crab bridge status` shows it");
    }
    std::promise<bridge::Bridge*>
        made;  // the signals are blocked before the bridge has its threads
    const Interrupt interrupt([bridge = made.get_future().share()] { bridge.get()->stop(); });
    bridge::Bridge bridge(paths, std::move(device));
    made.set_value(&bridge);
    return bridge.run();
}

}  // namespace crab::cli
