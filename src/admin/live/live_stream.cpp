#include "admin/live/live_stream.hpp"

#include "admin/approvals_wire.hpp"
#include "net/codec/sse.hpp"

#include <string>
#include <utility>

namespace crab::admin {
namespace {

constexpr Milliseconds kTick{1000 / core::CallSampler::kTakesPerSecond};
constexpr std::uint64_t kTicksOfStatus = core::CallSampler::kTakesPerSecond;
constexpr std::chrono::seconds kKeepAlive{15};
constexpr std::size_t kEventsAtOnce = 64;
/// A stream that is further behind goes on with the newest.
constexpr core::EventPosition kMostBehind = 1'024;

}  // namespace

LiveStream::LiveStream(const LiveSources& sources, StreamRequest request,
                       net::HttpExchange& exchange)
    : sources_(sources),
      request_(std::move(request)),
      exchange_(exchange),
      questions_(std::make_shared<ApprovalFeed::Watcher>(exchange.loop().executor(),
                                                         exchange.loop().timers())),
      calls_sent_(exchange.loop().now()),
      unrecorded_(sources.unrecorded_calls()),
      tools_(sources.tools_generation()),
      position_(sources.events.last()),
      quiet_since_(exchange.loop().now()) {
    if (request_.has(Topic::kQuestion)) sources_.questions.add(questions_);
    if (request_.attends) attending_.emplace(sources_.approvals);
    if (request_.has(Topic::kDevice)) devices_ = sources_.devices();
    if (request_.has(Topic::kPairing))
        for (const auto& pairing : sources_.pairings()) pairings_[pairing.id] = pairing.state;
    if (!request_.has(Topic::kCalls)) return;
    calls_ = std::make_shared<core::CallWatch>(request_.filter, request_.rate, calls_sent_);
    sources_.calls.add(calls_);
}

Task<void> LiveStream::run() {
    net::EventLoop& loop = exchange_.loop();
    exchange_.start_stream(200, "text/event-stream", {{"Cache-Control", "no-store"}});
    send_hello();
    if (request_.has(Topic::kQuestion)) send_open_questions();
    for (SteadyTime due = loop.now(); !exchange_.caller_gone();) {
        // A reader that is slow makes a tick late, and the next one a whole tick later.
        if (loop.now() >= due) {
            due = loop.now() + kTick;
            co_await tick(loop.now());
        }
        co_await exchange_.drained();
        const WaitEnd how = co_await questions_->wait(due);
        if (how == WaitEnd::kCancelled) break;
        send_questions();
        if (questions_->fell_behind()) break;
    }
    exchange_.end_stream();
}

void LiveStream::send(std::string_view type, std::string_view json) {
    std::string event;
    if (!net::append_sse_event(event, type, {}, json)) return;
    exchange_.write_chunk(event);
    quiet_since_ = exchange_.loop().now();
}

void LiveStream::send_hello() {
    std::string json;
    json::Writer writer(json);
    writer.begin_object().key("version").string(sources_.version);
    writer.key("now").string(to_rfc3339(exchange_.loop().clock().system_now())).end_object();
    send("hello", json);
}

void LiveStream::send_open_questions() {
    for (const auto& request : sources_.approvals.list()) {
        if (request.end.state != core::ApprovalState::kPending) continue;
        std::string json;
        json::Writer writer(json);
        append_approval(writer, *request.question, request.end);
        send("question", json);
    }
}

void LiveStream::send_questions() {
    for (const auto& news : questions_->take()) send(news.type, news.json);
}

Task<void> LiveStream::tick(SteadyTime now) {
    if (calls_) send_calls(now);
    if (ticks_++ % kTicksOfStatus == 0) {
        if (request_.has(Topic::kStatus)) send("status", sources_.status());
        if (request_.has(Topic::kRunning)) send_running();
        if (request_.has(Topic::kDevice)) send_devices();
        if (request_.has(Topic::kPairing)) send_pairings();
    }
    if (request_.has(Topic::kTools)) send_tools();
    if (request_.has(Topic::kEvent)) co_await send_events();
    if (now < quiet_since_ + kKeepAlive) co_return;
    std::string ping;
    net::append_sse_ping(ping);
    exchange_.write_chunk(ping);
    quiet_since_ = now;
}

/// An idle gateway is told of once.
void LiveStream::send_calls(SteadyTime now) {
    const std::uint64_t unrecorded = sources_.unrecorded_calls();
    const CallsEvent event{.taken = calls_->take(),
                           .unrecorded = unrecorded - unrecorded_,
                           .interval = std::chrono::duration_cast<Milliseconds>(now - calls_sent_)};
    calls_sent_ = now;
    unrecorded_ = unrecorded;
    const bool any = event.taken.total > 0 || event.unrecorded > 0;
    if (any || had_calls_) {
        std::string json;
        json::Writer writer(json);
        append_calls(writer, event);
        send("calls", json);
    }
    had_calls_ = any;
}

void LiveStream::send_running() {
    const RunningSummary running = sources_.running();
    if (running.count > 0 || had_running_) {
        std::string json;
        json::Writer writer(json);
        append_summary(writer, running);
        send("running", json);
    }
    had_running_ = running.count > 0;
}

void LiveStream::send_devices() {
    auto now = sources_.devices();
    if (now == devices_) return;
    for (const auto& [principal, json] : *now) {
        const auto before = devices_->find(principal);
        if (before == devices_->end() || before->second != json) send("device", json);
    }
    for (const auto& [principal, json] : *devices_)
        if (!now->contains(principal)) send("device", gone_device(principal));
    devices_ = std::move(now);
}

void LiveStream::send_tools() {
    const std::uint64_t generation = sources_.tools_generation();
    if (generation == tools_) return;
    tools_ = generation;
    std::string json;
    json::Writer writer(json);
    writer.begin_object().key("generation").unsigned_integer(generation).end_object();
    send("tools", json);
}

void LiveStream::send_pairings() {
    std::map<std::string, std::string_view> now;
    for (const auto& pairing : sources_.pairings()) {
        now[pairing.id] = pairing.state;
        const auto before = pairings_.find(pairing.id);
        if (before != pairings_.end() && before->second == pairing.state) continue;
        std::string json;
        json::Writer writer(json);
        writer.begin_object().key("id").string(pairing.id).key("state").string(pairing.state);
        if (!pairing.device.empty()) writer.key("device").string_lossy(pairing.device);
        writer.end_object();
        send("pairing", json);
    }
    pairings_ = std::move(now);
}

Task<void> LiveStream::send_events() {
    core::EventOutbox& outbox = sources_.events;
    const core::EventPosition last = outbox.last();
    if (position_ >= last) co_return;
    if (last - position_ > kMostBehind || position_ + 1 < outbox.first())
        position_ = last - static_cast<core::EventPosition>(kEventsAtOnce);
    const auto events = co_await outbox.read(position_, kEventsAtOnce);
    if (!events) {  // removed meanwhile, or the disk: the rest is told from here on
        position_ = last;
        co_return;
    }
    for (const auto& event : *events) {
        std::string json;
        json::Writer writer(json);
        writer.begin_object().key("cursor").string(std::to_string(event->position));
        writer.key("event").raw(event->event.envelope).end_object();
        send("event", json);
        position_ = event->position;
    }
}

}  // namespace crab::admin
