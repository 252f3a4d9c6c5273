#include "net/grpc/grpc_client_call.hpp"

#include "net/codec/grpc_message.hpp"

#include <fmt/format.h>

namespace crab::net {
namespace {

/// What an HTTP status means when there is no grpc-status ("HTTP to gRPC Status Code Mapping" of
/// the gRPC documentation).
GrpcStatus status_of_http(std::string_view status) {
    if (status == "400") return GrpcStatus::kInternal;
    if (status == "401") return GrpcStatus::kUnauthenticated;
    if (status == "403") return GrpcStatus::kPermissionDenied;
    if (status == "404") return GrpcStatus::kUnimplemented;
    if (status == "429" || status == "502" || status == "503" || status == "504")
        return GrpcStatus::kUnavailable;
    return GrpcStatus::kUnknown;
}

GrpcEnd end_of_reset(Http2Error code) {
    switch (code) {
        case Http2Error::kNoError:
            return {.status = GrpcStatus::kUnavailable, .message = "the connection was lost"};
        case Http2Error::kRefused:
            return {.status = GrpcStatus::kUnavailable,
                    .message = "the call was not taken",
                    .unseen = true};
        case Http2Error::kCancel:
            return {.status = GrpcStatus::kCancelled,
                    .message = "the other side has ended the call",
                    .answered = true};
        case Http2Error::kEnhanceYourCalm:
            return {.status = GrpcStatus::kResourceExhausted,
                    .message = "the other side wants less",
                    .answered = true};
        case Http2Error::kProtocol:
        case Http2Error::kInternal: break;
    }
    return {.status = GrpcStatus::kInternal,
            .message =
                fmt::format("the stream was reset with code {}", static_cast<std::uint32_t>(code))};
}

}  // namespace

void GrpcClientCall::send(std::string_view message) {
    std::string& out = stream_->out();
    const std::size_t begun = begin_grpc_frame(out);
    out += message;
    end_grpc_frame(out, begun);
    if (packs_) (void)pack_grpc_frame(out, begun);
    stream_->end();
}

Task<GrpcClientCall::Next> GrpcClientCall::next(Deadline deadline) {
    for (;;) {
        const GrpcReadResult news = reader_.look(*stream_);
        if (!server_->takes_gzip)
            server_->takes_gzip =
                accepts_gzip(stream_->fields().find("grpc-accept-encoding").value_or(""));
        if (news == GrpcReadResult::kMessage) co_return Next::kMessage;
        if (news != GrpcReadResult::kNothing) {
            note_end(news);
            co_return Next::kEnd;
        }
        switch (co_await stream_->more(deadline)) {
            case WaitEnd::kWoken: break;
            case WaitEnd::kExpired: co_return Next::kExpired;
            case WaitEnd::kCancelled: co_return Next::kCancelled;
        }
    }
}

void GrpcClientCall::note_end(GrpcReadResult news) {
    switch (news) {
        case GrpcReadResult::kEnd:
            if (const auto status = trailer("grpc-status")) {
                end_ = {.status = parse_grpc_status(*status),
                        .message = parse_grpc_message(trailer("grpc-message").value_or("")),
                        .answered = true};
            } else {
                const std::string_view http = stream_->fields().find(":status").value_or("none");
                end_ = {.status = status_of_http(http),
                        .message = fmt::format("the answer is not gRPC, its HTTP status {}", http),
                        .answered = true};
            }
            return;
        case GrpcReadResult::kGone: end_ = end_of_reset(stream_->reset_code()); return;
        case GrpcReadResult::kTooLarge:
            end_ = {.status = GrpcStatus::kResourceExhausted,
                    .message = fmt::format("the answer has {} bytes, more than the {} allowed",
                                           reader_.wanted_bytes(), GrpcReader::kMostMessageBytes)};
            break;
        case GrpcReadResult::kPacking:
            end_ = {.status = GrpcStatus::kInternal,
                    .message = "the answer is not packed as its grpc-encoding says"};
            break;
        case GrpcReadResult::kHalf:
            end_ = {.status = GrpcStatus::kInternal, .message = "the answer ends within a message"};
            break;
        case GrpcReadResult::kMessage:
        case GrpcReadResult::kNothing: return;
    }
    cancel();
}

std::optional<std::string_view> GrpcClientCall::trailer(std::string_view name) const {
    // "Trailers only": the one section there is says all.
    return stream_->trailers().empty() ? stream_->fields().find(name)
                                       : stream_->trailers().find(name);
}

void GrpcClientCall::cancel() {
    if (stream_ && !stream_->ended() && !stream_->gone()) stream_->reset(Http2Error::kCancel);
}

}  // namespace crab::net
