#include "adapters/mcp/server/session_stream.hpp"

#include "adapters/mcp/wire/event_stream.hpp"

#include <charconv>
#include <utility>

#include <fmt/format.h>

namespace crab::mcp {
namespace {

bool read_number(std::string_view text, std::uint64_t& number) {
    const char* const end = text.data() + text.size();
    const auto [at, error] = std::from_chars(text.data(), end, number);
    return error == std::errc() && at == end && !text.empty();
}

}  // namespace

std::optional<EventId> EventId::parse(std::string_view text) {
    const std::size_t dash = text.find('-');
    if (dash == std::string_view::npos) return std::nullopt;
    EventId id;
    if (!read_number(text.substr(0, dash), id.stream)) return std::nullopt;
    if (!read_number(text.substr(dash + 1), id.number)) return std::nullopt;
    return id;
}

std::string EventId::text() const { return fmt::format("{}-{}", stream, number); }

SessionStream::ReaderId SessionStream::attach(std::shared_ptr<RemoteWaiter> waiter) {
    const std::scoped_lock lock(mutex_);
    if (waiter_) waiter_->wake();
    waiter_ = std::move(waiter);
    return reader_ = ++readers_;
}

void SessionStream::detach(ReaderId reader) {
    const std::scoped_lock lock(mutex_);
    if (reader_ != reader) return;
    reader_ = 0;
    waiter_ = nullptr;
}

std::uint64_t SessionStream::last() const {
    const std::scoped_lock lock(mutex_);
    return last_;
}

void SessionStream::drop_oldest() {
    bytes_ -= events_.front().bytes.size() + kPerEvent;
    events_.pop_front();
}

bool SessionStream::fits() {
    kept_.shrink_to(bytes_);
    return kept_.grow_to(bytes_);
}

void SessionStream::keep(std::string bytes) {
    const bool until_taken = keeps_ == Keeps::kUntilTaken;
    if (until_taken && (lost_ || closed_at())) return;
    bytes_ += bytes.size() + kPerEvent;
    events_.push_back({++last_, std::move(bytes)});
    if (!until_taken) {
        keep_for_resuming();
    } else if (!fits()) {
        lost_ = true;
        while (!events_.empty()) drop_oldest();
        kept_.shrink_to(0);
    }
    if (waiter_) waiter_->wake();
}

void SessionStream::keep_for_resuming() {
    while (events_.size() > 1 && (events_.size() > kMostEvents || bytes_ > kMostBytes || !fits()))
        drop_oldest();
    passing_ = !fits();
    if (passing_ && reader_ == 0) drop_oldest();
}

void SessionStream::add_message(std::string_view message) {
    std::string bytes;
    const std::string id = keeps_ == Keeps::kForResuming ? next_id() : std::string();
    static_cast<void>(append_message_event(bytes, id, message));  // the id has no line end
    keep(std::move(bytes));
}

void SessionStream::add(std::string_view message) {
    const std::scoped_lock lock(mutex_);
    add_message(message);
}

bool SessionStream::add_if_read(std::string_view message) {
    const std::scoped_lock lock(mutex_);
    if (reader_ == 0 || closed_at()) return false;
    add_message(message);
    return true;
}

void SessionStream::add_priming() {
    const std::scoped_lock lock(mutex_);
    std::string bytes;
    static_cast<void>(append_priming_event(bytes, next_id()));
    keep(std::move(bytes));
}

void SessionStream::close(SteadyTime now) {
    const std::scoped_lock lock(mutex_);
    if (!closed_at()) closed_at_ = now;
    if (waiter_) waiter_->wake();
}

std::optional<SteadyTime> SessionStream::closed_at() const {
    const SteadyTime at = closed_at_;
    return at == SteadyTime::max() ? std::nullopt : std::optional(at);
}

SessionStream::Taken SessionStream::take(ReaderId reader, std::uint64_t after) {
    const std::scoped_lock lock(mutex_);
    Taken taken{.bytes = {}, .last = after};
    if (reader != reader_) {
        taken.replaced = true;
        return taken;
    }
    const bool until_taken = keeps_ == Keeps::kUntilTaken;
    while (until_taken && !events_.empty() && events_.front().number <= after) drop_oldest();
    if (until_taken) kept_.shrink_to(bytes_);
    for (const Event& event : events_) {
        if (event.number <= after) continue;
        taken.more = until_taken && taken.bytes.size() >= kTakenAtOnce;
        if (taken.more) break;
        taken.bytes += event.bytes;
        taken.last = event.number;
    }
    taken.ended = (closed_at() || lost_) && !taken.more;
    if (std::exchange(passing_, false)) {
        while (!events_.empty()) drop_oldest();
        kept_.shrink_to(0);
    }
    return taken;
}

bool SessionStream::is_over() const {
    const std::scoped_lock lock(mutex_);
    return lost_ || closed_at();
}

bool SessionStream::can_resume(std::uint64_t number) const {
    const std::scoped_lock lock(mutex_);
    if (number > last_) return false;
    return number == last_ || (!events_.empty() && events_.front().number <= number + 1);
}

}  // namespace crab::mcp
