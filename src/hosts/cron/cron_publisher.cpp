#include "hosts/cron/cron_publisher.hpp"

#include "base/doubling_delay.hpp"
#include "base/error_kind.hpp"
#include "base/log.hpp"

#include <algorithm>

namespace crab::cron {
namespace {

constexpr std::size_t kBatch = 64;
constexpr DoublingDelay kSinkPause{.first = Milliseconds(1'000), .longest = Milliseconds(60'000)};
/// Of an event that the sink refused.
constexpr DoublingDelay kDelay{.first = Milliseconds(1'000), .longest = Milliseconds(3'600'000)};

enum class SinkAnswer : std::uint8_t { kAccepted, kRefused, kSinkIsAway };

/// What an answer of the sink means. Under a key there is only ever one firing, so a conflict says
/// that it has come already: from this job's minute before the clock was set back.
SinkAnswer sink_answer(const Result<void>& answer) {
    if (answer) return SinkAnswer::kAccepted;
    const ErrorCode code = answer.error().code;
    switch (kind_of(code)) {
        case ErrorKind::kConflict:
            return code == ErrorCode::kConflict ? SinkAnswer::kAccepted : SinkAnswer::kSinkIsAway;
        case ErrorKind::kInvalid:
        case ErrorKind::kNotFound:
        case ErrorKind::kRefused: return SinkAnswer::kRefused;
        case ErrorKind::kFailed:
            return code == ErrorCode::kOversize ? SinkAnswer::kRefused : SinkAnswer::kSinkIsAway;
        case ErrorKind::kUnauthenticated:
        case ErrorKind::kRateLimited:
        case ErrorKind::kUnavailable:
        case ErrorKind::kTimeout:
        case ErrorKind::kOutcomeUnknown: break;
    }
    return SinkAnswer::kSinkIsAway;
}

}  // namespace

CronPublisher::CronPublisher(CronStore& store, BlockingPool& pool, const Clock& clock,
                             TimerWheel& timers, CronEventSink& sink)
    : store_(store), pool_(pool), clock_(clock), sink_(sink), waiter_(timers) {}

Task<void> CronPublisher::run() {
    const TaskChain& chain = co_await this_chain();
    while (!chain.cancelled()) {
        const auto published = co_await publish_some();
        if (!published) {
            const Milliseconds pause =
                std::max(kSinkPause.after(++failures_), std::min(asked_, kSinkPause.longest));
            log::warn("cron events wait", {{"code", token_of(published.error().code)},
                                           {"reason", published.error().message},
                                           {"again_in_ms", pause.count()}});
            const Deadline again = clock_.steady_now() + pause;
            // new events do not shorten it
            while (!chain.cancelled() && clock_.steady_now() < again) co_await waiter_.wait(again);
            continue;
        }
        failures_ = 0;
        if (*published > 0) continue;
        auto ask = [&store = store_] { return store.next_publish(); };
        const auto next = co_await pool_.run(std::move(ask));
        if (!next) continue;   // publish_some() will say so
        Deadline until = kNoDeadline;
        if (*next)
            until = clock_.steady_now() +
                    std::clamp<std::chrono::nanoseconds>(**next - clock_.system_now(),
                                                         TimerWheel::kTick, kDelay.longest);
        co_await waiter_.wait(until);
    }
}

/// Returns how many events it offered; a store or sink that is away is an error.
Task<Result<std::size_t>> CronPublisher::publish_some() {
    asked_ = Milliseconds(0);
    auto read = [&store = store_, now = clock_.system_now()] {
        return store.unpublished(now, kBatch);
    };
    auto events = co_await pool_.run(std::move(read));
    if (!events) co_return fail(std::move(events.error()));
    if (events->empty()) co_return 0;
    const std::size_t count = events->size();
    Round round = co_await offer(std::move(*events));
    const bool away = round.sink_is_away;
    auto settle = [&store = store_, round = std::move(round)] {
        return store.settle(round.accepted, round.refused);
    };
    const auto settled = co_await pool_.run(std::move(settle));
    if (!settled) co_return fail(settled.error());
    if (away) co_return fail(ErrorCode::kUnavailable, "the event sink takes nothing now");
    co_return count;
}

Task<CronPublisher::Round> CronPublisher::offer(std::vector<UnpublishedEvent> events) {
    Round round;
    for (UnpublishedEvent& event : events) {
        const auto answer = co_await sink_.publish(std::move(event.envelope));
        switch (sink_answer(answer)) {
            case SinkAnswer::kAccepted: round.accepted.push_back(event.number); break;
            case SinkAnswer::kRefused: {
                const Milliseconds delay = kDelay.after(std::uint64_t{event.refusals} + 1);
                log::warn("cron event refused", {{"code", token_of(answer.error().code)},
                                                 {"reason", answer.error().message},
                                                 {"event", event.number},
                                                 {"again_in_ms", delay.count()}});
                round.refused.push_back(
                    {.number = event.number, .until = clock_.system_now() + delay});
                break;
            }
            case SinkAnswer::kSinkIsAway:
                asked_ = answer.error().retry_after.value_or(Milliseconds(0));
                round.sink_is_away = true;
                co_return round;
        }
    }
    co_return round;
}

}  // namespace crab::cron
