// The WebSocket decoder in both roles, with and without compression: however the input is cut, the
// events are the same. The first byte chooses role (bit 0) and compression (bit 1).

#include "net/codec/fuzz_check.hpp"
#include "net/codec/websocket_decoder.hpp"
#include "net/codec/websocket_deflate.hpp"

#include <algorithm>
#include <string>
#include <vector>

namespace {

using namespace crab::net;

struct Seen {
    WebSocketEvent::Kind kind;
    std::uint16_t code;
    std::string payload;
    bool operator==(const Seen&) const = default;
};

constexpr std::size_t kMaxMessage = 4096;

template <class NextSize>
std::vector<Seen> decode(const WebSocketDecoder::Options& options, std::string bytes,
                         NextSize next_size) {
    WebSocketDecoder decoder(options);
    std::vector<Seen> seen;
    for (std::size_t at = 0; at < bytes.size();) {
        std::string piece = bytes.substr(at, next_size());
        at += piece.size();
        std::span<char> in(piece);
        for (WebSocketEvent event = decoder.next(in); event.kind != WebSocketEvent::Kind::kNeedMore;
             event = decoder.next(in)) {
            const bool is_excess = event.kind == WebSocketEvent::Kind::kExcess;
            require(is_excess || event.payload.size() <= kMaxMessage,
                    "a message stays within its limit");
            const bool goes_on = is_excess && !seen.empty() && seen.back().kind == event.kind &&
                                 seen.back().code == 0;
            if (!goes_on) seen.push_back({event.kind, event.code, {}});
            seen.back().payload += event.payload;
            if (event.last) seen.back().code = 1;  // what comes of the next such message is another
        }
        require(in.empty(), "everything is consumed");
        require(decoder.buffered_bytes() <= kMaxMessage + 125 + 14,
                "no more is kept than a message");
    }
    return seen;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    static MessageInflater inflater;
    const WebSocketDecoder::Options options{
        .role =
            (data[0] & 1) != 0 ? WebSocketDecoder::Role::kClient : WebSocketDecoder::Role::kServer,
        .max_message_bytes = kMaxMessage,
        .inflater = (data[0] & 2) != 0 ? &inflater : nullptr,
    };
    const std::string bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
    const std::vector<Seen> whole = decode(options, bytes, [&] { return bytes.size(); });
    for (const std::size_t most : {1U, 5U, 100U}) {
        Cuts cuts(data, size);
        require(decode(options, bytes, [&] { return cuts.next(most); }) == whole,
                "cuts make no difference");
    }
    for (std::size_t i = 0; i + 1 < whole.size(); ++i) {
        require(whole[i].kind != WebSocketEvent::Kind::kClose &&
                    whole[i].kind != WebSocketEvent::Kind::kViolation,
                "nothing follows the end");
    }
    return 0;
}
