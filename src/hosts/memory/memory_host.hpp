#pragma once

#include "base/clock.hpp"
#include "base/id_source.hpp"
#include "base/task/run_within.hpp"
#include "core/call/tool_host.hpp"
#include "hosts/memory/memory_store.hpp"
#include "hosts/memory/write_queue.hpp"

#include <mutex>

namespace crab::memory {

/// Runs memory.append, memory.query and memory.delete (memory_tools.hpp), in the gateway or in a
/// process of its own. Scopes come from the call, never from its arguments. Called on any event
/// loop; its arguments must outlive it, and `ids` is not shared. Source: docs/protocols/rtp.md,
/// "Memory host".
class MemoryHost final : public core::ToolHost {
public:
    MemoryHost(MemoryStore& store, BlockingPool& pool, const Clock& clock, IdSource& ids,
               TimersHere timers_here);

    /// Errors: kInvalidArgs, kToolNotFound for other tools, kTimeout at the call's deadline, and
    /// those of WriteQueue::write() and MemoryStore.
    Task<core::Outcome> run(core::AdmittedCall call, core::FrameSink& sink) override;

private:
    Task<core::Outcome> append(core::AdmittedCall call);
    Task<core::Outcome> query(core::AdmittedCall call);
    Task<core::Outcome> remove(core::AdmittedCall call);
    MemoryWrite write_of(const core::AdmittedCall& call,
                         std::variant<MemoryAppend, MemoryDelete> change);
    SystemTime now() const { return std::chrono::floor<Milliseconds>(clock_.system_now()); }

    MemoryStore& store_;
    BlockingPool& pool_;
    const Clock& clock_;
    std::mutex ids_mutex_;
    IdSource& ids_;
    const TimersHere timers_here_;
    WriteQueue writes_;
};

}  // namespace crab::memory
