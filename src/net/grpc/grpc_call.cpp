#include "net/grpc/grpc_call.hpp"

#include "net/codec/grpc_message.hpp"

#include <algorithm>
#include <array>
#include <ranges>
#include <utility>

#include <fmt/format.h>

namespace crab::net {
namespace {

constexpr std::string_view kContentType = "application/grpc";

}  // namespace

GrpcCall::GrpcCall(std::shared_ptr<Http2Stream> stream) : stream_(std::move(stream)) {
    const auto stated = metadata("grpc-timeout");
    if (!stated) return;
    const auto timeout = parse_grpc_timeout(*stated);
    const SteadyTime now = loop().now();
    broken_timeout_ = !timeout;
    if (timeout && *timeout < kNoDeadline - now) deadline_ = now + *timeout;
}

Task<GrpcCall::Message> GrpcCall::read(Deadline deadline) {
    for (;;) {
        switch (reader_.look(*stream_)) {
            case GrpcReadResult::kMessage: co_return reader_.message();
            case GrpcReadResult::kEnd: co_return std::nullopt;
            case GrpcReadResult::kHalf:
                co_return std::unexpected(
                    GrpcFailure{GrpcStatus::kInvalidArgument, "the request ends within a message"});
            case GrpcReadResult::kPacking:
                co_return std::unexpected(GrpcFailure{
                    GrpcStatus::kInvalidArgument, "a message is not packed as grpc-encoding says"});
            case GrpcReadResult::kTooLarge:
                co_return std::unexpected(
                    GrpcFailure{GrpcStatus::kResourceExhausted,
                                fmt::format("the message has {} bytes, more than the {} allowed",
                                            reader_.wanted_bytes(), kMostMessageBytes)});
            case GrpcReadResult::kGone:
                co_return std::unexpected(
                    GrpcFailure{GrpcStatus::kCancelled, "the caller is gone"});
            case GrpcReadResult::kNothing: break;
        }
        switch (co_await stream_->more(deadline)) {
            case WaitEnd::kWoken: break;
            case WaitEnd::kExpired:
                co_return std::unexpected(
                    GrpcFailure{GrpcStatus::kDeadlineExceeded, "the request did not come in time"});
            case WaitEnd::kCancelled:
                co_return std::unexpected(
                    GrpcFailure{GrpcStatus::kCancelled, "the call was cancelled"});
        }
    }
}

Task<std::expected<std::string_view, GrpcFailure>> GrpcCall::read_only(Deadline deadline) {
    auto message = co_await read(deadline);
    if (!message) co_return std::unexpected(std::move(message.error()));
    if (!*message)
        co_return std::unexpected(
            GrpcFailure{GrpcStatus::kInvalidArgument, "the request has no message"});
    while (!stream_->ended() && !stream_->gone() && !reader_.more_behind(*stream_)) {
        switch (co_await stream_->more(deadline)) {
            case WaitEnd::kWoken: break;
            case WaitEnd::kExpired:
                co_return std::unexpected(
                    GrpcFailure{GrpcStatus::kDeadlineExceeded, "the request did not end in time"});
            case WaitEnd::kCancelled:
                co_return std::unexpected(
                    GrpcFailure{GrpcStatus::kCancelled, "the call was cancelled"});
        }
    }
    if (reader_.more_behind(*stream_))
        co_return std::unexpected(
            GrpcFailure{GrpcStatus::kInvalidArgument,
                        "the request has a second message; this method takes one"});
    if (!stream_->ended())
        co_return std::unexpected(GrpcFailure{GrpcStatus::kCancelled, "the caller is gone"});
    co_return reader_.take(*stream_, request_);
}

// Packing is named once, in the head: where the first message is worth it.
void GrpcCall::send_head(std::size_t first_message) {
    if (stream_->answered()) return;
    constexpr std::size_t kWorthPacking = 1024;
    packs_ = first_message >= kWorthPacking &&
             accepts_gzip(metadata("grpc-accept-encoding").value_or(""));
    static constexpr std::array<HttpHeader, 4> kHead{{{":status", "200"},
                                                      {"content-type", kContentType},
                                                      {"grpc-accept-encoding", kGrpcEncodings},
                                                      {"grpc-encoding", kGrpcGzip}}};
    stream_->send_head(std::span(kHead).first(packs_ ? 4 : 3), Http2Stream::Last::kNo);
}

std::string& GrpcCall::begin_message() {
    begun_ = begin_grpc_frame(stream_->out());
    return stream_->out();
}

void GrpcCall::end_message() {
    end_grpc_frame(stream_->out(), begun_);
    const std::size_t size = stream_->out().size() - begun_;
    send_head(size);
    // what does not pay once will not pay later
    if (packs_) packs_ = pack_grpc_frame(stream_->out(), begun_);
    const std::size_t left = stream_->out().size() - begun_;
    written_ += kGrpcPrefix + left;
    if (packs_) {
        packed_.push_back({.end = written_, .saved = size - left});
        saved_ += size - left;
    }
    stream_->flush();
}

// How many bytes may be queued, packed as they are, so that unpacked they would be less than
// `most`.
std::size_t GrpcCall::queued_for(std::size_t most) {
    const std::size_t queued = stream_->queued_bytes();
    const auto waits = std::ranges::find_if(
        packed_,
        [sent = written_ - queued](const QueuedMessage& message) { return message.end > sent; });
    for (const QueuedMessage& message : std::ranges::subrange(packed_.begin(), waits))
        saved_ -= message.saved;
    packed_.erase(packed_.begin(), waits);
    if (queued + saved_ < most) return most;
    std::size_t saved = saved_;
    for (const QueuedMessage& message : packed_) {
        saved -= message.saved;
        const std::size_t behind = written_ - message.end;
        if (behind + saved < most) return behind + 1;  // once it has left
    }
    return most;
}

Task<WaitEnd> GrpcCall::drained(std::size_t most, Deadline deadline) {
    return stream_->drained(queued_for(most), deadline);
}

void GrpcCall::finish(GrpcStatus status, std::string_view message,
                      std::span<const HttpHeader> trailers) {
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
