#include "fleet/letters.hpp"

#include "base/task/waiter.hpp"
#include "fleet/messages.hpp"

namespace crab::fleet {
namespace {

constexpr Milliseconds kSoon{100};

}  // namespace

void Letters::on_letter(const bus::Envelope& envelope, std::string_view body) {
    using bus::Kind;
    switch (envelope.kind) {
        case Kind::kBeat:
            if (const auto beat = parse_beat(body))
                uses_.beats.hear(process_of(envelope.from), beat->number);
            return;
        case Kind::kForward: return uses_.owner.on_forward(envelope, body);
        case Kind::kAck: return uses_.owner.on_ack(body);
        case Kind::kCancel: return uses_.owner.on_cancel(envelope, body);
        case Kind::kTaken: return uses_.forwarder.on_taken(envelope, body);
        case Kind::kRefused: return uses_.forwarder.on_refused(envelope, body);
        case Kind::kResult: return uses_.forwarder.on_result(envelope, body);
        case Kind::kProgress: return uses_.forwarder.on_news(envelope, body);
        case Kind::kCredit: return uses_.owner.on_credit(envelope, body);
        case Kind::kHint:
            if (uses_.on_hint) uses_.on_hint(body);
            return;
        case Kind::kMoved: return uses_.moved.on_moved(envelope, body);
        case Kind::kResume: return uses_.moved.on_resume(envelope, body);
        case Kind::kReply: return uses_.moved.on_reply(envelope, body);
        // Of these nothing is sent yet.
        case Kind::kFrame:
        case Kind::kWanted:
        case Kind::kFind:
        case Kind::kFound:
        case Kind::kLinks: return;
    }
}

Task<void> Letters::say_beats() {
    const TaskChain& chain = co_await this_chain();
    Waiter pause(uses_.timers);
    while (!chain.cancelled()) {
        const Beat beat{uses_.beats.next()};
        const auto said =
            uses_.mail.publish(bus::Topic::kAll, {.kind = bus::Kind::kBeat}, to_wire(beat));
        // Who is not connected yet is to be heard as soon as it is.
        co_await pause.wait(uses_.clock.steady_now() +
                            (said ? Milliseconds(Beats::kEvery) : kSoon));
    }
}

}  // namespace crab::fleet
