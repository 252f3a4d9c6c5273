#include "net/grpc/grpc_reader.hpp"

#include "net/codec/grpc_message.hpp"
#include "net/codec/gzip.hpp"

namespace crab::net {

GrpcReadResult GrpcReader::look(Http2Stream& stream) {
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
                if (const GrpcReadResult news = unpack(stream, frame.message);
                    news != GrpcReadResult::kMessage)
                    return news;
            }
            size_ = frame.size;
            message_ = frame.compressed ? std::string_view(*unpacked_) : frame.message;
            return GrpcReadResult::kMessage;
        case GrpcFrame::Kind::kNoFlag: return GrpcReadResult::kPacking;
        case GrpcFrame::Kind::kTooLarge:
            wanted_ = frame.size - kGrpcPrefix;
            return GrpcReadResult::kTooLarge;
        case GrpcFrame::Kind::kNeedMore: break;
    }
    if (stream.ended()) return stream.body().empty() ? GrpcReadResult::kEnd : GrpcReadResult::kHalf;
    return stream.gone() ? GrpcReadResult::kGone : GrpcReadResult::kNothing;
}

GrpcReadResult GrpcReader::unpack(Http2Stream& stream, std::string_view packed) {
    if (stream.fields().find("grpc-encoding") != kGrpcGzip) return GrpcReadResult::kPacking;
    std::string text;
    const GunzipOutcome outcome = gunzip(packed, kMostMessageBytes, text);
    if (outcome == GunzipOutcome::kDone && stream.hold(text.size())) {
        unpacked_ = std::move(text);
        return GrpcReadResult::kMessage;
    }
    wanted_ = kMostMessageBytes + 1;
    return outcome == GunzipOutcome::kBroken ? GrpcReadResult::kPacking : GrpcReadResult::kTooLarge;
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
