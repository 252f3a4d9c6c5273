#pragma once

#include "core/call/tool.hpp"
#include "core/ledger/ledger.hpp"

#include <cstdint>
#include <memory>

namespace crab::core {

class SettleStage;
struct CallRules;

/// A call that is answered (its deadline passed, it was cancelled) while its tool goes on. Until
/// the tool ends, the call keeps its place at the tool's gate and repeats join it; what it ends
/// with serves repeats only. A host gets it from AdmittedCall::leave_running() and finishes it, on
/// the same loop; one that is only destroyed leaves an unknown outcome. Source:
/// docs/protocols/rtp.md, section 3, "Deadline".
class LateCall {
public:
    /// The tool has ended so. Returns when repeats will get it, after a restart too.
    Task<void> finish(Outcome outcome);

private:
    friend class SettleStage;
    SettleStage* settle_ = nullptr;  ///< null until run() of the host has returned; outlives this
    ToolRef tool_;
    std::shared_ptr<const CallRules> rules_;
    ToolGate::Permit permit_;
    Ledger::Ticket ticket_;
    std::int64_t journal_number_ = 0;
    SteadyTime started_{};
};

}  // namespace crab::core
