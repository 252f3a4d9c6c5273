#include "apps/crab/bridge_run.hpp"

#include "apps/crab/bridge/bridge.hpp"
#include "apps/crab/interrupt.hpp"
#include "base/descriptor.hpp"
#include "base/log.hpp"

#include <csignal>
#include <future>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

namespace crab::app {

Result<DeviceEnd> run_bridge(const BridgePaths& paths, crab::DeviceOptions device) {
    log::configure(log::Level::kInfo, log::Format::kText);
    std::signal(SIGPIPE, SIG_IGN);
    if (auto made = config::ensure_private_directory(paths.lock.parent_path(), ::geteuid()); !made) return fail(std::move(made.error()));
    const Descriptor lock(::open(paths.lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    if (!lock.is_open() || ::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
        return fail(ErrorCode::kConflict, "a bridge of this user runs already; `crab bridge status` shows it");
    }
    std::promise<Bridge*> made;  // the signals are blocked before the bridge has its threads
    const Interrupt interrupt([bridge = made.get_future().share()] { bridge.get()->stop(); });
    Bridge bridge(paths, std::move(device));
    made.set_value(&bridge);
    return bridge.run();
}

}  // namespace crab::app
