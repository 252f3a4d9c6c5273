#pragma once

#include "core/call/tool.hpp"
#include "core/ledger/ledger.hpp"
#include "core/ledger/ledger_ref.hpp"

#include <cstdint>
#include <memory>

namespace crab::core {

class SettleStage;
struct CallRules;

/// A call that was answered (deadline passed or cancelled) while its tool keeps running. Until the
/// tool ends, the call keeps its slot at the tool's gate and repeats join it; its outcome serves
/// repeats only. A host gets it from AdmittedCall::leave_running() and finishes it on the same
/// loop; destroying it unfinished leaves an unknown outcome. Source: docs/protocols/rtp.md, section
/// 3, "Deadline".
class LateCall {
public:
    /// Records the tool's outcome. Returns when it is durable.
    Task<void> finish(Outcome outcome);

private:
    friend class SettleStage;
    SettleStage* settle_ = nullptr;  ///< null until the host's run() has returned; outlives this
    ToolRef tool_;
    std::shared_ptr<const CallRules> rules_;
    ToolGate::Permit permit_;
    Ledger::Ticket ticket_;
    LedgerRef journal_ref_;
    SteadyTime started_{};
};

}  // namespace crab::core
