// Chunked and other bodies, and event streams: cutting the input anywhere changes nothing, no limit
// is passed, and what our own side writes reads back.

#include "net/codec/fuzz_check.hpp"
#include "net/codec/http_body.hpp"
#include "net/codec/http_write.hpp"
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
        for (SseEvent event = parser.next(in); event.kind == SseEvent::Kind::kEvent;
             event = parser.next(in)) {
            seen.append(event.type)
                .append("|")
                .append(event.id)
                .append("|")
                .append(event.data)
                .append("\n--\n");
        }
    }
    return seen;
}

// The input as a body: written in chunks and read back, with another request behind it.
void check_chunks(std::string_view bytes, Cuts cuts) {
    std::string out;
    for (std::string_view rest = bytes; !rest.empty();) {
        const std::string_view chunk = rest.substr(0, cuts.next(30));
        append_chunk(out, chunk);
        rest.remove_prefix(chunk.size());
    }
    append_last_chunk(out);
    const Read back =
        read(BodyDecoder(BodyFraming::kChunked, 0), out + "GET", [&] { return cuts.next(40); });
    require(back.last == BodyEvent::Kind::kEnd && back.data == bytes && back.rest == 3,
            "what was written in chunks comes back");
}

// The input as the data of an event, whose line ends may be LF or CRLF.
void check_event(std::string_view bytes) {
    std::string out;
    require(append_sse_event(out, "t", "1", bytes), "data may be anything");
    std::string lines(bytes);
    for (std::size_t at = 0; (at = lines.find('\r', at)) != std::string::npos; ++at)
        lines.replace(at, lines.substr(at, 2) == "\r\n" ? 2 : 1, "\n");
    std::string with_crlf;
    for (const char c : out) with_crlf.append(c == '\n' ? "\r\n" : std::string_view(&c, 1));
    for (const std::string_view stream : {std::string_view(out), std::string_view(with_crlf)}) {
        SseParser parser;
        std::string_view in = stream;
        const SseEvent event = parser.next(in);
        require(event.kind == SseEvent::Kind::kEvent && event.type == "t" && event.id == "1" &&
                    event.data == lines,
                "an event comes back");
        require(parser.next(in).kind == SseEvent::Kind::kNeedMore, "one event is one");
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    const auto all = [] { return std::string_view::npos; };
    const BodyLimits limits{
        .max_body_bytes = 300, .max_extension_bytes = 20, .max_trailer_bytes = 60};
    for (const BodyFraming framing : {BodyFraming::kNone, BodyFraming::kLength,
                                      BodyFraming::kChunked, BodyFraming::kUntilClose}) {
        for (const std::size_t most : {1U, 20U}) {
            Cuts cuts(data, size);
            const BodyDecoder decoder(framing, size / 2, limits);
            const Read whole = read(decoder, bytes, all);
            const Read cut = read(decoder, bytes, [&] { return cuts.next(most); });
            require(whole.data == cut.data && whole.last == cut.last && whole.status == cut.status,
                    "cuts make no difference");
            require(whole.last == BodyEvent::Kind::kRefused || whole.rest == cut.rest,
                    "cuts make no difference to what follows");
            require(whole.data.size() <= limits.max_body_bytes, "a body stays within its limit");
        }
    }
    Cuts cuts(data, size);
    const std::string whole = events(bytes, all);
    const std::string cut = events(bytes, [&] { return cuts.next(10); });
    require(whole == cut, "cuts make no difference to events");
    check_chunks(bytes, cuts);
    check_event(bytes);
    return 0;
}
