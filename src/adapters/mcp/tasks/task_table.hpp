#pragma once

#include "adapters/mcp/tasks/task_state.hpp"
#include "base/byte_budget.hpp"
#include "base/ordered_mutex.hpp"
#include "base/task/run_within.hpp"
#include "base/task/task.hpp"
#include "core/call/principal.hpp"
#include "core/ledger/call_task_store.hpp"
#include "crypto/random_source.hpp"

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace crab::mcp {

/// A task whose call runs in this gateway. Thread-safe.
class LiveTask {
public:
    virtual ~LiveTask() = default;
    virtual TaskState task_state() const = 0;
    /// `inputResponses`, an object: what fits no open question is ignored.
    virtual void answer_task(std::string_view responses) = 0;
    /// Its client wants it to end; that takes effect later.
    virtual void cancel_task() = 0;
    /// By which the call came.
    virtual const std::string& credential() const = 0;
};

/// All tasks of a gateway. Any number of threads. The disk may be slow, or hang: nobody waits for
/// the store beyond a deadline, the call's or request's or `patience`.
class TaskTable {
public:
    struct Options {
        TaskTimes times{};
        core::CallTaskStore::Limits limits{};
        /// Of who has no deadline: a task that is made, one that ends, a request about one
        Milliseconds patience{10'000};
        /// Of all requests of new tasks that the store has not taken yet
        std::size_t most_unstored = std::size_t{64} << 20;
    };
    /// All of it outlives the table.
    struct Uses {
        core::CallTaskStore& store;
        BlockingPool& pool;
        const Clock& clock;
        crypto::RandomSource& random;
        TimersHere timers_here;
    };
    TaskTable(const Uses& uses, Options options)
        : options_(options),
          uses_(uses),
          unstored_(std::make_shared<ByteBudget>(options.most_unstored)) {}

    const TaskTimes& times() const { return options_.times; }
    /// Until when a request that begins now waits for the store.
    Deadline patience() const { return uses_.clock.steady_now() + options_.patience; }

    /// Makes a task: `draft` with a new id and the time of now. It is durable when this returns.
    /// Nothing when its principal has as many as it may, or the store refuses it or does not answer
    /// in time: then the call has to be waited for.
    Task<std::optional<core::CallTask>> add(core::CallTask draft);
    /// Takes a task back whose client has not been told of it.
    void remove(std::string_view id);
    /// It runs here from now on; false when it does already.
    bool enter(const core::CallTask& row, std::shared_ptr<LiveTask> live);
    /// Of one that was entered and has not begun: whether its row still has no end. If not, or if
    /// that cannot be found out, it leaves the table again: it ran here, and ended before it was
    /// entered.
    Task<bool> is_open(std::string id, Deadline deadline);

    /// A task of this principal: the one that runs here, else its row, which may have no end.
    struct Found {
        std::shared_ptr<LiveTask> live;
        std::optional<core::CallTask> row;
    };
    /// Errors: kNotFound, for those of others too; kTimeout, kCancelled; those of the store.
    Task<Result<Found>> find(std::string id, core::PrincipalRef principal, Deadline deadline);

    /// The host of its call has promised this work.
    void set_resume(std::string_view id, std::string_view resume);
    /// Its client has cancelled it: no later gateway runs it again. Durable when this returns, if
    /// the store does not fail; at the deadline, when it can.
    Task<void> cancel(std::string id, Deadline deadline);
    /// Its end, durable when this returns; at the deadline, when the store can. Until then, and if
    /// it fails as long as the gateway runs, the end is known here.
    Task<void> end(TaskState state, Deadline deadline);

    /// Called with each change while it lives; `changed` must not block and not use the table.
    class Watch;
    using Changed = std::function<void(const TaskState&)>;
    [[nodiscard]] Watch watch(std::string id, Changed changed);
    void tell(const TaskState& state);

    /// A credential was revoked: what came by it is cancelled.
    void end_credential(std::string_view credential);
    /// The gateway stops: calls that end for that are no ends of their tasks.
    void stop() { stopping_ = true; }
    bool stopping() const { return stopping_; }

private:
    struct Entry {
        std::string principal, tenant;
        std::shared_ptr<LiveTask> live;
    };
    /// Those that run here, shared with work that the pool has still to do.
    struct Running {
        std::mutex mutex;
        std::map<std::string, Entry> all;
        void remove(const std::string& id);
    };
    struct Watches {
        OrderedMutex<LockRank::kTaskWatches> mutex;
        std::map<std::pair<std::string, std::uint64_t>, Changed> all;  // by task and number
        std::uint64_t last = 0;
    };

    std::shared_ptr<LiveTask> live_of(const std::string& id, const core::Principal& principal);
    template <class F>
    Task<bool> settle(F work, Deadline deadline);

    const Options options_;
    const Uses uses_;
    const std::shared_ptr<ByteBudget> unstored_;
    const std::shared_ptr<Running> running_ = std::make_shared<Running>();
    std::shared_ptr<Watches> watches_ = std::make_shared<Watches>();
    std::atomic<bool> stopping_ = false;
};

class TaskTable::Watch {
public:
    Watch(Watch&& other) noexcept
        : watches_(std::exchange(other.watches_, nullptr)), key_(std::move(other.key_)) {}
    Watch& operator=(Watch&&) = delete;
    ~Watch();

private:
    friend class TaskTable;
    Watch(std::shared_ptr<Watches> watches, std::pair<std::string, std::uint64_t> key)
        : watches_(std::move(watches)), key_(std::move(key)) {}
    std::shared_ptr<Watches> watches_;
    std::pair<std::string, std::uint64_t> key_;
};

}  // namespace crab::mcp
