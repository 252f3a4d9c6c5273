// Any bytes as the body of each message between nodes: refused, or read, and what is read has what
// its receiver relies on.

#include "base/fuzz_check.hpp"
#include "fleet/call_news.hpp"
#include "fleet/messages.hpp"
#include "fleet/moved_messages.hpp"
#include "fleet/result_pieces.hpp"

#include <string>

using namespace crab::fleet;
using crab::require;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string body(reinterpret_cast<const char*>(data), size);
    if (const auto call = ForwardedCall::parse(body)) {
        require(!(*call)->principal()->id.empty(), "never anonymous");
        require(!(*call)->call().tool.empty() && !(*call)->call().id.empty());
        const auto head = parse_forward_head(body);
        if (head) {
            const std::string again =
                forward_to_wire(*head, (*call)->call(), *(*call)->principal());
            const auto same = ForwardedCall::parse(again);
            require(same && (*same)->call().args == (*call)->call().args);
        }
    }
    if (const auto result = parse_result(body)) {
        require(result->end.outcome != nullptr);
        const auto same = parse_result(to_wire(result->head, result->end));
        require(same && same->end.outcome->has_value() == result->end.outcome->has_value());
    }
    if (const auto refused = parse_refused(body)) require(refused->copy != 0);
    if (const auto ack = parse_ack(body)) require(ack->ids.size() <= 4'096);
    if (const auto beat = parse_beat(body)) require(beat->number != 0);
    if (const auto piece = parse_piece(body)) {
        require(!piece->bytes.empty() && piece->whole <= kMostResult);
        require(piece->from + piece->bytes.size() <= piece->whole);
        PiecesIn pieces;
        (void)pieces.take(*piece);
        require(pieces.have() <= piece->whole);
    }
    if (const auto news = parse_news(body)) {
        require(news->number != 0);
        require(parse_news(to_wire(*news)).has_value());
    }
    if (const auto moved = parse_moved(body)) {
        require(!moved->device.principal.empty() && !moved->device.instance.empty());
        require(parse_moved(to_wire(*moved)).has_value());
    }
    if (const auto resume = parse_resume(body)) {
        require(!resume->request.id.empty() && !resume->device.chat.empty());
        const auto same = parse_resume(to_wire(*resume));
        require(same && same->request.args == resume->request.args);
    }
    if (const auto reply = parse_reply(body)) {
        require(reply->has_frame() != reply->frame.empty());
        require(parse_reply(to_wire(*reply)).has_value());
    }
    (void)parse_credit(body);
    (void)parse_taken(body);
    (void)parse_cancel(body);
    return 0;
}
