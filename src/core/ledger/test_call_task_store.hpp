#pragma once

#include "core/ledger/call_task_store.hpp"

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>

namespace crab::core {

/// For tests: keeps tasks in memory, and fails or hangs on demand.
class CallTaskStoreMemory final : public CallTaskStore {
public:
    Result<bool> add(const CallTask& task, const Limits& limits) override {
        hangs_.wait(true);
        if (refuses) return fail(ErrorCode::kUnavailable, "the disk is full");
        const std::scoped_lock lock(mutex_);
        const auto theirs = std::ranges::count_if(
            tasks_, [&](const auto& each) { return each.second.principal == task.principal; });
        if (static_cast<std::size_t>(theirs) >= limits.tasks) return false;
        return tasks_.emplace(task.id, task).second;
    }
    Result<std::optional<CallTask>> find(std::string_view id) override {
        hangs_.wait(true);
        const std::scoped_lock lock(mutex_);
        const auto found = tasks_.find(id);
        return found == tasks_.end() ? std::nullopt : std::optional(found->second);
    }
    Result<void> set_resume(std::string_view id, std::string_view resume) override {
        return change(id, [&](CallTask& task) { task.resume = resume; });
    }
    Result<void> cancel(std::string_view id) override {
        return change(id, [](CallTask& task) { task.request.clear(); });
    }
    Result<bool> end(std::string_view id, std::string_view status, std::string_view outcome,
                     SystemTime at, const Limits& limits) override {
        if (outcome.size() > std::max(limits.bytes_at_end, kFewBytes)) return false;
        auto done = change(id, [&](CallTask& task) {
            if (task.ended) return;
            task.ended = true;
            task.request.clear();
            task.status = status;
            task.outcome = outcome;
            task.updated = at;
        });
        if (!done) return fail(std::move(done.error()));
        return true;
    }
    Result<void> remove(std::string_view id) override {
        hangs_.wait(true);
        const std::scoped_lock lock(mutex_);
        if (const auto found = tasks_.find(id); found != tasks_.end()) tasks_.erase(found);
        return {};
    }
    Result<std::uint64_t> forget(SystemTime before) override {
        const std::scoped_lock lock(mutex_);
        return std::erase_if(tasks_,
                             [&](const auto& each) { return each.second.created < before; });
    }

    void hang() { hangs_ = true; }
    void go_on() {
        hangs_ = false;
        hangs_.notify_all();
    }
    std::size_t size() {
        const std::scoped_lock lock(mutex_);
        return tasks_.size();
    }
    std::atomic<bool> refuses = false;

private:
    template <class F>
    Result<void> change(std::string_view id, F work) {
        hangs_.wait(true);
        if (refuses) return fail(ErrorCode::kUnavailable, "the disk is full");
        const std::scoped_lock lock(mutex_);
        if (const auto found = tasks_.find(id); found != tasks_.end()) work(found->second);
        return {};
    }

    std::atomic<bool> hangs_ = false;
    std::mutex mutex_;
    std::map<std::string, CallTask, std::less<>> tasks_;
};

}  // namespace crab::core
