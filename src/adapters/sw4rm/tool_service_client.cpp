#include "adapters/sw4rm/tool_service_client.hpp"

#include "net/codec/protobuf.hpp"

#include <optional>
#include <utility>

#include <fmt/format.h>

namespace crab::sw4rm {
namespace {

using Next = net::GrpcClientCall::Next;

constexpr std::string_view kCall = "/sw4rm.tool.ToolService/Call",
                           kCallStream = "/sw4rm.tool.ToolService/CallStream",
                           kCancel = "/sw4rm.tool.ToolService/Cancel",
                           kDescribe = "/sw4rm.connector.ConnectorService/DescribeTools";
constexpr std::size_t kMostCancels = 256;
constexpr Milliseconds kCancelWithin{2'000};

std::string wire_of(const ToolCall& call) {
    std::string request;
    to_wire(request, call);
    return request;
}

}  // namespace

ToolServiceClient::ToolServiceClient(net::EventLoop& loop, Options options)
    : loop_(loop),
      most_kept_(options.most_kept),
      service_(loop, std::move(options.service)),
      tasks_(loop.executor()) {}

Task<ToolServiceClient::Ended> ToolServiceClient::call(Order order) {
    auto begun = co_await service_.begin(kCall, wire_of(order.call), order.metadata, order.deadline,
                                         order.patience);
    if (!begun) co_return std::unexpected(std::move(begun.error()));
    Answer answer;
    for (;;) {
        const Next next = co_await begun->next(order.patience);
        if (next == Next::kExpired || next == Next::kCancelled)
            co_return std::unexpected(give_up(std::move(*begun), order.call.call_id, next, 0));
        if (next == Next::kEnd) break;
        const auto frame = parse_tool_frame(begun->message());
        if (!frame || answer.frames > 0)
            co_return std::unexpected(
                local_failure(ErrorCode::kInternal, frame ? "the answer has more than one frame"
                                                          : "the answer is not a ToolFrame"));
        if (!frame->call_id.empty() && frame->call_id != order.call.call_id)
            co_return std::unexpected(
                local_failure(ErrorCode::kInternal, "the answer is that of another call"));
        if (frame->data.size() > most_kept_)
            co_return std::unexpected(local_failure(
                ErrorCode::kOversize,
                fmt::format("the result has {} bytes, more than are kept", frame->data.size())));
        answer = {.data = std::string(frame->data),
                  .content_type = std::string(frame->content_type),
                  .summary = std::string(frame->summary),
                  .frames = 1,
                  .bytes = frame->data.size()};
    }
    if (begun->end().status != net::GrpcStatus::kOk)
        co_return std::unexpected(read_failure(*begun));
    if (answer.frames == 0)
        co_return std::unexpected(local_failure(ErrorCode::kInternal, "the answer has no frame"));
    co_return answer;
}

Task<ToolServiceClient::Ended> ToolServiceClient::call_stream(Order order, core::FrameSink& sink) {
    order.call.stream = true;
    auto begun = co_await service_.begin(kCallStream, wire_of(order.call), order.metadata,
                                         order.deadline, order.patience);
    if (!begun) co_return std::unexpected(std::move(begun.error()));
    Answer answer;
    std::optional<std::uint64_t> last_number;  // some count from 0
    bool final = false, kept = true;
    TaskChain& chain = co_await this_chain();
    const auto broken = [&](std::string_view what) {
        return std::unexpected(local_failure(
            ErrorCode::kInternal, fmt::format("the stream is broken: {}", what), answer.frames));
    };
    for (;;) {
        const Next next = co_await begun->next(order.patience);
        if (next == Next::kExpired || next == Next::kCancelled)
            co_return std::unexpected(
                give_up(std::move(*begun), order.call.call_id, next, answer.frames));
        if (next == Next::kEnd) break;
        const auto frame = parse_tool_frame(begun->message());
        if (!frame) co_return broken("a message is not a ToolFrame");
        if (frame->call_id != order.call.call_id)
            co_return broken("a frame is that of another call");
        if (final || (last_number && frame->frame_no <= *last_number))
            co_return broken("its frames are out of order");
        last_number = frame->frame_no;
        final = frame->final;
        ++answer.frames;
        answer.bytes += frame->data.size();
        if (answer.content_type.empty()) answer.content_type = frame->content_type;
        if (final) answer.summary = frame->summary;
        kept = kept && answer.data.size() + frame->data.size() <= most_kept_;
        if (kept)
            answer.data += frame->data;
        else
            answer.data = {};
        if (!frame->data.empty() || final) {
            sink.on_frame({.number = answer.frames,
                           .data = frame->data,
                           .content_type = frame->content_type,
                           .final = final,
                           .summary = frame->summary});
            co_await sink.drained();
            if (chain.cancelled())
                co_return std::unexpected(give_up(std::move(*begun), order.call.call_id,
                                                  Next::kCancelled, answer.frames));
        }
    }
    if (begun->end().status != net::GrpcStatus::kOk) {
        CallFailure failure = read_failure(*begun);
        failure.frames = answer.frames;
        co_return std::unexpected(std::move(failure));
    }
    if (!final) co_return broken("it has no final frame");
    co_return answer;
}

/// The call goes on at the other side until it is told.
CallFailure ToolServiceClient::give_up(net::GrpcClientCall call, std::string_view call_id, Next why,
                                       std::uint64_t frames) {
    if (tasks_.size() < kMostCancels)
        tasks_.spawn("cancel at a tool service",
                     cancel_and_drop(std::move(call), std::string(call_id)));
    CallFailure failure =
        why == Next::kExpired
            ? local_failure(ErrorCode::kTimeout, "no answer came before the deadline", frames)
            : local_failure(ErrorCode::kCancelled,
                            "the call was cancelled, and the server was notified", frames);
    failure.status =
        why == Next::kExpired ? net::GrpcStatus::kDeadlineExceeded : net::GrpcStatus::kCancelled;
    return failure;
}

/// Cancel finds the call only while its RPC lives.
Task<void> ToolServiceClient::cancel_and_drop(net::GrpcClientCall call, std::string call_id) {
    const Deadline patience = loop_.now() + kCancelWithin;
    static_cast<void>(co_await cancel(std::move(call_id), patience));
    call.cancel();
}

Task<std::expected<std::string, CallFailure>> ToolServiceClient::cancel(std::string call_id,
                                                                        Deadline patience) {
    auto answer = co_await service_.unary(kCancel, wire_of({.call_id = call_id}), patience);
    if (!answer) co_return std::unexpected(std::move(answer.error()));
    const auto said = parse_tool_error(*answer);
    if (!said)
        co_return std::unexpected(
            local_failure(ErrorCode::kInternal, "the answer is not a ToolError"));
    co_return std::string(said->error_code == "CANCELED" ? "CANCELLED" : said->error_code);
}

Task<std::expected<std::optional<std::string>, CallFailure>> ToolServiceClient::describe(
    std::string_view provider_id, Deadline patience) {
    std::string request;
    net::ProtobufWriter(request).bytes(1, provider_id);
    auto answer = co_await service_.unary(kDescribe, std::move(request), patience);
    if (answer) co_return std::move(*answer);
    if (answer.error().answered && answer.error().status == net::GrpcStatus::kUnimplemented)
        co_return std::nullopt;
    co_return std::unexpected(std::move(answer.error()));
}

void ToolServiceClient::stop(std::function<void()> done) {
    service_.close();
    tasks_.stop(std::move(done));
}

}  // namespace crab::sw4rm
