#include "fleet/forwarding.hpp"

#include "core/pipeline/call_endings.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace crab::fleet {
namespace {

constexpr Milliseconds kAfterDeadline{50};  // the owner's own answer is on its way
constexpr Milliseconds kAfterTimeout{2'000};
constexpr const char* kGone =
    "the gateway that had the device is gone: the call may or may not have run; look at the "
    "tool's effects, then use a new key";
constexpr const char* kStops =
    "this gateway stops while another one runs the call: ask again there, with the same key";

}  // namespace

Forwarder::Forwarding::Forwarding(Forwarder& forwarder, core::AuthenticatedCall call,
                                  core::FrameSink& sink, core::WhileRunning repeats)
    : forwarder_(forwarder),
      call_(call),
      sink_(sink),
      repeats_(repeats),
      begun_(forwarder.uses_.clock.steady_now()),
      tag_(++forwarder.tags_),
      waiter_(forwarder.uses_.timers) {
    core::Call& asked = call_.call();
    repeatable_ = !asked.idempotency_key.empty() || !asked.id.empty();
    if (asked.id.empty()) {
        asked.made_id = uses().ids.uuid_v7();
        asked.id = asked.made_id.view();
    }
    asked.timeline.start(begun_, uses().clock.system_now());
    id_ = {uses().ids.random(), uses().ids.random()};
    if (asked.caller_deadline != kNoDeadline) deadline_ = asked.caller_deadline + kAfterDeadline;
    if (asked.timeout) deadline_ = std::min(deadline_, begun_ + *asked.timeout + kAfterTimeout);
    forwarder_.waiting_.emplace(tag_, this);
}

Forwarder::Forwarding::~Forwarding() {
    for (const auto& [process, pieces] : pieces_) forwarder_.in_pieces_ -= pieces.have();
    forwarder_.waiting_.erase(tag_);
    std::erase_if(forwarder_.receipts_, [&](const auto& one) { return one.second == tag_; });
}

Task<core::CallEnd> Forwarder::Forwarding::run(Route first) {
    TaskChain& chain = co_await this_chain();
    next_repeat_ = next_look_ = begun_;
    list_as_running(first);
    send(first);
    while (true) {
        if (chain.cancelled()) {
            chain.forget_cancellation();
            cancelled_ = true;
            next_cancel_ = now();
            give_up_ = now() + kAfterCancel;
        }
        if (co_await take_step() == Step::kEnd) break;
        co_await waiter_.wait(next_event());
    }
    chain.forget_cancellation();
    if (end_->duration == std::chrono::nanoseconds(0)) end_->duration = now() - begun_;
    if (entry_ && end_->cancelled_by.empty()) end_->cancelled_by = entry_->cancelled_by();
    co_return std::move(*end_);
}

void Forwarder::Forwarding::list_as_running(const Route& route) {
    if (uses().running == nullptr) return;
    const core::Call& asked = call_.call();
    tenant_ = asked.tenant.empty() ? route.tenant : std::string(asked.tenant);
    listed_.id = asked.id;
    listed_.tool = asked.tool;
    listed_.tenant = tenant_;
    listed_.front = asked.front;
    listed_.canceller = asked.canceller;
    listed_.timeline.start(begun_, uses().clock.system_now());
    entry_.emplace(*uses().running, listed_, *call_.principal());
    entry_->reach(core::Stage::kDispatched);
}

Task<Forwarder::Forwarding::Step> Forwarder::Forwarding::take_step() {
    if (result_) {
        end_with_result();
        co_return Step::kEnd;
    }
    if (asked_.empty()) co_return co_await all_have_refused();
    if (forwarder_.stopping_) co_return end_in_doubt(kStops);
    if (now() >= deadline_)
        co_return end_with(ErrorCode::kTimeout,
                           "the deadline passed before the gateway that has the device said how "
                           "the call ended");
    if (cancelled_) {
        if (now() >= give_up_)
            co_return end_with(ErrorCode::kCancelled,
                               "the call was cancelled; whether it has run is not known");
        cancel();
    } else if (all_doubtful()) {
        if (!repeatable_) co_return end_in_doubt(kGone);
        if (now() >= next_look_) co_return co_await look_for_another();
    }
    repeat();
    co_return Step::kWait;
}

/// Nothing has been run, and nothing will be by what was sent so far.
Task<Forwarder::Forwarding::Step> Forwarder::Forwarding::all_have_refused() {
    if (cancelled_) {
        end_ = core::CallEnd{.outcome =
                                 std::make_shared<const core::Outcome>(fail(core::cancelled()))};
        co_return Step::kEnd;
    }
    if (!looked_again_) {
        looked_again_ = true;
        forwarder_.counts_.looked_up_again.add();
        auto found = co_await uses().directory.find(call_.call(), *call_.principal());
        if (found && forwarder_.is_here(*found)) co_return co_await run_here();
        if (found && send(*found)) co_return Step::kWait;
    }
    if (too_long_)
        co_return end_with(ErrorCode::kOversize,
                           "the call is longer than one gateway hands to another, so it was not "
                           "run; ask at the gateway that has the device");
    co_return end_with(ErrorCode::kUnavailable,
                       "the gateway that has the device could not be reached, so the call was not "
                       "run");
}

/// In doubt: the ledger decides where the tool is now.
Task<Forwarder::Forwarding::Step> Forwarder::Forwarding::look_for_another() {
    next_look_ = now() + kLookAgain;
    forwarder_.counts_.in_doubt.add();
    auto found = co_await uses().directory.find(call_.call(), *call_.principal());
    if (found && forwarder_.is_here(*found)) co_return co_await run_here();
    if (result_) co_return Step::kWait;  // it came meanwhile
    if (found && !asked_.contains(process_of(found->place))) send(*found);
    // A caller that set no deadline hears at some time that nobody knows.
    if (deadline_ == kNoDeadline && now() >= begun_ + kSends) co_return end_in_doubt(kGone);
    co_return Step::kWait;
}

Task<Forwarder::Forwarding::Step> Forwarder::Forwarding::run_here() {
    entry_.reset();  // the pipeline lists it
    core::CallEnd ended = co_await uses().here.run(call_, sink_, repeats_);
    const core::Outcome& outcome = *ended.outcome;
    const bool says_nothing =
        !outcome && !ended.replayed && !core::is_in_doubt(outcome.error().code);
    // It speaks for this process only.
    if (!asked_.empty() && says_nothing) co_return end_in_doubt(kGone);
    end_ = std::move(ended);
    co_return Step::kEnd;
}

void Forwarder::Forwarding::end_with_result() {
    auto& [from, result] = *result_;
    if (asked_.erase(from) == 0) forwarder_.counts_.contradictions.add();
    if (!asked_.empty() && result.head.left_no_trace)
        end_in_doubt(kGone);
    else
        end_ = std::move(result.end);
}

Forwarder::Forwarding::Step Forwarder::Forwarding::end_with(ErrorCode code, const char* message) {
    end_ = core::CallEnd{.outcome = std::make_shared<const core::Outcome>(fail(code, message))};
    return Step::kEnd;
}

Forwarder::Forwarding::Step Forwarder::Forwarding::end_in_doubt(const char* message) {
    Error error{.code = ErrorCode::kOutcomeUnknown,
                .message = message,
                .details = {},
                .retryable = false,
                .retry_after = {}};
    end_ = core::CallEnd{.outcome = std::make_shared<const core::Outcome>(fail(std::move(error)))};
    return Step::kEnd;
}

/// Whether a copy is under way. Who was not heard lately is sent nothing.
bool Forwarder::Forwarding::send(const Route& route) {
    const bus::Process process = process_of(route.place);
    const auto beat = uses().beats.newest_of(process);
    if (!beat) return false;
    core::Call& asked = call_.call();
    const ForwardHead head{
        .id = id_, .connection = route.connection, .epoch = route.epoch, .beat = *beat};
    // The route's name is whole: the owner would put the provider's before it once more.
    const std::string_view named = std::exchange(asked.tool, std::string_view(route.tool));
    const std::string_view provider = std::exchange(asked.provider_id, {});
    const std::string body = forward_to_wire(
        head, asked, *call_.principal(),
        {.progress = sink_.wants_progress(), .log_level = sink_.wanted_log_level()});
    asked.tool = named;
    asked.provider_id = provider;
    const bool begins = now() < begun_ + kSends;
    const auto sent = uses().mail.send(route.place,
                                       {.kind = bus::Kind::kForward,
                                        .flags = begins ? std::uint8_t{0} : kAskOnly,
                                        .tag = tag_,
                                        .ms_left = ms_left()},
                                       body);
    if (!sent) {
        too_long_ = sent.error().code == ErrorCode::kOversize;
        return false;
    }
    Asked& one = asked_[process];
    if (one.copies++ == 0) one.heard = now();
    one.route = route;
    one.receipt = sent->receipt;
    one.sequence = sent->sequence;
    forwarder_.receipts_.emplace(static_cast<std::uint64_t>(sent->receipt), tag_);
    return true;
}

std::uint32_t Forwarder::Forwarding::ms_left() const {
    const Deadline until = call_.call().caller_deadline;
    if (until == kNoDeadline) return 0;
    const auto left = std::chrono::duration_cast<Milliseconds>(until - now()).count();
    return static_cast<std::uint32_t>(
        std::clamp<std::int64_t>(left, 1, std::numeric_limits<std::uint32_t>::max()));
}

void Forwarder::Forwarding::repeat() {
    if (now() < next_repeat_) return;
    const bool first = next_repeat_ == begun_;
    next_repeat_ = now() + kRepeat.after(++repeated_);
    if (first || cancelled_) return;
    for (auto& [process, asked] : asked_)
        if (send(Route(asked.route))) forwarder_.counts_.repeated.add();
}

void Forwarder::Forwarding::cancel() {
    if (now() < next_cancel_) return;
    next_cancel_ = now() + std::chrono::seconds(1);
    for (const auto& [process, asked] : asked_) {
        const auto beat = uses().beats.newest_of(process);
        if (!beat) continue;
        (void)uses().mail.send(asked.route.place, {.kind = bus::Kind::kCancel, .tag = tag_},
                               to_wire(Cancel{.id = id_, .beat = *beat}));
    }
}

bool Forwarder::Forwarding::is_doubtful(bus::Process process, const Asked& asked) const {
    return uses().beats.is_replaced(process) || !uses().beats.newest_of(process) ||
           now() >= asked.heard + kUnanswered;
}

bool Forwarder::Forwarding::all_doubtful() const {
    return std::ranges::all_of(asked_,
                               [&](const auto& one) { return is_doubtful(one.first, one.second); });
}

SteadyTime Forwarder::Forwarding::next_event() const {
    // Beats come every two seconds, so nothing is missed by looking once a second.
    SteadyTime next = std::min<SteadyTime>({deadline_, next_repeat_, now() + kLookAgain});
    if (cancelled_) next = std::min({next, next_cancel_, give_up_});
    return next;
}

void Forwarder::Forwarding::on_taken(bus::Process from) {
    const auto asked = asked_.find(from);
    if (asked != asked_.end()) asked->second.heard = now();
}

// It answers that copy, and what was sent before: an older copy is stale when the process has
// forgotten this one. Of a later copy it says nothing.
void Forwarder::Forwarding::on_refused(bus::Process from, std::uint64_t copy) {
    const auto asked = asked_.find(from);
    if (asked == asked_.end()) return;
    asked->second.heard = now();
    if (asked->second.sequence != copy) return;
    forwarder_.counts_.refused.add();
    asked_.erase(asked);
    waiter_.wake();
}

void Forwarder::Forwarding::on_result(bus::Process from, ReceivedResult result) {
    if (result_) return;
    result_.emplace(from, std::move(result));
    waiter_.wake();
}

// What is late or doubled is left out.
void Forwarder::Forwarding::on_news(bus::Process from, const News& news) {
    const auto asked = asked_.find(from);
    if (asked == asked_.end() || result_ || end_ || news.number <= last_news_) return;
    last_news_ = news.number;
    asked->second.heard = now();
    if (news.is_log)
        sink_.on_log({.level = news.level, .logger = news.logger, .data = news.data});
    else
        sink_.on_progress(news.progress);
}

void Forwarder::Forwarding::on_nobody(bus::Receipt receipt) {
    const auto asked = std::ranges::find_if(
        asked_, [&](const auto& one) { return one.second.receipt == receipt; });
    // Nothing is known of other copies.
    if (asked == asked_.end() || asked->second.copies != 1) return;
    forwarder_.counts_.nobody.add();
    asked_.erase(asked);
    waiter_.wake();
}

}  // namespace crab::fleet
