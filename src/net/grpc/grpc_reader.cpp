#include "net/grpc/grpc_reader.hpp"

#include "net/codec/grpc_message.hpp"
#include "net/codec/gzip.hpp"

namespace crab::net {

GrpcNews GrpcReader::look(Http2Stream& stream) {
    stream.consume(std::exchange(size_, 0));
    message_ = {};
    if (unpacked_) {
        stream.release(unpacked_->size());
        unpacked_.reset();
    }
    const GrpcFrame frame = read_grpc_frame(stream.body(), kMostMessageBytes);
    switch (frame.kind) {
        case GrpcFrame::Kind::kMessage:
            if (frame.compressed) {
                if (const GrpcNews news = unpack(stream, frame.message); news != GrpcNews::kMessage)
                    return news;
            }
            size_ = frame.size;
            message_ = frame.compressed ? std::string_view(*unpacked_) : frame.message;
            return GrpcNews::kMessage;
        case GrpcFrame::Kind::kNoFlag: return GrpcNews::kPacking;
        case GrpcFrame::Kind::kTooLarge:
            wanted_ = frame.size - kGrpcPrefix;
            return GrpcNews::kTooLarge;
        case GrpcFrame::Kind::kNeedMore: break;
    }
    if (stream.ended()) return stream.body().empty() ? GrpcNews::kEnd : GrpcNews::kHalf;
    return stream.gone() ? GrpcNews::kGone : GrpcNews::kNothing;
}

GrpcNews GrpcReader::unpack(Http2Stream& stream, std::string_view packed) {
    if (stream.fields().find("grpc-encoding") != kGrpcGzip) return GrpcNews::kPacking;
    std::string text;
    const GunzipOutcome outcome = gunzip(packed, kMostMessageBytes, text);
    if (outcome == GunzipOutcome::kDone && stream.hold(text.size())) {
        unpacked_ = std::move(text);
        return GrpcNews::kMessage;
    }
    wanted_ = kMostMessageBytes + 1;
    return outcome == GunzipOutcome::kBroken ? GrpcNews::kPacking : GrpcNews::kTooLarge;
}

std::string_view GrpcReader::take(Http2Stream& stream, std::string& kept) {
    size_ = 0;
    message_ = {};
    kept = stream.take_body();
    if (!unpacked_) {
        (void)stream.hold(kept.size());  // it was held until now
        return read_grpc_frame(kept, kMostMessageBytes).message;
    }
    kept = std::move(*unpacked_);
    unpacked_.reset();
    return kept;
}

}  // namespace crab::net
