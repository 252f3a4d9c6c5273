// Chunked and other bodies, and event streams: cutting the input anywhere changes nothing, and no limit is passed.

#include "net/codec/fuzz_check.hpp"
#include "net/codec/http_body.hpp"
#include "net/codec/sse.hpp"

#include <algorithm>
#include <string>
#include <string_view>

namespace {

using namespace crab::net;

struct Read {
    std::string data;
    BodyEvent::Kind last = BodyEvent::Kind::kNeedMore;
    int status = 0;
    std::size_t rest = 0;
    bool operator==(const Read&) const = default;
};

template <class NextSize>
Read read(BodyDecoder decoder, std::string_view bytes, NextSize next_size) {
    Read result;
    do {
        std::string_view in = bytes.substr(0, next_size());
        bytes.remove_prefix(in.size());
        BodyEvent event = decoder.next(in);
        for (; event.kind == BodyEvent::Kind::kData; event = decoder.next(in)) {
            require(!event.data.empty(), "a piece of the body is never empty");
            result.data += event.data;
        }
        result.last = event.kind;
        result.status = event.status;
        result.rest = in.size() + bytes.size();
    } while (result.last == BodyEvent::Kind::kNeedMore && !bytes.empty());
    return result;
}

template <class NextSize>
std::string events(std::string_view bytes, NextSize next_size) {
    SseParser parser(200);
    std::string seen;
    while (!bytes.empty()) {
        std::string_view in = bytes.substr(0, next_size());
        bytes.remove_prefix(in.size());
        for (SseEvent event = parser.next(in); event.kind == SseEvent::Kind::kEvent; event = parser.next(in)) {
            seen.append(event.type).append("|").append(event.id).append("|").append(event.data).append("\n--\n");
        }
    }
    return seen;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    const auto all = [] { return std::string_view::npos; };
    const BodyLimits limits{.max_body_bytes = 300, .max_extension_bytes = 20, .max_trailer_bytes = 60};
    for (const BodyFraming framing : {BodyFraming::kNone, BodyFraming::kLength, BodyFraming::kChunked, BodyFraming::kUntilClose}) {
        for (const std::size_t most : {1U, 20U}) {
            Cuts cuts(data, size);
            const BodyDecoder decoder(framing, size / 2, limits);
            const Read whole = read(decoder, bytes, all);
            const Read cut = read(decoder, bytes, [&] { return cuts.next(most); });
            require(whole.data == cut.data && whole.last == cut.last && whole.status == cut.status, "cuts make no difference");
            require(whole.last == BodyEvent::Kind::kRefused || whole.rest == cut.rest, "cuts make no difference to what follows");
            require(whole.data.size() <= limits.max_body_bytes, "a body stays within its limit");
        }
    }
    Cuts cuts(data, size);
    const std::string whole = events(bytes, all);
    const std::string cut = events(bytes, [&] { return cuts.next(10); });
    require(whole == cut, "cuts make no difference to events");
    return 0;
}
