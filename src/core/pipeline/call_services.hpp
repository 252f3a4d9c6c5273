#pragma once

#include "base/clock.hpp"
#include "base/id_source.hpp"
#include "base/published.hpp"
#include "base/task/task_chain.hpp"
#include "base/task/timer_wheel.hpp"
#include "core/audit/audit_log.hpp"
#include "core/audit/metrics.hpp"
#include "core/call/early_cancels.hpp"
#include "core/call/hook.hpp"
#include "core/call/running_calls.hpp"
#include "core/ledger/ledger.hpp"
#include "core/ledger/ledger_journal.hpp"
#include "core/pipeline/call_events.hpp"
#include "core/policy/policy.hpp"
#include "core/policy/rate_limits.hpp"
#include "core/registry/registry.hpp"
#include "json/parser.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace crab::core {

class Approvals;
class EffectsLease;
class TraceShare;

/// The configuration of calls; replaced as a whole by a reload.
struct CallRules {
    std::shared_ptr<const Policy> policy;                ///< never null
    std::vector<std::shared_ptr<Hook>> hooks;            ///< in their order
    std::shared_ptr<RateLimits> rates;                   ///< never null
    std::uint32_t max_retries = 2;
    std::size_t max_result_bytes = std::size_t{8} << 20;
    /// Callers are gateways: their agent and tenant claims are trusted
    bool callers_are_gateways = false;
    /// Results of tools with side effects get an `operation_id` (docs/protocols/rtp.md, section 3)
    bool operation_ids = false;

    /// Whether calls of `principal` may name this tenant.
    bool may_act_in(const Principal& principal, std::string_view tenant) const {
        return callers_are_gateways || policy->may_act_in(principal, tenant);
    }
};

/// Services shared by all event loops. Each member is thread-safe.
struct CallServices {
    const Clock& clock;
    Registry& registry;
    Published<CallRules>& rules;
    Ledger& ledger;
    EarlyCancels& early_cancels;
    AuditLog& audit;
    /// Null: the ledger is in memory only, and calls with side effects wait for their audit record
    LedgerJournal* journal = nullptr;
    CallEvents* events = nullptr;  ///< null: no call events
    /// Null: calls that need an approval are refused
    Approvals* approvals = nullptr;
    /// Null: no spans are exported, and hosts are handed the caller's `traceparent`
    const TraceShare* traces = nullptr;
    /// Of a gateway of a fleet: what was recorded is sent while it holds, and calls with an id of
    /// their caller's are recorded unless their tool has certainly no effects, for memory does not
    /// move with a device. Null: there is one gateway
    const EffectsLease* lease = nullptr;
};

/// Services of one event loop's pipeline; used on that loop only.
struct LoopServices {
    LoopServices(CallServices services, const Executor& executor, TimerWheel& wheel,
                 IdSource& source)
        : shared(services),
          home(executor),
          timers(wheel),
          ids(source),
          registry(services.registry.published()),
          rules(services.rules),
          running(executor, services.clock) {}

    SteadyTime now() const { return shared.clock.steady_now(); }

    CallServices shared;
    Executor home;
    TimerWheel& timers;
    IdSource& ids;
    Published<RegistrySnapshot>::Reader registry;
    Published<CallRules>::Reader rules;
    json::Parser arguments;  ///< of all calls; each has its ParsedArguments
    RunningCalls running;
    CallMetrics metrics;
};

}  // namespace crab::core
