#include "gateway/event_side.hpp"

#include "adapters/rtp/events/pairing_event.hpp"
#include "base/log.hpp"
#include "json/writer.hpp"

#include <fmt/format.h>

namespace crab::gateway {

namespace {

rtp::CallEventLog::Always always_of(config::CallEventRule rule) {
    switch (rule) {
        case config::CallEventRule::kEffects: return rtp::CallEventLog::Always::kWithSideEffects;
        case config::CallEventRule::kAll: return rtp::CallEventLog::Always::kAll;
        case config::CallEventRule::kWanted: return rtp::CallEventLog::Always::kNone;
    }
    return rtp::CallEventLog::Always::kWithSideEffects;
}

}  // namespace

Result<std::unique_ptr<EventSide>> EventSide::open(const std::filesystem::path& file,
                                                   const config::EventOptions& options,
                                                   std::string gateway_id,
                                                   const EarlierLife& earlier, Services services) {
    auto& [pool, clock] = services;
    auto store = store::sqlite::EventStoreSqlite::open(file);
    if (!store) return fail(std::move(store.error()));
    const auto ended = rtp::CallEventLog::end_open_calls(**store, earlier.calls, clock, gateway_id);
    if (!ended) return fail(ended.error());
    if (*ended > 0)
        log::warn("calls of an earlier life of the gateway were without an end",
                  {{"calls", *ended}});
    const rtp::TurnEventOptions turn_options{.gateway_id = gateway_id,
                                             .chat_answers = options.chat_answers};
    const auto end_of = [&](const core::TurnStory& story) { return earlier.turns.end_of(story); };
    const auto turns = rtp::TurnEventLog::end_open_turns(**store, earlier.turns.of_events(), end_of,
                                                         clock, turn_options);
    if (!turns) return fail(turns.error());
    if (*turns > 0)
        log::warn("turns of an earlier life of the gateway were without an end",
                  {{"turns", *turns}});
    std::unique_ptr<EventSide> side(new EventSide(std::move(*store), clock));
    auto subscriptions = core::EventSubscriptions::load(*side->store_, pool, clock);
    if (!subscriptions) return fail(std::move(subscriptions.error()));
    side->subscriptions_ = std::move(*subscriptions);
    auto outbox =
        core::EventOutbox::open(*side->store_, side->writer_, pool, clock,
                                {.keep = options.retention, .max_bytes = options.max_bytes});
    if (!outbox) return fail(std::move(outbox.error()));
    side->outbox_ = std::move(*outbox);
    side->calls_ =
        std::make_unique<rtp::CallEventLog>(*side->outbox_, *side->subscriptions_, clock,
                                            std::move(gateway_id), always_of(options.calls));
    side->turns_ = std::make_unique<rtp::TurnEventLog>(*side->outbox_, clock, turn_options);
    return side;
}

EventSide::~EventSide() = default;

rtp::PairingWitness EventSide::pairing_witness(std::string gateway_id) {
    return [this, gateway_id = std::move(gateway_id),
            ids = std::make_shared<IdSource>(clock_)](const rtp::PairingNews& news) {
        outbox_->post_owed(
            rtp::pairing_event(news, ids->uuid_v7().view(), gateway_id, clock_.system_now()));
    };
}

void EventSide::forget_old() {
    housekeeping_.post([this] { (void)outbox_->forget_old(); });
}

void EventSide::append_metrics(std::string& out) const {
    using core::append_metric;
    const core::EventBounds bounds = outbox_->bounds();
    const auto kept = bounds.last - bounds.first + 1;
    append_metric(out, "crab_events", "gauge", "Events kept in the outbox.",
                  static_cast<double>(kept));
    append_metric(out, "crab_events_bytes", "gauge", "Size of the outbox on disk, about.",
                  static_cast<double>(bounds.bytes));
    const double age =
        kept > 0 ? std::chrono::duration<double>(clock_.system_now() - bounds.oldest).count() : 0;
    append_metric(out, "crab_events_oldest_seconds", "gauge",
                  "Age of the oldest event that is kept.", age);
    append_metric(out, "crab_events_accepted_total", "counter",
                  "Events taken into the outbox since the start.",
                  static_cast<double>(outbox_->accepted()));
    append_metric(out, "crab_events_commits_total", "counter", "Durable commits of the outbox.",
                  static_cast<double>(outbox_->commits()));
    append_metric(out, "crab_events_lost_total", "counter",
                  "Events of calls that the disk refused.", static_cast<double>(outbox_->lost()));
    append_metric(out, "crab_events_failing", "gauge", "1 while events cannot be written.",
                  outbox_->failing() ? 1 : 0);
    append_metric(out, "crab_event_streams", "gauge", "Remembered streams that are open.",
                  static_cast<double>(streams_.size()));
    const auto subscriptions = subscriptions_->list();
    if (subscriptions.empty()) return;
    out +=
        "# HELP crab_event_subscription_lag Events that came after the last acknowledgement.\n# "
        "TYPE crab_event_subscription_lag gauge\n";
    for (const auto& state : subscriptions) {
        out += "crab_event_subscription_lag{peer=";
        json::append_quoted_lossy(out, state.peer);
        out += ",subscription=";
        json::append_quoted_lossy(out, state.name);
        fmt::format_to(std::back_inserter(out), "}} {}\n",
                       bounds.last - std::min(state.acknowledged, bounds.last));
    }
}

}  // namespace crab::gateway
