#pragma once

#include "base/result.hpp"
#include "core/call/tool_gate.hpp"
#include "core/registry/registry.hpp"
#include "net/loop/event_loop.hpp"

#include <functional>
#include <memory>
#include <vector>

namespace crab::sdk {

/// A built-in tool host with its store, threads and tasks, for use in the gateway or in a process
/// of its own. Destroyed after stop() has finished, or when start() was never called.
class HostedTools {
public:
    HostedTools() = default;
    HostedTools(const HostedTools&) = delete;
    HostedTools& operator=(const HostedTools&) = delete;
    virtual ~HostedTools() = default;

    /// Begins what it does by itself; on the thread of the loop that it was made for.
    virtual void start() {}
    /// Calls `done` when nothing of start() runs any more; on the same thread. Calls must have
    /// ended before.
    virtual void stop(std::function<void()> done) { done(); }
    /// Registers the tools, which run on any event loop; their names are reserved from here on.
    /// Errors: kInvalidArgs that names a configured tool and what is wrong with it.
    virtual Result<void> register_in(core::Registry& registry) = 0;
};

inline constexpr std::uint32_t kCallsAtOnce = 64;  ///< of one host
inline constexpr std::size_t kCallsWaiting = 256;

/// Registers `tools`, which `host` runs and which are valid; it outlives every call. Their names
/// are reserved from here on. All of them together run 64 calls at a time, and 256 wait. Source:
/// docs/protocols/rtp.md, section 1, "Limits".
void register_tools(core::Registry& registry, std::vector<core::ToolSpec> tools,
                    core::ToolHost& host);

}  // namespace crab::sdk
