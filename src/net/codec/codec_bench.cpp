// What the codecs cost per message, without any I/O: heads, frames in and out.

#include "net/codec/http_head.hpp"
#include "net/codec/websocket_decoder.hpp"
#include "net/codec/websocket_frame.hpp"

#include <benchmark/benchmark.h>

#include <string>

namespace {

using namespace crab::net;

void BM_ParsePostHead(benchmark::State& state) {
    const std::string bytes =
        "POST /v1/tools/call HTTP/1.1\r\nHost: 127.0.0.1:42617\r\nAuthorization: Bearer "
        "0123456789abcdef0123456789abcdef\r\n"
        "Content-Type: application/json\r\nContent-Length: 188\r\nConnection: keep-alive\r\n\r\n";
    RequestHead head;
    for (auto _ : state) {
        benchmark::DoNotOptimize(parse_request_head(bytes, head));
        benchmark::ClobberMemory();
    }
    state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(bytes.size()));
}
BENCHMARK(BM_ParsePostHead);

void BM_ParseBrowserUpgradeHead(benchmark::State& state) {
    const std::string bytes =
        "GET /ws/chat?session_id=kitchen-7 HTTP/1.1\r\nHost: 127.0.0.1:42617\r\nConnection: "
        "Upgrade\r\nPragma: no-cache\r\n"
        "Cache-Control: no-cache\r\nUser-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 "
        "(KHTML, like Gecko) "
        "Chrome/120.0.0.0 Safari/537.36\r\nUpgrade: websocket\r\nOrigin: "
        "http://127.0.0.1:42617\r\nSec-WebSocket-Version: 13\r\n"
        "Accept-Encoding: gzip, deflate, br\r\nAccept-Language: "
        "en-US,en;q=0.9\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
        "Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits\r\n\r\n";
    RequestHead head;
    for (auto _ : state) {
        benchmark::DoNotOptimize(parse_request_head(bytes, head));
        benchmark::ClobberMemory();
    }
    state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(bytes.size()));
}
BENCHMARK(BM_ParseBrowserUpgradeHead);

// One whole masked text frame of range(0) bytes per iteration. Unmasking happens in place, so every
// other iteration sees the payload masked; with this mask it is ASCII both ways, and every
// iteration is a valid message.
void BM_DecodeMaskedText(benchmark::State& state) {
    std::string frame;
    append_frame(frame, Opcode::kText, std::string(static_cast<std::size_t>(state.range(0)), 'p'),
                 0x01020304);
    WebSocketDecoder decoder({});
    for (auto _ : state) {
        std::span<char> in(frame);
        if (decoder.next(in).kind != WebSocketEvent::Kind::kText)
            return state.SkipWithError("no message");
        benchmark::DoNotOptimize(decoder.next(in));
    }
    state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(frame.size()));
}
BENCHMARK(BM_DecodeMaskedText)->Arg(64)->Arg(200)->Arg(4096)->Arg(1 << 20);

void BM_EncodeText(benchmark::State& state) {
    const std::string payload(static_cast<std::size_t>(state.range(0)), 'p');
    std::string out;
    for (auto _ : state) {
        out.clear();
        append_frame(out, Opcode::kText, payload);
        benchmark::DoNotOptimize(out.data());
    }
    state.SetBytesProcessed(state.iterations() * state.range(0));
}
BENCHMARK(BM_EncodeText)->Arg(64)->Arg(200)->Arg(4096);

void BM_EncodeTextInPlace(benchmark::State& state) {
    const std::string payload(static_cast<std::size_t>(state.range(0)), 'p');
    std::string out;
    for (auto _ : state) {
        out.clear();
        const OpenFrame frame = begin_frame(out, Opcode::kText);
        out.append(payload);
        finish_frame(out, frame);
        benchmark::DoNotOptimize(out.data());
    }
    state.SetBytesProcessed(state.iterations() * state.range(0));
}
BENCHMARK(BM_EncodeTextInPlace)->Arg(64)->Arg(200)->Arg(4096);

void BM_EncodeMaskedText(benchmark::State& state) {
    const std::string payload(static_cast<std::size_t>(state.range(0)), 'p');
    std::string out;
    for (auto _ : state) {
        out.clear();
        append_frame(out, Opcode::kText, payload, 0x01020304);
        benchmark::DoNotOptimize(out.data());
    }
    state.SetBytesProcessed(state.iterations() * state.range(0));
}
BENCHMARK(BM_EncodeMaskedText)->Arg(200)->Arg(4096);

}  // namespace
