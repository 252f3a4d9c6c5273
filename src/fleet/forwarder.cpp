#include "fleet/forwarder.hpp"

#include "fleet/call_news.hpp"
#include "fleet/forwarding.hpp"
#include "fleet/result_pieces.hpp"

#include <optional>
#include <utility>
#include <vector>

namespace crab::fleet {

namespace {

core::CallEnd streams_not() {
    Error error{.code = ErrorCode::kUnavailable,
                .message =
                    "the tool streams its result, which does not pass from one gateway of the "
                    "fleet to another, so the call was not run; ask at the gateway that has the "
                    "device",
                .details = {},
                .retryable = false,
                .retry_after = {}};
    return {.outcome = std::make_shared<const core::Outcome>(fail(std::move(error)))};
}

core::CallEnd stops() {
    return {
        .outcome = std::make_shared<const core::Outcome>(fail(
            ErrorCode::kUnavailable, "this gateway stops, so the call was not run; call again"))};
}

}  // namespace

Task<core::CallEnd> Forwarder::run(core::AuthenticatedCall call, core::FrameSink& sink,
                                   core::WhileRunning repeats) {
    auto route = co_await uses_.directory.find(call.call(), *call.principal());
    if (!route || is_here(*route)) co_return co_await uses_.here.run(call, sink, repeats);
    if (route->streams) co_return streams_not();
    if (stopping_) co_return stops();
    counts_.forwarded.add();
    Forwarding forwarding(*this, call, sink, repeats);
    co_return co_await forwarding.run(std::move(*route));
}

void Forwarder::stop_waiting() {
    stopping_ = true;
    // Each may end before it returns from there, and others with it.
    std::vector<std::uint64_t> tags;
    for (const auto& [tag, one] : waiting_) tags.push_back(tag);
    for (const std::uint64_t tag : tags)
        if (const auto one = waiting_.find(tag); one != waiting_.end()) one->second->look_now();
}

Forwarder::Forwarding* Forwarder::find(std::uint64_t tag, ForwardId id) {
    const auto waiting = waiting_.find(tag);
    if (waiting == waiting_.end() || waiting->second->id() != id) return nullptr;
    return waiting->second;
}

void Forwarder::on_taken(const bus::Envelope& envelope, std::string_view body) {
    const auto taken = parse_taken(body);
    if (!taken) return counts_.unreadable.add();
    if (Forwarding* one = find(envelope.tag, taken->id)) one->on_taken(process_of(envelope.from));
}

void Forwarder::on_refused(const bus::Envelope& envelope, std::string_view body) {
    const auto refused = parse_refused(body);
    if (!refused) return counts_.unreadable.add();
    if (Forwarding* one = find(envelope.tag, refused->id))
        one->on_refused(process_of(envelope.from), refused->copy);
}

void Forwarder::on_news(const bus::Envelope& envelope, std::string_view body) {
    const auto news = parse_news(body);
    if (!news) return counts_.unreadable.add();
    if (Forwarding* one = find(envelope.tag, news->id))
        one->on_news(process_of(envelope.from), *news);
}

void Forwarder::on_result(const bus::Envelope& envelope, std::string_view body) {
    if ((envelope.flags & kIsPiece) != 0) return on_piece(envelope, body);
    on_whole_result(envelope, body);
}

void Forwarder::on_piece(const bus::Envelope& envelope, std::string_view body) {
    const auto piece = parse_piece(body);
    if (!piece) return counts_.unreadable.add();
    Forwarding* const one = find(envelope.tag, piece->id);
    if (one == nullptr) {  // nobody waits for the rest
        (void)uses_.mail.send(envelope.from, {.kind = bus::Kind::kAck}, to_wire(Ack{{piece->id}}));
        return;
    }
    PiecesIn* const pieces = one->pieces_of(process_of(envelope.from));
    if (pieces == nullptr) return counts_.unreadable.add();
    // with no room it is not taken: its owner sends it again
    if (in_pieces_ + piece->bytes.size() > kMostInPieces) return;
    const std::uint64_t had = pieces->have();
    const PiecesIn::Taken taken = pieces->take(*piece);
    in_pieces_ += pieces->have() - had;
    if (taken == PiecesIn::Taken::kAll) {
        in_pieces_ -= pieces->have();
        return on_whole_result(envelope, pieces->take_all());
    }
    (void)uses_.mail.send(envelope.from, {.kind = bus::Kind::kCredit},
                          to_wire(Credit{.id = piece->id, .have = pieces->have()}));
}

void Forwarder::on_whole_result(const bus::Envelope& envelope, std::string_view body) {
    auto result = parse_result(body);
    if (!result) return counts_.unreadable.add();
    // Also when nobody waits any more: the owner repeats it until it hears this.
    (void)uses_.mail.send(envelope.from, {.kind = bus::Kind::kAck},
                          to_wire(Ack{{result->head.id}}));
    if (Forwarding* one = find(envelope.tag, result->head.id))
        one->on_result(process_of(envelope.from), std::move(*result));
}

void Forwarder::on_nobody(bus::Receipt receipt) {
    const auto known = receipts_.find(static_cast<std::uint64_t>(receipt));
    if (known == receipts_.end()) return;
    const auto waiting = waiting_.find(known->second);
    if (waiting != waiting_.end()) waiting->second->on_nobody(receipt);
}

}  // namespace crab::fleet
