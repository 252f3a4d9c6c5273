// gRPC framing, status messages and deadlines: no limit is passed, what comes out fits what went
// in, and what our own functions write they read back.
#include "net/codec/fuzz_check.hpp"
#include "net/codec/grpc_message.hpp"
#include "net/codec/grpc_status.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace crab::net;
    const std::string_view input(reinterpret_cast<const char*>(data), size);
    constexpr std::size_t kMost = 4096;

    std::string_view rest = input;
    while (!rest.empty()) {
        const GrpcFrame frame = read_grpc_frame(rest, kMost);
        if (frame.kind != GrpcFrame::Kind::kMessage) {
            if (frame.kind == GrpcFrame::Kind::kNeedMore)
                require(frame.size > rest.size(), "what is complete needs no more");
            break;
        }
        require(frame.message.size() <= kMost, "no message is larger than the limit");
        require(frame.message.size() + kGrpcPrefix == frame.size && frame.size <= rest.size(),
                "a message lies inside the body");
        std::string again;
        const std::size_t begun = begin_grpc_frame(again);
        again += frame.message;
        end_grpc_frame(again, begun);
        if (frame.compressed) again[0] = 1;
        require(again == rest.substr(0, frame.size), "a frame is written as it was read");
        Cuts cuts(data, size);
        const GrpcFrame part =
            read_grpc_frame(rest.substr(0, frame.size - cuts.next(frame.size)), kMost);
        require(part.kind == GrpcFrame::Kind::kNeedMore, "a part of a message is none");
        rest.remove_prefix(frame.size);
    }
    const std::string text = grpc_message_text(input);
    for (const char c : text) require(c >= 0x20 && c <= 0x7e, "a status message is printable");
    require(parse_grpc_message(text) == input, "a status message is read as it was written");
    static_cast<void>(parse_grpc_message(input));
    static_cast<void>(parse_grpc_status(input));
    if (const auto timeout = parse_grpc_timeout(input)) {
        require(timeout->count() >= 0, "no deadline lies before its call");
        require(parse_grpc_timeout(grpc_timeout_text(*timeout)) >= *timeout,
                "a written deadline is no shorter");
    }
    return 0;
}
