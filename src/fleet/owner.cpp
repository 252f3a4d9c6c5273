#include "fleet/owner.hpp"

#include "base/scope_exit.hpp"
#include "base/task/waiter.hpp"
#include "core/pipeline/call_endings.hpp"
#include "fleet/call_news.hpp"
#include "fleet/result_pieces.hpp"

#include <algorithm>
#include <exception>
#include <string>
#include <utility>

namespace crab::fleet {
namespace {

bus::MailBox::Letter letter(bus::Kind kind, std::uint64_t tag) {
    return {.kind = kind, .tag = tag};
}

/// Whether the process may say of this end that nothing has happened.
bool left_no_trace(const core::CallEnd& end) {
    const core::Outcome& outcome = *end.outcome;
    if (outcome || end.replayed || core::is_in_doubt(outcome.error().code)) return false;
    return !end.tool || core::leaves_no_trace(outcome, *end.tool, end.attempts > 0);
}

}  // namespace

/// A forward id, from when it came first until nothing of it can come any more.
struct Owner::Known final : TimerNode {
    enum class State : std::uint8_t { kRunning, kEnded, kForgotten, kRefused };

    explicit Known(Owner& its) : owner(its) {}
    void on_expired() override { owner.on_timer(*this); }

    Owner& owner;
    ForwardId id;
    State state = State::kRunning;
    bus::Place home;
    std::uint64_t tag = 0;  ///< home's slot
    SteadyTime first;
    Refusal why = Refusal::kGone;
    std::unique_ptr<ForwardedCall> call;  ///< until it has ended
    CancelSignal signal;
    std::string result;  ///< until it is acknowledged
    std::optional<PiecesOut> pieces;  ///< of one that is longer than a message
    std::uint64_t sent = 1;  ///< times in a row that nobody acknowledged
    SteadyTime repeat_until;
};

Owner::~Owner() = default;

void Owner::on_forward(const bus::Envelope& envelope, std::string_view body) {
    const auto head = parse_forward_head(body);
    if (!head) return counts_.unreadable.add();
    const auto known = known_.find(head->id);
    if (known != known_.end()) {
        // Nobody else knows the id.
        if (known->second->home != envelope.from) return counts_.unreadable.add();
        counts_.known_again.add();
        return answer_again(*known->second, envelope);
    }
    // What is not remembered and not refused is neither begun nor proof of anything.
    if ((envelope.flags & kAskOnly) != 0 || known_.size() == kMostKnown) return;
    if (!uses_.beats.is_fresh(head->beat)) {
        counts_.stale.add();
        return refuse(envelope, head->id, Refusal::kStale);
    }
    if (running_ == kMostRunning) return refuse(envelope, head->id, Refusal::kFull);
    if (!uses_.is_here(*head)) return refuse(envelope, head->id, Refusal::kGone);
    begin(envelope, *head, body);
}

void Owner::begin(const bus::Envelope& envelope, const ForwardHead& head, std::string_view body) {
    auto call = ForwardedCall::parse(std::string(body));
    if (!call) {
        counts_.unreadable.add();
        return refuse(envelope, head.id, Refusal::kUnreadable);
    }
    counts_.begun.add();
    const auto known = std::make_shared<Known>(*this);
    known->id = head.id;
    known->home = envelope.from;
    known->tag = envelope.tag;
    known->first = now();
    known->call = std::move(*call);
    if (envelope.ms_left != 0)
        known->call->call().caller_deadline = now() + Milliseconds(envelope.ms_left);
    known->call->call().canceller = &known->signal;
    known_.emplace(head.id, known);
    uses_.timers.arm(*known, now() + kTakenAfter);
    ++running_;
    tasks_.spawn("forwarded call", host(known));
}

/// The id is remembered: no copy that was sent before home hears this begins it.
void Owner::refuse(const bus::Envelope& envelope, ForwardId id, Refusal why) {
    counts_.refused.add();
    const auto known = std::make_shared<Known>(*this);
    known->id = id;
    known->state = Known::State::kRefused;
    known->home = envelope.from;
    known->tag = envelope.tag;
    known->first = now();
    known->why = why;
    known_.emplace(id, known);
    uses_.timers.arm(*known, now() + kRemembered);
    send_refused(*known, envelope.sequence);
}

void Owner::answer_again(Known& known, const bus::Envelope& envelope) {
    switch (known.state) {
        case Known::State::kRunning: return send_taken(known);
        case Known::State::kEnded: return send_result(known);
        case Known::State::kForgotten: return;
        case Known::State::kRefused:
            uses_.timers.arm(known, now() + kRemembered);
            return send_refused(known, envelope.sequence);
    }
}

/// Keeps the call's own signal apart from the group's, for CANCEL and the pipeline cancel by it.
Task<void> Owner::host(KnownRef known) {
    const ScopeExit over([&] { --running_; });
    Waiter done(uses_.timers);
    bool ended = false;
    std::exception_ptr failed;
    spawn(
        uses_.home, run(*known),
        [&](const std::exception_ptr& failure) {
            failed = failure;
            ended = true;
            done.wake();
        },
        &known->signal);
    while (!ended) {
        if (co_await done.wait(kNoDeadline) != WaitEnd::kCancelled) continue;
        (co_await this_chain()).forget_cancellation();
        known->signal.emit();
    }
    if (failed) std::rethrow_exception(failed);
}

Task<void> Owner::run(Known& known) {
    NewsSink sink(known.id, known.call->wanted(), uses_.clock, [&](const std::string& news) {
        (void)uses_.mail.send(known.home, letter(bus::Kind::kProgress, known.tag), news);
    });
    const core::AuthenticatedCall authenticated(known.call->call(), known.call->principal());
    const core::CallEnd ended = co_await uses_.calls.run(authenticated, sink);
    end(known, ended);
}

/// Whether there is room. One home that takes nothing leaves half of it to the others.
bool Owner::hold_pieces(const Known& known) {
    const std::size_t bytes = known.result.size();
    const auto of_home = in_pieces_of_.find(process_of(known.home));
    const std::size_t held = of_home == in_pieces_of_.end() ? 0 : of_home->second;
    if (in_pieces_ + bytes > kMostInPieces || held + bytes > kMostOfOneHome) return false;
    in_pieces_ += bytes;
    in_pieces_of_[process_of(known.home)] += bytes;
    return true;
}

void Owner::release_pieces(const Known& known) {
    in_pieces_ -= known.result.size();
    const auto of_home = in_pieces_of_.find(process_of(known.home));
    of_home->second -= known.result.size();
    if (of_home->second == 0) in_pieces_of_.erase(of_home);
}

void Owner::keep_result(Known& known, const core::CallEnd& ended) {
    const ResultHead head{.id = known.id, .left_no_trace = left_no_trace(ended)};
    known.result = to_wire(head, ended);
    if (known.result.size() <= bus::kMostBody) return;
    const bool too_long = known.result.size() > kMostResult;
    if (!too_long && hold_pieces(known)) {
        known.pieces.emplace();
        return;
    }
    core::CallEnd instead = ended;
    instead.outcome = std::make_shared<const core::Outcome>(
        too_long ? fail(ErrorCode::kOversize,
                        "the call has run, and its result is longer than one gateway hands to "
                        "another; ask at the gateway that has the device")
                 : fail(ErrorCode::kOutcomeUnknown,
                        "the call has run, and there is no room to hand its result to this "
                        "gateway now; repeat the call with the same key or id"));
    known.result = to_wire({.id = known.id}, instead);
}

void Owner::end(Known& known, const core::CallEnd& ended) {
    keep_result(known, ended);
    known.state = Known::State::kEnded;
    ++unheard_;
    known.call.reset();
    known.repeat_until = now() + kRepeated;
    send_result(known);
    uses_.timers.arm(known, now() + kRepeat.after(known.sent));
}

void Owner::on_timer(Known& known) {
    switch (known.state) {
        case Known::State::kRunning: return send_taken(known);
        case Known::State::kForgotten:
        case Known::State::kRefused: known_.erase(ForwardId(known.id)); return;
        case Known::State::kEnded: break;
    }
    if (now() >= known.repeat_until) {
        counts_.given_up.add();
        return forget_when_safe(known, now());
    }
    counts_.results_repeated.add();
    send_result(known);
    uses_.timers.arm(known, now() + kRepeat.after(++known.sent));
}

void Owner::forget_when_safe(Known& known, SteadyTime acknowledged) {
    known.state = Known::State::kForgotten;
    --unheard_;
    if (known.pieces) release_pieces(known);
    known.pieces.reset();
    known.result = {};
    uses_.timers.arm(known, std::max(acknowledged + kRemembered, known.first + kSinceFirst));
}

void Owner::on_ack(std::string_view body) {
    const auto ack = parse_ack(body);
    if (!ack) return counts_.unreadable.add();
    for (const ForwardId& id : ack->ids) {
        const auto known = known_.find(id);
        if (known != known_.end() && known->second->state == Known::State::kEnded)
            forget_when_safe(*known->second, now());
    }
}

void Owner::on_cancel(const bus::Envelope& envelope, std::string_view body) {
    const auto cancel = parse_cancel(body);
    if (!cancel) return counts_.unreadable.add();
    const auto known = known_.find(cancel->id);
    if (known == known_.end() || known->second->home != envelope.from) return;
    if (!uses_.beats.is_fresh(cancel->beat)) return counts_.stale.add();
    const KnownRef kept = known->second;  // it may end before emit() returns
    if (kept->state == Known::State::kRunning) kept->signal.emit();
}

/// Home has a part of a result that goes in pieces.
void Owner::on_credit(const bus::Envelope& envelope, std::string_view body) {
    const auto credit = parse_credit(body);
    if (!credit) return counts_.unreadable.add();
    const auto found = known_.find(credit->id);
    if (found == known_.end() || found->second->home != envelope.from) return;
    Known& known = *found->second;
    if (!known.pieces || !known.pieces->hear(credit->have)) return;
    send_pieces(known);
    // It comes through, so what is lost of the rest is missed soon.
    known.sent = 1;
    known.repeat_until = now() + kRepeated;
    uses_.timers.arm(known, now() + kRepeat.after(known.sent));
}

// What is lost here is asked for again.
void Owner::send_taken(const Known& known) {
    (void)uses_.mail.send(known.home, letter(bus::Kind::kTaken, known.tag),
                          to_wire(Taken{known.id}));
}

void Owner::send_refused(const Known& known, std::uint64_t copy) {
    const Refused refused{.id = known.id, .why = known.why, .copy = copy};
    (void)uses_.mail.send(known.home, letter(bus::Kind::kRefused, known.tag), to_wire(refused));
}

void Owner::send_pieces(Known& known) {
    auto piece = letter(bus::Kind::kResult, known.tag);
    piece.flags = kIsPiece;
    while (const auto next = known.pieces->next(known.id, known.result))
        (void)uses_.mail.send(known.home, piece, to_wire(*next));
}

void Owner::send_result(Known& known) {
    if (known.pieces) {
        known.pieces->repeat();
        return send_pieces(known);
    }
    (void)uses_.mail.send(known.home, letter(bus::Kind::kResult, known.tag), known.result);
}

}  // namespace crab::fleet
