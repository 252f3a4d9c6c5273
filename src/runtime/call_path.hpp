#pragma once

#include "core/call/cancel_answer.hpp"
#include "core/pipeline/away_calls.hpp"
#include "core/pipeline/pipeline.hpp"
#include "runtime/call_ledger.hpp"
#include "runtime/event_loops.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace crab::runtime {

/// The path of calls: a pipeline on every event loop.
class CallPath final : public Component {
public:
    /// Whose calls a caller may cancel.
    enum class CancelScope : std::uint8_t {
        kOwn,                 ///< its own, in the tenant that it names
        kOperatorsCancelAll,  ///< the same, and operators those of everybody
    };
    /// By the loop's place, the loop and its pipeline; it outlives the path.
    using RunnerOf =
        std::function<core::CallRunner&(std::size_t, net::EventLoop&, core::Pipeline&)>;
    /// What decides about calls, and is told of them.
    struct Controls {
        Published<core::CallRules>& rules;
        core::AwayCalls* away = nullptr;  ///< null: no call waits for a device
        core::CallEvents* events = nullptr;
        core::Approvals* approvals = nullptr;
        const core::TraceShare* traces = nullptr;  ///< null: no spans are exported
        const core::EffectsLease* lease = nullptr;  ///< as in CallServices
        /// What fronts of that loop hand their calls to; empty: the pipeline itself
        RunnerOf runner{};
    };
    struct Uses {
        const Clock& clock;
        core::Registry& registry;
        EventLoops& loops;
        CallLedger& ledger;
        AuditTrail& audit;
        std::function<Controls()> controls;  ///< asked for once, by start()
        CancelScope cancels = CancelScope::kOwn;
    };
    /// The part of one event loop.
    struct LoopPart {
        LoopPart(std::size_t loop_place, net::EventLoop& event_loop,
                 const core::CallServices& services, const RunnerOf& runner)
            : place(loop_place),
              loop(event_loop),
              pipeline(services, event_loop.executor(), event_loop.timers(), event_loop.ids()),
              calls(runner ? runner(place, loop, pipeline) : pipeline) {}
        const std::size_t place;  ///< among the event loops
        net::EventLoop& loop;
        core::Pipeline pipeline;
        /// Where fronts hand their calls to
        core::CallRunner& calls;
    };
    explicit CallPath(Uses uses) : uses_(std::move(uses)) {}

    std::string_view name() const override { return "call path"; }
    Result<void> start() override;
    void add_metrics(core::MetricsPage& page) override;

    /// By event loop, in order.
    const std::vector<std::unique_ptr<LoopPart>>& parts() const { return parts_; }
    LoopPart& first() { return *parts_.front(); }
    /// Calls that wait for devices; null where none does.
    core::AwayCalls* away() { return controls_->away; }
    /// Thread-safe.
    std::vector<core::RunningCallInfo> running() const;
    std::size_t running_count() const;
    /// The `most` that have run for longest.
    std::vector<core::RunningCallInfo> oldest(std::size_t most) const;
    /// Thread-safe. Returns how many calls it cancelled. With kOperatorsCancelAll an empty tenant
    /// means any.
    std::size_t cancel(const core::Principal& asker, std::string_view tenant,
                       std::string_view call_id);
    /// Also cancels the call on arrival if it has not arrived yet.
    core::CancelAnswer cancel_or_remember(const core::Principal& asker, std::string_view tenant,
                                          std::string_view call_id);
    bool has_finished(const core::Principal& asker, std::string_view tenant,
                      std::string_view call_id) const;
    std::string home_tenant(const core::Principal& principal) const;
    /// Waits until no call of `front` (empty: any) runs, at most until `deadline`.
    void wait_for_end(Deadline deadline, std::string_view front) const;

private:
    const Uses uses_;
    std::optional<Controls> controls_;  ///< from start() on
    std::vector<std::unique_ptr<LoopPart>> parts_;
};

}  // namespace crab::runtime
