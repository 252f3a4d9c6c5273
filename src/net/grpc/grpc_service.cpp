#include "net/grpc/grpc_service.hpp"

#include "net/codec/grpc_message.hpp"

#include <array>

namespace crab::net {
namespace {

bool is_grpc(std::string_view content_type) {
    constexpr std::string_view kName = "application/grpc";
    if (!content_type.starts_with(kName)) return false;
    const std::string_view rest = content_type.substr(kName.size());
    return rest.empty() || rest == "+proto" || rest.starts_with(';') || rest.starts_with("+proto;");
}

Task<void> nothing() { co_return; }

}  // namespace

// No coroutine itself: a call costs one frame.
Task<void> GrpcService::serve(std::shared_ptr<Http2Stream> stream) {
    const Http2Fields& fields = stream->fields();
    if (fields.find(":method") != "POST" || !is_grpc(fields.find("content-type").value_or(""))) {
        const bool post = fields.find(":method") == "POST";
        const std::array<HttpHeader, 1> refused{{{":status", post ? "415" : "405"}}};
        stream->send_head(refused, Http2Stream::Last::kYes);
        return nothing();
    }
    GrpcCall made(std::move(stream));
    if (const auto encoding = made.metadata("grpc-encoding");
        encoding && *encoding != "identity" && *encoding != kGrpcGzip) {
        static constexpr std::array<HttpHeader, 1> kAccepted{
            {{"grpc-accept-encoding", kGrpcEncodings}}};
        made.finish(GrpcStatus::kUnimplemented,
                    "this message encoding is not known; send identity or gzip", kAccepted);
        return nothing();
    }
    if (made.has_broken_timeout()) {
        made.finish(
            GrpcStatus::kInvalidArgument,
            "grpc-timeout is not a number of at most 8 digits with a unit of H, M, S, m, u or n");
        return nothing();
    }
    return call(std::move(made));
}

}  // namespace crab::net
