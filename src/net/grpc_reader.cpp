#include "net/grpc_reader.hpp"

#include "net/codec/grpc_message.hpp"

namespace crab::net {

GrpcNews GrpcReader::look(Http2Stream& stream) {
    stream.consume(std::exchange(size_, 0));
    message_ = {};
    const GrpcFrame frame = read_grpc_frame(stream.body(), kMostMessageBytes);
    switch (frame.kind) {
        case GrpcFrame::Kind::kMessage:
            size_ = frame.size;
            message_ = frame.message;
            return GrpcNews::kMessage;
        case GrpcFrame::Kind::kCompressed: return GrpcNews::kCompressed;
        case GrpcFrame::Kind::kTooLarge: size_ = frame.size - kGrpcPrefix; return GrpcNews::kTooLarge;
        case GrpcFrame::Kind::kNeedMore: break;
    }
    if (stream.ended()) return stream.body().empty() ? GrpcNews::kEnd : GrpcNews::kHalf;
    return stream.gone() ? GrpcNews::kGone : GrpcNews::kNothing;
}

}  // namespace crab::net
