#include "adapters/mcp/tasks/task_table.hpp"

#include "base/encoding.hpp"
#include "base/log.hpp"

#include <algorithm>
#include <vector>

namespace crab::mcp {
namespace {

constexpr std::size_t kIdBytes = 16;

bool is_task_id(std::string_view id) {
    return id.size() == 2 * kIdBytes && std::ranges::all_of(id, [](char c) {
               return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
           });
}

std::unexpected<Error> unknown() { return fail(ErrorCode::kNotFound, "there is no such task"); }

void log_refused(const char* what, const Error& error) {
    log::warn(what, {{"reason", error.message}});
}

/// Until the pool has done something.
struct PoolWait : RemoteWaiter {
    using RemoteWaiter::RemoteWaiter;
    std::atomic<bool> done = false;
};

/// Stores an end; if there is no room for its outcome, one that says so.
Result<bool> store_end(core::CallTaskStore& store, const core::CallTaskStore::Limits& limits,
                       TaskState& state) {
    const auto end = [&] {
        return store.end(state.id, name_of(state.status), state.outcome, state.updated, limits);
    };
    Result<bool> done = end();
    if (!done || *done) return done;
    state.status = TaskStatus::kFailed;
    state.outcome = error_object(
        {.message = "the result is not kept, for this client's tasks have too large ones",
         .data = {}});
    return end();
}

}  // namespace

void TaskTable::Running::remove(const std::string& id) {
    decltype(all)::node_type gone;  // destroyed without the lock
    const std::scoped_lock lock(mutex);
    gone = all.extract(id);
}

Task<std::optional<core::CallTask>> TaskTable::add(core::CallTask draft) {
    draft.id = to_hex(uses_.random.bytes<kIdBytes>());
    draft.created = draft.updated = uses_.clock.system_now();
    HeldBytes held(unstored_);
    if (!held.grow_to(draft.request.size() + draft.resume.size())) co_return std::nullopt;
    auto work = [&store = uses_.store, row = draft, limits = options_.limits,
                 held = std::move(held), before = draft.created - options_.times.ttl] {
        static_cast<void>(store.forget(before));  // else later
        return store.add(row, limits);
    };
    const Result<bool> added =
        co_await run_within(uses_.pool, std::move(work), uses_.timers_here(), patience());
    if (!added) {
        log_refused("a call does not become a task", added.error());
        remove(draft.id);  // it may still be added, and nobody will know its id
    }
    if (!added || !*added) co_return std::nullopt;
    co_return draft;
}

void TaskTable::remove(std::string_view id) {
    running_->remove(std::string(id));
    uses_.pool.post(
        [&store = uses_.store, id = std::string(id)] { static_cast<void>(store.remove(id)); });
}

bool TaskTable::enter(const core::CallTask& row, std::shared_ptr<LiveTask> live) {
    const std::scoped_lock lock(running_->mutex);
    return running_->all.try_emplace(row.id, Entry{row.principal, row.tenant, std::move(live)})
        .second;
}

Task<bool> TaskTable::is_open(std::string id, Deadline deadline) {
    auto work = [&store = uses_.store, id] { return store.find(id); };
    const auto row =
        co_await run_within(uses_.pool, std::move(work), uses_.timers_here(), deadline);
    if (row && *row && !(*row)->ended) co_return true;
    running_->remove(id);
    co_return false;
}

std::shared_ptr<LiveTask> TaskTable::live_of(const std::string& id,
                                             const core::Principal& principal) {
    const std::scoped_lock lock(running_->mutex);
    const auto found = running_->all.find(id);
    const bool is_its = found != running_->all.end() && found->second.principal == principal.id &&
                        found->second.tenant == principal.tenant.text();
    return is_its ? found->second.live : nullptr;
}

Task<Result<TaskTable::Found>> TaskTable::find(std::string id, core::PrincipalRef principal,
                                               Deadline deadline) {
    if (!is_task_id(id)) co_return unknown();
    if (auto live = live_of(id, *principal)) co_return Found{.live = std::move(live), .row = {}};
    auto work = [&store = uses_.store, id] { return store.find(id); };
    auto row = co_await run_within(uses_.pool, std::move(work), uses_.timers_here(), deadline);
    if (!row) co_return fail(std::move(row.error()));
    const bool is_its = *row && (*row)->principal == principal->id &&
                        (*row)->tenant == principal->tenant.text() &&
                        (*row)->created + options_.times.ttl > uses_.clock.system_now();
    if (!is_its) co_return unknown();
    // it may have begun to run here meanwhile
    Found found{.live = live_of(id, *principal), .row = {}};
    if (!found.live) found.row = std::move(**row);
    co_return found;
}

void TaskTable::set_resume(std::string_view id, std::string_view resume) {
    uses_.pool.post([&store = uses_.store, id = std::string(id), resume = std::string(resume)] {
        if (const auto done = store.set_resume(id, resume); !done)
            log_refused("a restart will not find what a task waits for", done.error());
    });
}

/// Done however long it takes; true when it was done before the deadline.
template <class F>
Task<bool> TaskTable::settle(F work, Deadline deadline) {
    const TaskChain& chain = co_await this_chain();
    const auto wait = std::make_shared<PoolWait>(chain.executor(), uses_.timers_here());
    uses_.pool.post([wait, work = std::move(work)] {
        work();
        wait->done = true;
        wait->wake();
    });
    WaitEnd end = WaitEnd::kWoken;
    while (!wait->done.load() && end == WaitEnd::kWoken) end = co_await wait->wait(deadline);
    co_return wait->done.load();
}

Task<void> TaskTable::cancel(std::string id, Deadline deadline) {
    auto work = [&store = uses_.store, id] {
        if (const auto done = store.cancel(id); !done)
            log_refused("that a task was cancelled is not stored", done.error());
    };
    static_cast<void>(co_await settle(std::move(work), deadline));
}

Task<void> TaskTable::end(TaskState state, Deadline deadline) {
    const auto ended = std::make_shared<TaskState>(state);  // the pool's until that is done
    auto work = [&store = uses_.store, limits = options_.limits, running = running_, ended] {
        const Result<bool> done = store_end(store, limits, *ended);
        if (!done) return log_refused("the end of a task is not stored", done.error());
        running->remove(ended->id);
    };
    if (co_await settle(std::move(work), deadline)) co_return tell(*ended);
    tell(state);
}

TaskTable::Watch TaskTable::watch(std::string id, Changed changed) {
    const std::scoped_lock lock(watches_->mutex);
    std::pair key(std::move(id), ++watches_->last);
    watches_->all.emplace(key, std::move(changed));
    return {watches_, std::move(key)};
}

TaskTable::Watch::~Watch() {
    if (!watches_) return;
    const std::scoped_lock lock(watches_->mutex);
    watches_->all.erase(key_);
}

void TaskTable::tell(const TaskState& state) {
    const std::scoped_lock lock(watches_->mutex);
    for (auto each = watches_->all.lower_bound({state.id, 0});
         each != watches_->all.end() && each->first.first == state.id; ++each)
        each->second(state);
}

void TaskTable::end_credential(std::string_view credential) {
    std::vector<std::shared_ptr<LiveTask>> theirs;
    {
        const std::scoped_lock lock(running_->mutex);
        for (const auto& [id, entry] : running_->all)
            if (!credential.empty() && entry.live->credential() == credential)
                theirs.push_back(entry.live);
    }
    for (const auto& live : theirs) live->cancel_task();
}

}  // namespace crab::mcp
