#pragma once

#include "hosts/cron/cron_store.hpp"

#include <algorithm>
#include <map>
#include <mutex>

namespace crab::cron {

/// For tests: keeps everything in memory, and fails while `failing`.
class CronStoreMemory final : public CronStore {
public:
    Result<CronCreated> create(const CronRequest& request, const CronJob& job,
                               std::size_t most_jobs) override {
        const std::scoped_lock lock(mutex_);
        if (failing_) return full();
        if (const auto known = requests_.find(key_of(request)); known != requests_.end()) {
            if (known->second.content != request.content)
                return fail(ErrorCode::kConflict, "the key was used for another request");
            return known->second.answer;
        }
        if (static_cast<std::size_t>(std::ranges::count(jobs_, job.tenant, [](const auto& row) {
                return row.second.job.tenant;
            })) >= most_jobs) {
            return fail(Error{.code = ErrorCode::kRateLimited,
                              .message = "too many jobs",
                              .details = {},
                              .retryable = false,
                              .retry_after = {}});
        }
        jobs_.emplace(++last_number_,
                      Row{.job = job, .wake_at = job.next_run_at, .decided_at = job.created_at});
        const CronCreated answer{.operation_id = request.operation_id, .job = job};
        requests_.emplace(key_of(request), Known{.content = request.content, .answer = answer});
        return answer;
    }
    Result<std::string> remove(const CronRequest& request, std::string_view job_id) override {
        const std::scoped_lock lock(mutex_);
        if (failing_) return full();
        if (const auto known = requests_.find(key_of(request)); known != requests_.end()) {
            if (known->second.content != request.content)
                return fail(ErrorCode::kConflict, "the key was used for another request");
            return known->second.answer.operation_id;
        }
        const auto removed = std::erase_if(jobs_, [&](const auto& row) {
            return row.second.job.tenant == request.tenant && row.second.job.job_id == job_id;
        });
        if (removed == 0) return fail(ErrorCode::kInvalidArgs, "job not found");
        requests_.emplace(key_of(request),
                          Known{.content = request.content,
                                .answer = {.operation_id = request.operation_id, .job = {}}});
        return request.operation_id;
    }
    Result<CronPage> list(const TenantId& tenant, std::string_view after, std::size_t limit,
                          std::size_t) override {
        const std::scoped_lock lock(mutex_);
        if (failing_) return full();
        CronPage page;
        for (const auto& [number, row] : jobs_) {
            if (row.job.tenant == tenant && row.job.job_id > after) page.jobs.push_back(row.job);
        }
        std::ranges::sort(page.jobs, {}, &CronJob::job_id);
        page.more = page.jobs.size() > limit;
        if (page.more) page.jobs.resize(limit);
        return page;
    }
    Result<std::vector<DueJob>> due(SystemTime now, std::size_t limit) override {
        return select(limit, [now](const Row& row) { return row.wake_at <= now; });
    }
    Result<std::vector<DueJob>> decided_after(SystemTime time, std::size_t limit) override {
        return select(limit, [time](const Row& row) { return row.decided_at > time; });
    }
    Result<std::optional<SystemTime>> next_wake() override {
        const std::scoped_lock lock(mutex_);
        std::optional<SystemTime> next;
        for (const auto& [number, row] : jobs_) {
            if (row.job.enabled) next = std::min(next.value_or(row.wake_at), row.wake_at);
        }
        return next;
    }
    Result<std::size_t> fire(std::span<const CronFiring> firings) override {
        const std::scoped_lock lock(mutex_);
        if (failing_) return full();
        const std::size_t before = events_.size();
        for (const CronFiring& firing : firings) {
            const auto row = jobs_.find(firing.number);
            if (row == jobs_.end() || row->second.job.next_run_at != firing.was_due) continue;
            row->second.job.next_run_at = firing.next_run_at;
            row->second.wake_at = firing.wake_at;
            row->second.decided_at = firing.decided_at;
            if (!firing.envelopes.empty()) row->second.job.last_run_at = firing.decided_at;
            for (const std::string& envelope : firing.envelopes) {
                const std::int64_t number = ++last_event_;
                events_.emplace(
                    number, Event{.event = {.number = number, .refusals = 0, .envelope = envelope},
                                  .job = firing.number,
                                  .retry_at = {}});
            }
        }
        return events_.size() - before;
    }
    Result<std::vector<UnpublishedEvent>> unpublished(SystemTime now, std::size_t limit) override {
        const std::scoped_lock lock(mutex_);
        if (failing_) return full();
        std::vector<UnpublishedEvent> found;
        for (const auto& [number, event] : events_) {
            if (event.retry_at <= now && found.size() < limit) found.push_back(event.event);
        }
        return found;
    }
    Result<std::optional<SystemTime>> next_publish() override {
        const std::scoped_lock lock(mutex_);
        std::optional<SystemTime> next;
        for (const auto& [number, event] : events_)
            next = std::min(next.value_or(event.retry_at), event.retry_at);
        return next;
    }
    Result<void> settle(std::span<const std::int64_t> accepted,
                        std::span<const EventDelay> refused) override {
        const std::scoped_lock lock(mutex_);
        if (failing_) return full();
        for (const std::int64_t number : accepted) events_.erase(number);
        for (const EventDelay& delay : refused) {
            Event& event = events_.at(delay.number);
            event.retry_at = delay.until;
            ++event.event.refusals;
        }
        return {};
    }

    void set_failing(bool failing) {
        const std::scoped_lock lock(mutex_);
        failing_ = failing;
    }

private:
    struct Row {
        CronJob job;
        SystemTime wake_at, decided_at;
    };
    struct Known {
        std::string content;
        CronCreated answer;
    };
    struct Event {
        UnpublishedEvent event;
        std::int64_t job;
        SystemTime retry_at;
    };
    static std::unexpected<Error> full() {
        return fail(ErrorCode::kUnavailable, "the disk is full");
    }
    static std::vector<std::string> key_of(const CronRequest& request) {
        return {request.tenant.text(), request.principal, request.key};
    }
    template <class Wanted>
    Result<std::vector<DueJob>> select(std::size_t limit, Wanted wanted) {
        const std::scoped_lock lock(mutex_);
        if (failing_) return full();
        std::vector<DueJob> found;
        for (const auto& [number, row] : jobs_) {
            if (!row.job.enabled || !wanted(row) || found.size() == limit) continue;
            const auto waiting = std::ranges::count_if(
                events_, [job = number](const auto& event) { return event.second.job == job; });
            found.push_back({.number = number,
                             .job = row.job,
                             .unpublished = static_cast<std::uint64_t>(waiting)});
        }
        return found;
    }

    std::mutex mutex_;
    std::map<std::int64_t, Row> jobs_;
    std::map<std::int64_t, Event> events_;
    std::map<std::vector<std::string>, Known> requests_;
    std::int64_t last_number_ = 0, last_event_ = 0;
    bool failing_ = false;
};

}  // namespace crab::cron
