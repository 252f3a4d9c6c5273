#include "core/events/event_outbox.hpp"

#include "base/log.hpp"

#include <algorithm>
#include <utility>

namespace crab::core {
namespace {

using Queue = BatchQueue<NewEvent, EventReceipt>;

constexpr std::size_t kMostInACommit = 2'048;
constexpr std::size_t kReadBytes = std::size_t{1} << 20;

/// Whether the store may take it another time.
bool may_be_kept(const Error& error) { return error.code == ErrorCode::kUnavailable; }

/// That something is kept to be sent again.
bool is_reminder(const NewEvent& event) {
    return event.event.event_id.empty() && event.event.envelope.empty();
}

std::size_t bytes_of(const NewEvent& event) {
    return event.event.envelope.size() + sizeof(NewEvent);
}

}  // namespace

EventOutbox::EventOutbox(EventStore& store, BlockingPool& writer, BlockingPool& pool,
                         const Clock& clock, Options options, EventBounds bounds)
    : store_(store),
      pool_(pool),
      clock_(clock),
      options_(options),
      first_(bounds.first),
      last_(bounds.last),
      bounds_(bounds),
      queue_(
          {.name = "events",
           .max_waiting_bytes = options.max_waiting_bytes,
           .max_batch_weight = kMostInACommit},
          [this](std::vector<NewEvent>& events) { return write(events); }, writer, clock) {}

Result<std::unique_ptr<EventOutbox>> EventOutbox::open(EventStore& store, BlockingPool& writer,
                                                       BlockingPool& pool, const Clock& clock,
                                                       Options options) {
    const auto bounds = store.bounds();
    if (!bounds) return fail(bounds.error());
    return std::unique_ptr<EventOutbox>(
        new EventOutbox(store, writer, pool, clock, options, *bounds));
}

Task<Result<EventReceipt>> EventOutbox::publish(NewEvent event, Deadline deadline) {
    const std::size_t bytes = bytes_of(event);
    return queue_.ask(std::move(event), {.bytes = bytes, .deadline = deadline});
}

bool EventOutbox::post(NewEvent event) {
    if (posted_bytes_.load(std::memory_order_relaxed) + bytes_of(event) >
        options_.max_waiting_bytes) {
        ++lost_;
        return false;
    }
    post_owed(std::move(event));
    return true;
}

void EventOutbox::post_owed(NewEvent event) {
    posted_bytes_ += bytes_of(event);
    event.posted = true;
    queue_.post(std::move(event));
}

EventOutbox::Receipts EventOutbox::write(std::vector<NewEvent>& events) {
    std::vector<std::size_t> reminders;
    for (std::size_t i = 0; i < events.size(); ++i)
        if (is_reminder(events[i])) reminders.push_back(i);
    if (!reminders.empty()) std::erase_if(events, is_reminder);
    const EventPosition before = last();
    const auto sent = send_kept();
    Receipts receipts;
    if (!sent)
        receipts.assign(events.size(), fail(sent.error()));
    else if (!events.empty())
        receipts = append(events);
    for (std::size_t i = 0; i < events.size(); ++i) {
        NewEvent& event = events[i];
        if (!event.posted || receipts[i]) continue;
        if (!options_.keep_posted || !may_be_kept(receipts[i].error())) {
            posted_bytes_ -= bytes_of(event);
            ++lost_;
            continue;
        }
        if (sent) event.sent_after = before;
        kept_.push_back(std::move(event));
    }
    keeps_ = !kept_.empty();
    for (const std::size_t place : reminders)
        receipts.insert(
            receipts.begin() + static_cast<std::ptrdiff_t>(place),
            EventReceipt{.status = EventStatus::kDropped, .position = 0, .event_id = {}});
    return receipts;
}

/// Errors: the store is away still. What it refuses for another reason is sent alone, and lost if
/// it is that one.
Result<void> EventOutbox::send_kept() {
    std::size_t most = kMostInACommit;
    while (!kept_.empty()) {
        const auto count = static_cast<std::ptrdiff_t>(std::min(most, kept_.size()));
        std::vector<NewEvent> events(kept_.begin(), kept_.begin() + count);
        const EventPosition before = last();
        const Receipts receipts = append(events);
        if (!receipts.front()) {
            for (auto kept = kept_.begin(); kept != kept_.begin() + count; ++kept)
                if (!kept->sent_after) kept->sent_after = before;
            if (may_be_kept(receipts.front().error())) return fail(receipts.front().error());
            if (std::exchange(most, 1) > 1 && count > 1) continue;
            posted_bytes_ -= bytes_of(kept_.front());
            ++lost_;
        }
        kept_.erase(kept_.begin(), kept_.begin() + count);
    }
    return {};
}

EventOutbox::Receipts EventOutbox::append(std::vector<NewEvent>& events) {
    const SystemTime now = clock_.system_now();
    Receipts receipts = store_.append(events, now);
    if (!receipts.empty() && !receipts.front()) {
        if (!failing_.exchange(true))
            log::error("events cannot be written; publishers are refused",
                       {{"reason", receipts.front().error().message}});
        return receipts;
    }
    std::vector<EventRef> taken;
    for (std::size_t i = 0; i < events.size(); ++i) {
        if (events[i].posted) posted_bytes_ -= bytes_of(events[i]);
        if (receipts[i] && receipts[i]->status == EventStatus::kAccepted)
            taken.push_back(std::make_shared<const StoredEvent>(
                StoredEvent{.position = receipts[i]->position,
                            .at = now,
                            .event = std::move(events[i].event)}));
    }
    if (failing_.exchange(false)) log::info("events can be written again");
    ++commits_;
    accepted_ += taken.size();
    if (taken.empty()) return receipts;
    // What others have appended before goes first.
    if (taken.front()->position != last() + 1) (void)take_new();
    remember(std::move(taken));
    notify();
    return receipts;
}

Result<void> EventOutbox::look_for_others() {
    if (keeps_.exchange(false)) queue_.post(NewEvent());  // a reminder
    return take_new();
}

Result<void> EventOutbox::take_new() {
    for (;;) {
        auto events = store_.read(last(), kMostInACommit, kReadBytes);
        if (!events) return fail(std::move(events.error()));
        if (events->empty()) return {};
        std::vector<EventRef> taken;
        for (StoredEvent& event : *events)
            taken.push_back(std::make_shared<const StoredEvent>(std::move(event)));
        remember(std::move(taken));
        notify();
    }
}

/// Those that are known already are left out: a commit and a look at the store may cross.
void EventOutbox::remember(std::vector<EventRef> events) {
    const std::scoped_lock lock(mutex_);
    std::erase_if(events, [&](const EventRef& event) { return event->position <= bounds_.last; });
    if (events.empty()) return;
    if (first_ > last_) bounds_.oldest = events.front()->at;
    if (events.front()->position != bounds_.last + 1) {
        recent_.clear();
        recent_bytes_ = 0;
    }
    for (EventRef& event : events) {
        recent_bytes_ += event->event.envelope.size();
        bounds_.bytes += event->event.envelope.size();
        recent_.push_back(std::move(event));
    }
    while (recent_bytes_ > options_.recent_bytes && recent_.size() > 1) {
        recent_bytes_ -= recent_.front()->event.envelope.size();
        recent_.pop_front();
    }
    bounds_.last = recent_.back()->position;
    last_.store(bounds_.last, std::memory_order_release);
}

void EventOutbox::notify() {
    std::vector<std::shared_ptr<EventNotifier>> awake;
    {
        const std::scoped_lock lock(mutex_);
        std::erase_if(notifiers_, [&](const std::weak_ptr<EventNotifier>& weak) {
            auto notifier = weak.lock();
            if (!notifier) return true;
            if (notifier->listening_.exchange(false)) awake.push_back(std::move(notifier));
            return false;
        });
    }
    for (const auto& notifier : awake) notifier->wake();
}

void EventOutbox::add(const std::shared_ptr<EventNotifier>& notifier) {
    const std::scoped_lock lock(mutex_);
    notifiers_.push_back(notifier);
}

Task<WaitEnd> EventOutbox::sleep(EventNotifier& notifier, EventPosition after, Deadline until) {
    notifier.listening_ = true;
    // What was committed before it listened does not wake it any more.
    if (last() > after) co_return WaitEnd::kWoken;
    co_return co_await notifier.wait(until);
}

Task<Result<std::vector<EventOutbox::EventRef>>> EventOutbox::read(EventPosition after,
                                                                   std::size_t most) {
    if (after + 1 < first())
        co_return fail(ErrorCode::kNotFound, "these events were already removed");
    std::vector<EventRef> events;
    {
        const std::scoped_lock lock(mutex_);
        if (after >= bounds_.last) co_return events;
        if (!recent_.empty() && recent_.front()->position <= after + 1) {
            const auto begin = recent_.begin() + (after + 1 - recent_.front()->position);
            const auto count =
                std::min<std::ptrdiff_t>(static_cast<std::ptrdiff_t>(most), recent_.end() - begin);
            events.assign(begin, begin + count);
            co_return events;
        }
    }
    auto work = [this, after, most] { return store_.read(after, most, kReadBytes); };
    auto stored = co_await pool_.run(std::move(work));
    if (!stored) co_return fail(std::move(stored.error()));
    for (StoredEvent& event : *stored)
        events.push_back(std::make_shared<const StoredEvent>(std::move(event)));
    co_return events;
}

bool EventOutbox::forget_old() {
    const auto left = store_.forget(clock_.system_now() - options_.keep, options_.max_bytes);
    if (!left) return false;
    const std::scoped_lock lock(mutex_);
    bounds_.first = left->first;
    bounds_.bytes = left->bytes;
    bounds_.oldest = left->oldest;
    first_.store(left->first, std::memory_order_release);
    return true;
}

EventBounds EventOutbox::bounds() const {
    const std::scoped_lock lock(mutex_);
    return bounds_;
}

}  // namespace crab::core
