#include "net/codec/websocket_deflate.hpp"

#include "net/codec/zlib_input.hpp"

#include <zlib.h>

#include <algorithm>
#include <limits>
#include <new>

namespace crab::net {
namespace {

// RFC 7692 section 7.2.1: the sender leaves these four bytes of its flush away.
constexpr std::string_view kTail("\x00\x00\xff\xff", 4);

void end_deflate(z_stream_s* stream) {
    deflateEnd(stream);
    delete stream;
}
void end_inflate(z_stream_s* stream) {
    inflateEnd(stream);
    delete stream;
}

// Lets `step` write behind out.size() until it leaves room, doubling the room up to `max_bytes`;
// false when that is too little.
template <class Step>
bool grow_while_full(z_stream& stream, std::string& out, std::size_t max_bytes, Step step) {
    constexpr std::size_t kFirst = 4096;
    std::size_t used = out.size();
    while (true) {
        if (used == out.size()) {
            if (used >= max_bytes) return false;
            out.resize(std::min(max_bytes, std::max(used * 2, used + kFirst)));
        }
        stream.next_out = reinterpret_cast<Bytef*>(out.data() + used);
        stream.avail_out = static_cast<uInt>(
            std::min<std::size_t>(out.size() - used, std::numeric_limits<uInt>::max()));
        const std::size_t room = stream.avail_out;
        const bool go_on = step();
        used += room - stream.avail_out;
        if (!go_on || stream.avail_out != 0) {
            out.resize(used);
            return true;
        }
    }
}

}  // namespace

MessageInflater::MessageInflater() : stream_(new z_stream{}, end_inflate) {
    if (inflateInit2(stream_.get(), -MAX_WBITS) != Z_OK) throw std::bad_alloc();
}

MessageInflater::Outcome MessageInflater::inflate(std::string_view compressed,
                                                  std::size_t max_bytes, std::string& out) {
    out.clear();
    if (compressed.size() > std::numeric_limits<uInt>::max()) return Outcome::kTooBig;
    inflateReset(stream_.get());
    bool broken = false;
    bool at_block_end = false;
    for (const std::string_view part : {compressed, kTail}) {
        set_input(*stream_, part);
        const auto step = [&] {
            const int answer = ::inflate(stream_.get(), Z_SYNC_FLUSH);
            // a block marked as the last: legal, whatever follows starts again
            if (answer == Z_STREAM_END) {
                inflateReset(stream_.get());
                at_block_end = true;
                return stream_->avail_in != 0;
            }
            broken = answer != Z_OK && answer != Z_BUF_ERROR;
            at_block_end = (stream_->data_type & 128) != 0;
            return !broken;
        };
        // One byte beyond the limit tells "exactly the limit" from "more"; after a final block
        // there may be room and input left.
        do {
            if (!grow_while_full(*stream_, out, max_bytes + 1, step)) return Outcome::kTooBig;
        } while (!broken && stream_->avail_in != 0);
        if (broken) return Outcome::kBroken;
        if (out.size() > max_bytes) return Outcome::kTooBig;
    }
    return at_block_end ? Outcome::kDone : Outcome::kBroken;
}

MessageDeflater::MessageDeflater()
    : streams_{ZlibStream{nullptr, end_deflate}, ZlibStream{nullptr, end_deflate},
               ZlibStream{nullptr, end_deflate}, ZlibStream{nullptr, end_deflate},
               ZlibStream{nullptr, end_deflate}, ZlibStream{nullptr, end_deflate},
               ZlibStream{nullptr, end_deflate}} {}

ZlibStream& MessageDeflater::stream(int window_bits) {
    const int bits = std::clamp(window_bits, kMinWindowBits, kMaxWindowBits);
    ZlibStream& wanted = streams_[static_cast<std::size_t>(bits - kMinWindowBits)];
    if (!wanted) {
        constexpr int kMemoryLevel = 8;
        auto made = std::make_unique<z_stream>();
        if (deflateInit2(made.get(), Z_DEFAULT_COMPRESSION, Z_DEFLATED, -bits, kMemoryLevel,
                         Z_DEFAULT_STRATEGY) != Z_OK) {
            throw std::bad_alloc();
        }
        wanted.reset(made.release());
    }
    return wanted;
}

void MessageDeflater::deflate(std::string_view message, int window_bits, std::string& out) {
    z_stream& zlib = *stream(window_bits);
    deflateReset(&zlib);
    set_input(zlib, message);
    grow_while_full(zlib, out, std::numeric_limits<std::size_t>::max(),
                    [&] { return ::deflate(&zlib, Z_SYNC_FLUSH) == Z_OK; });
    if (out.ends_with(kTail)) out.resize(out.size() - kTail.size());
}

}  // namespace crab::net
