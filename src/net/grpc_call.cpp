#include "net/grpc_call.hpp"

#include "net/codec/grpc_message.hpp"

#include <array>
#include <utility>

#include <fmt/format.h>

namespace crab::net {
namespace {

constexpr std::string_view kContentType = "application/grpc";

}  // namespace

GrpcCall::GrpcCall(std::shared_ptr<Http2Stream> stream) : stream_(std::move(stream)) {
    const auto timeout = parse_grpc_timeout(metadata("grpc-timeout").value_or(""));
    const SteadyTime now = loop().now();
    if (timeout && *timeout < kNoDeadline - now) deadline_ = now + *timeout;
}

Task<GrpcCall::Message> GrpcCall::read(Deadline deadline) {
    for (;;) {
        switch (reader_.look(*stream_)) {
            case GrpcNews::kMessage: co_return reader_.message();
            case GrpcNews::kEnd: co_return std::nullopt;
            case GrpcNews::kHalf: co_return std::unexpected(GrpcFailure{GrpcStatus::kInvalidArgument, "the request ends within a message"});
            case GrpcNews::kCompressed:
                co_return std::unexpected(GrpcFailure{GrpcStatus::kUnimplemented, "compressed messages are not taken; send identity"});
            case GrpcNews::kTooLarge:
                co_return std::unexpected(GrpcFailure{GrpcStatus::kResourceExhausted, fmt::format("the message has {} bytes, more than the {} allowed",
                                                                                                  reader_.wanted_bytes(), kMostMessageBytes)});
            case GrpcNews::kGone: co_return std::unexpected(GrpcFailure{GrpcStatus::kCancelled, "the caller is gone"});
            case GrpcNews::kNothing: break;
        }
        switch (co_await stream_->more(deadline)) {
            case WaitEnd::kWoken: break;
            case WaitEnd::kExpired: co_return std::unexpected(GrpcFailure{GrpcStatus::kDeadlineExceeded, "the request did not come in time"});
            case WaitEnd::kCancelled: co_return std::unexpected(GrpcFailure{GrpcStatus::kCancelled, "the call was cancelled"});
        }
    }
}

Task<std::expected<std::string_view, GrpcFailure>> GrpcCall::read_only(Deadline deadline) {
    auto message = co_await read(deadline);
    if (!message) co_return std::unexpected(std::move(message.error()));
    if (!*message) co_return std::unexpected(GrpcFailure{GrpcStatus::kInvalidArgument, "the request has no message"});
    // The body may grow, and so move, while the call is served.
    request_ = stream_->take_body();
    reader_.forget();
    co_return read_grpc_frame(request_, kMostMessageBytes).message;
}

void GrpcCall::send_head() {
    if (stream_->answered()) return;
    static constexpr std::array<HttpHeader, 2> kHead{{{":status", "200"}, {"content-type", kContentType}}};
    stream_->send_head(kHead, Http2Stream::Last::kNo);
}

std::string& GrpcCall::begin_message() {
    send_head();
    begun_ = begin_grpc_frame(stream_->out());
    return stream_->out();
}

void GrpcCall::end_message() {
    end_grpc_frame(stream_->out(), begun_);
    stream_->flush();
}

void GrpcCall::finish(GrpcStatus status, std::string_view message, std::span<const HttpHeader> trailers) {
    const std::string text = grpc_message_text(message);
    std::vector<HttpHeader> fields;
    fields.reserve(4 + trailers.size());
    const bool only = !stream_->answered();  // "trailers only": one section says all
    if (only) fields.insert(fields.end(), {{":status", "200"}, {"content-type", kContentType}});
    fields.push_back({"grpc-status", text_of(status)});
    if (!text.empty()) fields.push_back({"grpc-message", text});
    fields.insert(fields.end(), trailers.begin(), trailers.end());
    if (only) {
        stream_->send_head(fields, Http2Stream::Last::kYes);
    } else {
        stream_->end(fields);
    }
}

}  // namespace crab::net
