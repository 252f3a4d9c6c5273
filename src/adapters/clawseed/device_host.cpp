#include "adapters/clawseed/device_host.hpp"

#include "base/log.hpp"
#include "base/scope_exit.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace crab::clawseed {
namespace {

constexpr Milliseconds kAcceptWithin{3'000};
constexpr Milliseconds kSilenceAfterPing{5'000};

/// Logs the caller's call id together with the device's request id.
void log_request(std::string_view id, const core::AdmittedCall& call) {
    if (!log::enabled(log::Level::kDebug)) return;
    const std::string& tool = call.tool().unique_name;
    log::debug("call sent to a device",
               {{"call_id", call.call().id}, {"request_id", id}, {"tool", tool}});
}

core::Outcome unavailable() {
    return fail(ErrorCode::kUnavailable,
                "the device is not connected any more; call again when it is back");
}

core::Outcome forgotten() {
    return fail(ErrorCode::kOutcomeUnknown,
                "the device has said before what became of this call, and need not know it any "
                "more; look at the tool's effects, then use a new key");
}

core::Outcome asked_twice() {
    return fail(ErrorCode::kOutcomeUnknown,
                "the same call waits for its device already, and may have taken effect");
}

core::Outcome no_answer_in_time() {
    return fail(ErrorCode::kTimeout, "the device did not answer before the deadline");
}

core::Outcome broken_at_deadline() {
    return fail(ErrorCode::kOutcomeUnknown,
                "the device's connection broke and it did not answer before the deadline; the call "
                "may have taken effect");
}

core::Outcome not_back_in_time() {
    return fail(ErrorCode::kOutcomeUnknown,
                "the device's connection broke while the call ran and it did not come back in "
                "time; the call may have taken effect");
}

}  // namespace

/// Runs `function(DeviceLink*)` on the connection's loop, now if that is this one; the link is null
/// when it has ended.
template <class F>
void DeviceHost::on_link_loop(F function) {
    if (loop_.in_this_thread()) {
        function(link_);
    } else {
        loop_.post([self = shared_from_this(), work = std::move(function)]() mutable {
            work(self->link_);
        });
    }
}

/// What the client's extensions add to a request.
RequestExtras DeviceHost::extras_for(std::chrono::nanoseconds left, std::string_view principal,
                                     std::string_view agent, std::string_view traceparent) const {
    RequestExtras extras;
    if (speaks(Extension::kDeadline)) extras.deadline = std::chrono::floor<Milliseconds>(left);
    if (speaks(Extension::kCaller)) {
        extras.principal = principal;
        extras.agent = agent;
    }
    if (speaks(Extension::kTraceparent)) extras.traceparent = traceparent;
    return extras;
}

void DeviceHost::send_request(std::uint64_t tag, const UuidText& id, const core::AdmittedCall& call,
                              SteadyTime now) {
    log_request(id.view(), call);
    const RequestExtras extras = extras_for(call.deadline() - now, call.principal()->id,
                                            call.call().claimed_agent, call.call().traceparent);
    const bool adopted = call.host_request() != nullptr && call.host_request()->adopted;
    const auto deliver = [this, tag, id, adopted, right = call.right_to_send()](
                             DeviceLink* link, std::string_view frame) {
        std::uint64_t starts_at = 0;
        if (adopted && link != nullptr && link->may_be_forgotten(id.view())) {
            replies_->resolve(tag, forgotten());
            return;
        }
        if (!right.holds()) {  // it has waited for its slot, and for this loop
            replies_->resolve(tag, fail(core::lease_lapsed()));
            return;
        }
        if (link == nullptr || !link->send_request(frame, starts_at)) {
            replies_->resolve(tag, unavailable());
            return;
        }
        replies_->sent(tag, connection_, starts_at, instance_);
    };
    if (loop_.in_this_thread()) {
        std::string frame = loop_.take_buffer();
        write_tool_call_request(frame, id.view(), call.tool().spec.name, call.args(), extras);
        deliver(link_, frame);
        frame.clear();
        loop_.give_buffer(std::move(frame));
        return;
    }
    std::string frame;
    frame.reserve(128 + call.tool().spec.name.size() + call.args().size());
    write_tool_call_request(frame, id.view(), call.tool().spec.name, call.args(), extras);
    on_link_loop([deliver, moved = std::move(frame)](DeviceLink* link) { deliver(link, moved); });
}

void DeviceHost::send_cancel(std::string_view id, std::string_view reason) {
    if (!speaks(Extension::kCancel)) return;
    std::string frame;
    write_tool_call_cancel(frame, id, reason);
    on_link_loop([moved = std::move(frame)](DeviceLink* link) {
        if (link != nullptr) link->send(moved);
    });
}

void DeviceHost::resume(std::string instance) {
    instance_ = std::move(instance);
    const SteadyTime now = loop_.clock().steady_now();
    for (const PendingReplies::UnansweredCall& call :
         replies_->resume(instance_, connection_, shared_from_this())) {
        std::string frame;
        write_tool_call_request(
            frame, call.id.view(), call.tool, call.args,
            extras_for(call.deadline - now, call.principal, call.agent, call.traceparent));
        if (link_ != nullptr && call.right.holds()) link_->send(frame);
    }
}

void DeviceHost::ask_for_other(const RequestOfOther& request) {
    if (link_ == nullptr) return;
    const SteadyTime now = loop_.clock().steady_now();
    std::string frame;
    write_tool_call_request(
        frame, request.id, request.tool, request.args,
        extras_for(request.deadline - now, request.caller, request.agent, request.traceparent));
    link_->send(frame);
}

/// The same request on the same link, for a device that ran it already if it has seen it.
void DeviceHost::ask_again(std::string_view id, const core::AdmittedCall& call, SteadyTime now) {
    if (!speaks(Extension::kResume)) return;
    std::string frame;
    write_tool_call_request(frame, id, call.tool().spec.name, call.args(),
                            extras_for(call.deadline() - now, call.principal()->id,
                                       call.call().claimed_agent, call.call().traceparent));
    on_link_loop([moved = std::move(frame), right = call.right_to_send()](DeviceLink* link) {
        if (link != nullptr && right.holds()) link->send(moved);
    });
}

void DeviceHost::stop() {
    link_ = nullptr;
    ended_ = true;
    wake_first();  // and it the next, as it leaves
}

bool DeviceHost::take_slot() {
    std::size_t out = calls_out_.load();
    while (out < options_.max_calls) {
        if (calls_out_.compare_exchange_weak(out, out + 1)) return true;
    }
    return false;
}

/// A queued call increments the count before it checks for a slot, so one of the two sees the
/// other.
void DeviceHost::leave_slot() {
    calls_out_.fetch_sub(1);
    if (in_line_.load() > 0) wake_first();
}

void DeviceHost::wake_first() {
    std::shared_ptr<RemoteWaiter> first;
    {
        const std::scoped_lock lock(first_mutex_);
        first = first_;
    }
    if (first) first->wake();
}

/// Queues until a slot is free. Nothing has been sent yet, whatever it returns.
Task<Result<void>> DeviceHost::wait_for_slot(net::EventLoop& home, Deadline deadline) {
    const auto busy = [this] {
        return fail(Error{
            .code = ErrorCode::kRateLimited,
            .message = fmt::format(
                "{} calls are out to this device and others wait already; wait for some of them",
                options_.max_calls),
            .details = {},
            .retryable = true,
            .retry_after = Milliseconds(1000)});
    };
    const auto cancelled = [] {
        return fail(ErrorCode::kCancelled, "the call was cancelled while it waited for its device");
    };
    in_line_.fetch_add(1);
    const ScopeExit counted([this] { in_line_.fetch_sub(1); });
    auto first = co_await queue_gate_->enter(home.timers(), deadline);
    if (!first && first.error().code == ErrorCode::kCancelled) co_return cancelled();
    if (!first) co_return busy();
    const auto place =
        std::make_shared<RemoteWaiter>((co_await this_chain()).executor(), home.timers());
    const auto take_place = [this](std::shared_ptr<RemoteWaiter> waiter) {
        const std::scoped_lock lock(first_mutex_);
        first_ = std::move(waiter);
    };
    take_place(place);
    const ScopeExit leave([&] { take_place(nullptr); });
    for (;;) {
        if (ended_) co_return fail(unavailable().error());
        if (take_slot()) co_return Result<void>{};
        const WaitEnd end = co_await place->wait(deadline);
        if (end == WaitEnd::kCancelled) co_return cancelled();
        if (end == WaitEnd::kExpired) co_return busy();
    }
}

/// Whether the device accepts a call in time: 3 s for an acceptance where it promised one, then a
/// ping, then 5 s of silence end the link.
struct DeviceHost::AcceptanceWatch {
    std::optional<SteadyTime> look_at;  ///< nothing: there is nothing to look after
    std::optional<SteadyTime> pinged_at;

    void begin(SteadyTime now) {
        look_at = now + kAcceptWithin;
        pinged_at.reset();
    }
    void end() {
        look_at.reset();
        pinged_at.reset();
    }
    bool due(SteadyTime now) const { return look_at && now >= *look_at; }
};

/// The device has accepted nothing when the watch fell due: asks it again and pings it, and the
/// next time ends a link on which nothing was heard since.
void DeviceHost::hurry(AcceptanceWatch& watch, std::string_view id, const core::AdmittedCall& call,
                       SteadyTime now) {
    if (!watch.pinged_at) {
        watch.pinged_at = now;
        watch.look_at = now + kSilenceAfterPing;
        ask_again(id, call, now);
        on_link_loop([](DeviceLink* link) {
            if (link != nullptr) link->check_alive();
        });
        return;
    }
    const SteadyTime since = *watch.pinged_at;
    watch.end();
    on_link_loop([since](DeviceLink* link) {
        if (link != nullptr && link->last_heard() < since) link->drop_dead_link();
    });
}

/// False: the same call waits already.
bool DeviceHost::await_reply(PendingReply& reply, const core::AdmittedCall& call) {
    reply.call = &call;
    const core::HostRequest* const named = call.host_request();
    if (named == nullptr) {
        replies_->add(reply);
        return true;
    }
    reply.maybe_seen = named->adopted;
    return replies_->add(reply, named->id);
}

Task<core::Outcome> DeviceHost::run(core::AdmittedCall call, core::FrameSink& sink) {
    net::EventLoop& home = *net::EventLoop::current();
    if (in_line_.load() > 0 || !take_slot()) {
        auto waited = co_await wait_for_slot(home, call.deadline());
        if (!waited) co_return fail(std::move(waited.error()));
    }
    const ScopeExit count_down([this] { leave_slot(); });
    PendingReply reply(home, sink);
    if (!await_reply(reply, call)) co_return asked_twice();
    const std::uint64_t tag = reply.tag;
    bool waiting = true;
    const ScopeExit forget([&] {
        if (waiting) replies_->remove(tag);
    });
    const UuidText id = reply.id;
    const SteadyTime sent_at = home.now();
    send_request(tag, id, call, sent_at);

    AcceptanceWatch watch;
    if (speaks(Extension::kAccepted)) watch.begin(sent_at);
    std::optional<SteadyTime> broken_at;
    std::shared_ptr<DeviceHost> carrier;
    for (;;) {
        Deadline until = call.deadline();
        if (broken_at) until = std::min(until, *broken_at + options_.grace);
        if (watch.look_at) until = std::min(until, *watch.look_at);
        const WaitEnd end = co_await reply.waiter.wait(until);
        PendingReplies::Update news = replies_->take_update(reply);
        if (news.answered) {
            waiting = false;
            if (core::HostRequest* const named = call.host_request())
                named->when_kept = std::move(reply.acknowledge);
            co_return std::move(*reply.answer);
        }
        broken_at = news.broken_at;
        const bool moved = news.carrier.get() != carrier.get();
        if (moved) carrier = news.carrier;  // the device has reconnected and got the request again
        DeviceHost& sender = carrier ? *carrier : *this;
        const SteadyTime now = home.clock().steady_now();
        if (end == WaitEnd::kWoken) {
            watch.end();  // the connection has closed; nothing to watch
            if (moved && !broken_at && sender.speaks(Extension::kAccepted)) watch.begin(now);
            continue;
        }
        if (end == WaitEnd::kCancelled) {
            sender.send_cancel(id.view(), "cancelled");
            co_return fail(ErrorCode::kCancelled,
                           "the call was cancelled while the device worked on it");
        }
        if (now >= call.deadline()) {
            sender.send_cancel(id.view(), "timeout");
            if (broken_at) co_return broken_at_deadline();
            co_return no_answer_in_time();
        }
        if (broken_at && now >= *broken_at + options_.grace) co_return not_back_in_time();
        if (watch.due(now) && news.accepted) watch.end();
        if (watch.due(now)) sender.hurry(watch, id.view(), call, now);
    }
}

}  // namespace crab::clawseed
