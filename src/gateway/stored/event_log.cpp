#include "gateway/stored/event_log.hpp"

#include "adapters/rtp/events/pairing_event.hpp"
#include "base/log.hpp"
#include "gateway/stored/interrupted_turns.hpp"
#include "json/writer.hpp"
#include "store/stores.hpp"

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

std::span<const ConfigKey> EventLog::keys() const {
    static constexpr ConfigKey kKeys[] = {
        restart_key("events", [](auto& c) -> auto& { return c.events; })};
    return kKeys;
}

/// What is known, elsewhere, of calls and turns that an earlier run of the gateway left open; in a
/// fleet also of those that ended with another node.
Result<void> EventLog::end_turns_of_earlier_run(const std::string& gateway_id,
                                                const rtp::TurnEventOptions& options) {
    const Clock& clock = context_.clock;
    auto earlier =
        InterruptedTurns::find(chats_.event_turns(), chats_.chats(), context_.config, clock);
    if (!earlier) return fail(std::move(earlier.error()));
    const auto calls =
        rtp::CallEventLog::end_open_calls(*store_, ledger_.unfinished(), clock, gateway_id);
    if (!calls) return fail(calls.error());
    if (*calls > 0)
        log::warn("ended calls that an earlier run of the gateway left open", {{"calls", *calls}});
    const auto end_of = [&](const core::TurnSummary& story) { return earlier->end_of(story); };
    const auto turns =
        rtp::TurnEventLog::end_open_turns(*store_, earlier->of_events(), end_of, clock, options);
    if (!turns) return fail(turns.error());
    if (*turns > 0)
        log::warn("ended turns that an earlier run of the gateway left open", {{"turns", *turns}});
    return earlier->record_ends();
}

Result<void> EventLog::start() {
    const config::EventOptions& options = context_.config.events;
    const Clock& clock = context_.clock;
    const std::string& gateway_id = peers_.keys_of_gateway().identity.gateway_id;
    const rtp::TurnEventOptions turn_options{.gateway_id = gateway_id,
                                             .chat_answers = options.chat_answers};
    auto store = context_.stores->open_events();
    if (!store) return fail(std::move(store.error()));
    store_ = std::move(*store);
    if (auto ended = end_turns_of_earlier_run(gateway_id, turn_options); !ended) return ended;
    BlockingPool& pool = workers_.pool();
    streams_ = std::make_unique<rtp::EventStreams>();
    writer_ = std::make_unique<BlockingPool>(1);
    auto subscriptions = core::EventSubscriptions::load(*store_, pool, clock);
    if (!subscriptions) return fail(std::move(subscriptions.error()));
    subscriptions_ = std::move(*subscriptions);
    auto outbox = core::EventOutbox::open(
        *store_, *writer_, pool, clock,
        {.keep = options.retention, .max_bytes = options.max_bytes, .keep_posted = is_shared()});
    if (!outbox) return fail(std::move(outbox.error()));
    outbox_ = std::move(*outbox);
    calls_ = std::make_unique<rtp::CallEventLog>(*outbox_, *subscriptions_, clock, gateway_id,
                                                 always_of(options.calls));
    turns_ = std::make_unique<rtp::TurnEventLog>(*outbox_, clock, turn_options);
    housekeeping_ = std::make_unique<BlockingPool>(1);
    if (is_shared()) others_ = std::make_unique<BlockingPool>(1);
    return ledger_.mark_reported();
}

bool EventLog::is_shared() const { return context_.config.fleet && context_.config.fleet->nats; }

rtp::EventServices EventLog::services(trust::Access& access) {
    rtp::EventServices services{context_.clock, *outbox_, *subscriptions_, access, *streams_};
    if (is_shared()) services.look_for_others = [this] { return take_now(); };
    return services;
}

Task<void> EventLog::take_now() {
    auto work = [this] { return take_of_others(); };
    (void)co_await others_->run(std::move(work));
}

/// A store that is away is told of by the outbox, and asked again in a second.
Result<void> EventLog::take_of_others() {
    if (auto taken = outbox_->look_for_others(); !taken) return taken;
    const auto moved = subscriptions_->look_for_others();
    if (!moved) return fail(moved.error());
    for (const core::SubscriptionState& state : *moved)
        streams_->acknowledge(state.peer, state.name, state.acknowledged);
    return {};
}

void EventLog::look_for_others() {
    constexpr std::uint64_t kEndEvery = 10;
    if (!others_ || looking_.exchange(true)) return;
    others_->post([this] {
        (void)take_of_others();
        if (++looks_ % kEndEvery == 0) end_abandoned();
        looking_ = false;
    });
}

// A ring that comes while it looks makes it look again.
void EventLog::ring() {
    if (!others_ || rung_.exchange(true)) return;
    others_->post([this] {
        rung_ = false;
        (void)outbox_->look_for_others();
    });
}

/// What other nodes have left open that do not live any more.
void EventLog::end_abandoned() {
    const rtp::TurnEventOptions options{.gateway_id = peers_.keys_of_gateway().identity.gateway_id,
                                        .chat_answers = context_.config.events.chat_answers};
    if (const auto ended = end_turns_of_earlier_run(options.gateway_id, options); !ended)
        log::warn("what ended with other nodes was not told", {{"reason", ended.error().message}});
}

void EventLog::stop(Deadline) {
    others_.reset();
    housekeeping_.reset();
    turns_.reset();
    calls_.reset();
    outbox_.reset();
    subscriptions_.reset();
    streams_.reset();
    writer_.reset();
    store_.reset();
}

rtp::PairingObserver EventLog::pairing_witness() {
    return [this, gateway_id = peers_.keys_of_gateway().identity.gateway_id,
            ids = std::make_shared<IdSource>(context_.clock)](const rtp::PairingUpdate& news) {
        outbox_->post_owed(rtp::pairing_event(news, ids->uuid_v7().view(), gateway_id,
                                              context_.clock.system_now()));
    };
}

void EventLog::forget_old() {
    if (forgetting_.exchange(true)) return;
    housekeeping_->post([this] {
        (void)outbox_->forget_old();
        forgetting_ = false;
    });
}

Health EventLog::health() const {
    if (!outbox_ || !outbox_->failing()) return {};
    return {.ok = false, .reason = "events cannot be written: see the disk"};
}

void EventLog::add_metrics(core::MetricsPage& page) {
    page.add([this](std::string& out) { append_metrics(out); });
}

void EventLog::append_metrics(std::string& out) const {
    using core::append_metric;
    const core::EventBounds bounds = outbox_->bounds();
    const auto kept = bounds.last - bounds.first + 1;
    append_metric(out, "crab_events", "gauge", "Events kept in the outbox.",
                  static_cast<double>(kept));
    append_metric(out, "crab_events_bytes", "gauge", "Size of the outbox on disk, about.",
                  static_cast<double>(bounds.bytes));
    const double age =
        kept > 0
            ? std::chrono::duration<double>(context_.clock.system_now() - bounds.oldest).count()
            : 0;
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
                  static_cast<double>(streams_->size()));
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
