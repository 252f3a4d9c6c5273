#include "core/audit/audit_log.hpp"

#include "base/log.hpp"
#include "base/scope_exit.hpp"
#include "base/task/run_within.hpp"
#include "json/writer.hpp"

#include <algorithm>

namespace crab::core {
namespace {

constexpr std::size_t kRoomForOne = 4096;  // bytes; most records have fewer

/// The newest line of `records` that holds `needle`.
std::optional<std::string> find_line(std::string_view records, std::string_view needle) {
    const std::size_t at = records.rfind(needle);
    if (at == std::string_view::npos) return std::nullopt;
    const std::size_t before = records.rfind('\n', at);
    const std::size_t start = before == std::string_view::npos ? 0 : before + 1;
    return std::string(records.substr(start, records.find('\n', at) - start));
}

}  // namespace

AuditLog::AuditLog(std::shared_ptr<AuditStore> store, BlockingPool& pool, const Clock& clock,
                   Options options)
    : store_(std::move(store)), pool_(pool), clock_(clock), options_(options), rate_(options.rate) {
    gathered_.records.reserve(options_.batch_bytes + kRoomForOne);
}

AuditLog::~AuditLog() {
    {
        const std::scoped_lock lock(mutex_);
        tell_left_out(SteadyTime::max());
    }
    flush_and_wait();
    std::unique_lock lock(mutex_);
    all_done_.wait(lock, [this] { return posted_ == 0; });
}

bool AuditLog::append_event(const AuditEvent& event,
                            const std::function<void(json::Writer&)>& members) {
    const std::scoped_lock lock(mutex_);
    if (!rate_.take(event, clock_.steady_now())) return false;
    return append(event.by, [&](std::string& out) {
        json::Writer writer(out);
        writer.begin_object()
            .key("event")
            .string(event.kind)
            .key("time")
            .string(to_rfc3339(clock_.system_now()));
        members(writer);
        writer.end_object();
    });
}

void AuditLog::tell_left_out(SteadyTime now) {  // with mutex_ held
    for (const AuditRate::Suppressed& left_out : rate_.take_suppressed(now)) {
        append(left_out.by, [&](std::string& out) {
            json::Writer(out)
                .begin_object()
                .key("event")
                .string("audit.left_out")
                .key("time")
                .string(to_rfc3339(clock_.system_now()))
                .key("of")
                .string(left_out.kind)
                .key("principal")
                .string_lossy(left_out.by)
                .key("count")
                .unsigned_integer(left_out.count)
                .end_object();
        });
    }
}

bool AuditLog::accepts_more(std::string_view principal) const {
    if (backlog_ >= options_.max_backlog_bytes || backlog_records_ >= options_.max_backlog_records)
        return false;
    const std::scoped_lock lock(mutex_);
    const auto share = shares_.find(principal);
    return share == shares_.end() || share->second < options_.max_backlog_bytes / kShare;
}

/// Calls that had begun before accepts() said no find room still.
bool AuditLog::is_full() const {  // with mutex_ held
    const auto most = [](std::size_t limit) { return limit + limit / 4; };
    return backlog_ + gathered_.records.size() >= most(options_.max_backlog_bytes) ||
           backlog_records_ + gathered_.count >= most(options_.max_backlog_records);
}

bool AuditLog::refuse_record() {  // with mutex_ held
    constexpr auto kComplainEvery = std::chrono::seconds(10);
    ++lost_;
    if (const SteadyTime now = clock_.steady_now();
        complained_ == SteadyTime{} || now >= complained_ + kComplainEvery) {
        complained_ = now;
        log::error("audit records are lost: the store is too far behind",
                   {{"lost", lost_.load()}, {"backlog_bytes", backlog_.load()}});
    }
    return false;
}

/// Returns how much was gathered before.
std::size_t AuditLog::begin_record() {
    const SystemTime now = clock_.system_now();
    if (gathered_.count == 0) gathered_.first = now;
    gathered_.last = now;
    const std::size_t before = gathered_.records.size();
    if (gathered_.count > 0) gathered_.records += '\n';
    return before;
}

void AuditLog::end_record(std::string_view principal, std::size_t before) {
    ++gathered_.count;
    if (backlog_ >= options_.max_backlog_bytes / kPressure && !principal.empty()) {
        auto share = shares_.find(principal);
        if (share == shares_.end()) share = shares_.emplace(std::string(principal), 0).first;
        share->second += gathered_.records.size() - before;
    }
    if (gathered_.records.size() >= options_.batch_bytes) hand_over();
}

void AuditLog::hand_over() {  // with mutex_ held
    if (gathered_.count == 0) return;
    // A batch may be kept for long, so that it gets no more room than it needs; the next one will
    // likely be as large.
    const std::size_t size = gathered_.records.size();
    if (size < gathered_.records.capacity() / 2) gathered_.records.shrink_to_fit();
    auto batch = std::make_shared<AuditBatch>(std::move(gathered_));
    gathered_ = AuditBatch{};
    gathered_.records.reserve(std::min(size + size / 4, options_.batch_bytes) + kRoomForOne);
    backlog_ += batch->records.size();
    backlog_records_ += batch->count;
    remember(batch);
    to_store_.push_back(std::move(batch));
    ++posted_;
    pool_.post([this] {
        store_next();
        const std::scoped_lock lock(mutex_);
        if (--posted_ == 0) all_done_.notify_all();
    });
}

void AuditLog::remember(std::shared_ptr<const AuditBatch> batch) {  // with mutex_ held
    recent_bytes_ += batch->records.size();
    recent_.push_back(std::move(batch));
    while (recent_bytes_ > options_.recent_bytes && recent_.size() > 1) {
        recent_bytes_ -= recent_.front()->records.size();
        recent_.pop_front();
    }
}

void AuditLog::show_to(std::shared_ptr<AuditObserver> observer) {
    const std::scoped_lock lock(mutex_);
    observers_.push_back(std::move(observer));
}

bool AuditLog::store_next() {
    std::shared_ptr<const AuditBatch> next;
    std::vector<std::shared_ptr<AuditObserver>> observers;
    {
        const std::scoped_lock storing(storing_);
        {
            const std::scoped_lock lock(mutex_);
            if (to_store_.empty()) return false;
            next = std::move(to_store_.front());
            to_store_.pop_front();
            observers = observers_;
        }
        store_batch(*next);
    }
    // Records that calls wait for are stored meanwhile.
    for (const auto& observer : observers) observer->on_batch(*next);
    return true;
}

void AuditLog::store_batch(const AuditBatch& batch) {
    const auto stored = store_->append(batch);
    failing_ = !stored;
    if (!stored) {
        lost_ += batch.count;
        log::error("audit records were not stored",
                   {{"records", batch.count}, {"reason", stored.error().message}});
    }
    backlog_records_ -= batch.count;
    if ((backlog_ -= batch.records.size()) < options_.max_backlog_bytes / (2 * kPressure)) {
        const std::scoped_lock lock(mutex_);
        shares_.clear();
    }
}

Task<Result<void>> AuditLog::append_durable(std::string record, TimerWheel& timers,
                                            Deadline deadline) {
    auto batch = std::make_shared<const AuditBatch>(AuditBatch{.first = clock_.system_now(),
                                                               .last = clock_.system_now(),
                                                               .count = 1,
                                                               .records = std::move(record)});
    // goes on when its caller has left
    {
        const std::scoped_lock lock(mutex_);
        ++posted_;
    }
    auto refers = std::shared_ptr<AuditLog>(this, [](AuditLog* log) {
        const std::scoped_lock lock(log->mutex_);
        if (--log->posted_ == 0) log->all_done_.notify_all();
    });
    auto work = [this, batch, refers = std::move(refers)]() mutable {
        const ScopeExit done([&] { refers.reset(); });
        const std::scoped_lock storing(storing_);
        auto stored = store_->append(*batch);
        failing_ = !stored;
        if (stored) {
            const std::scoped_lock lock(mutex_);
            remember(batch);
        }
        return stored;
    };
    co_return co_await run_within(pool_, std::move(work), timers, deadline);
}

void AuditLog::flush() {
    const std::scoped_lock lock(mutex_);
    tell_left_out(clock_.steady_now());
    hand_over();
}

void AuditLog::flush_and_wait() {
    flush();
    while (store_next()) {}
}

std::optional<std::string> AuditLog::find_recent(std::string_view needle) {
    const std::scoped_lock lock(mutex_);
    if (auto line = find_line(gathered_.records, needle)) return line;
    for (auto batch = recent_.rbegin(); batch != recent_.rend(); ++batch) {
        if (auto line = find_line((*batch)->records, needle)) return line;
    }
    return std::nullopt;
}

Task<std::optional<std::string>> AuditLog::find_call(std::string call_id) {
    std::string needle = R"("call_id":)";
    json::append_quoted(needle, call_id);
    if (auto line = find_recent(needle)) co_return line;
    static constexpr auto kSearchDays = std::chrono::hours(24 * 7);
    auto work = [this, id = std::move(call_id)] {
        return store_->find_call(id, clock_.system_now() - kSearchDays);
    };
    auto found = co_await pool_.run(std::move(work));
    co_return found ? std::move(*found) : std::nullopt;
}

Task<std::vector<std::string>> AuditLog::latest(std::size_t limit) {
    std::vector<std::string> lines;
    const auto take = [&](std::string_view records) {
        while (!records.empty() && lines.size() < limit) {
            const std::size_t before = records.rfind('\n');
            lines.emplace_back(records.substr(before == std::string_view::npos ? 0 : before + 1));
            records =
                before == std::string_view::npos ? std::string_view{} : records.substr(0, before);
        }
    };
    {
        const std::scoped_lock lock(mutex_);
        take(gathered_.records);
        for (auto batch = recent_.rbegin(); batch != recent_.rend(); ++batch)
            take((*batch)->records);
    }
    if (lines.size() >= limit) co_return lines;
    auto work = [this, limit] {
        flush_and_wait();
        return store_->latest(limit);
    };
    auto stored = co_await pool_.run(std::move(work));
    if (stored) co_return std::move(*stored);
    co_return lines;
}

}  // namespace crab::core
