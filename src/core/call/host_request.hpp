#pragma once

#include "base/id_source.hpp"

#include <functional>

namespace crab::core {

/// A recorded request to a process that runs none twice (ToolHost::process()). Its id is that of
/// the record, so that another gateway of the fleet can ask for the answer when this one has died.
struct HostRequest {
    UuidText id;
    /// Recorded, and perhaps sent, by another gateway: whatever fails here, it may have run
    bool adopted = false;
    /// Called once the answer is recorded: the process need not keep it any more. On any thread.
    std::function<void()> when_kept{};
};

}  // namespace crab::core
