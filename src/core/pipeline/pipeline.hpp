#pragma once

#include "base/task/task.hpp"
#include "core/call/admitted_call.hpp"
#include "core/call/frame_sink.hpp"
#include "core/pipeline/call_runner.hpp"
#include "core/pipeline/call_services.hpp"
#include "core/pipeline/first_caller.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace crab::core {

struct CallInProgress;

/// The path of every call: authorize, hooks, validate, admit, approve, limit, record, dispatch,
/// settle. One per event loop, used on that loop only. The stage types of
/// core/call/admitted_call.hpp enforce the order.
class Pipeline final : public CallRunner {
public:
    Pipeline(CallServices services, const Executor& home, TimerWheel& timers, IdSource& ids);
    ~Pipeline() override;

    using CallRunner::run;
    Task<CallEnd> run(AuthenticatedCall call, FrameSink& sink, WhileRunning repeats) override;

    /// The caller of the running `call` has left: whether it continues because repeats wait for it;
    /// it is cancelled when the last of them has left. An unsent call does not continue: repeats
    /// start it again.
    static bool goes_on_for_others(const Call& call) {
        return call.first != nullptr && call.first->leave();
    }

    /// The tools that `principal` may call, with the names to call them by.
    std::vector<RegistrySnapshot::Listed> list(const Principal& principal,
                                               std::string_view tenant = {},
                                               std::string_view after = {},
                                               std::size_t limit = SIZE_MAX);
    /// Which registry list() is of now; see list_change().
    std::uint64_t list_number() { return loop_.registry.get()->number(); }
    /// How list() differs from what it was in the registry of that number, if that is known.
    std::optional<RegistrySnapshot::ListChange> list_change(const Principal& principal,
                                                            std::uint64_t since);
    /// Principals with one key have the same list().
    std::string listing_key(const Principal& principal) {
        return core::listing_key(view_of(principal, {}));
    }
    /// The list for a turn: plain names prefer the tools of the view's device and connection. Sets
    /// the policy of `view`.
    std::vector<RegistrySnapshot::Listed> list_for(View view);
    Result<ToolRef> resolve(const Principal& principal, std::string_view tenant,
                            std::string_view name);

    /// Whether a call of that principal, tenant and key is recorded on disk. False, too, when that
    /// cannot be read.
    Task<bool> has_recorded(const Call& call, const Principal& principal, Deadline deadline);

    /// Whether calls of `principal` may name this tenant.
    bool may_act_in(const Principal& principal, std::string_view tenant) {
        return rules()->may_act_in(principal, tenant);
    }

    const std::shared_ptr<const CallRules>& rules() { return loop_.rules.get(); }
    RunningCalls& running() { return loop_.running; }
    const CallMetrics& metrics() const { return loop_.metrics; }

private:
    struct Stages;

    Task<std::shared_ptr<const Outcome>> pass_stages(AuthenticatedCall call, FrameSink& sink,
                                                     CallInProgress& progress);
    CallEnd finish(std::shared_ptr<const Outcome> outcome, const FrameSink& sink,
                   CallInProgress& progress);
    View view_of(const Principal& principal, std::string_view tenant);

    LoopServices loop_;
    std::unique_ptr<Stages> stages_;
};

}  // namespace crab::core
