#include "net/codec/gzip.hpp"

#include "net/codec/zlib_input.hpp"

#include <zlib.h>

#include <algorithm>
#include <limits>
#include <new>

namespace crab::net {
namespace {

constexpr int kGzip = MAX_WBITS + 16;
constexpr std::size_t kFirstRoom = 16 * 1024;

struct Inflater {
    Inflater() {
        if (inflateInit2(&stream, kGzip) != Z_OK) throw std::bad_alloc();
    }
    Inflater(const Inflater&) = delete;
    Inflater& operator=(const Inflater&) = delete;
    ~Inflater() { inflateEnd(&stream); }
    z_stream stream{};
};

struct Deflater {
    Deflater() {
        constexpr int kMemoryLevel = 8;
        if (deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, kGzip, kMemoryLevel,
                         Z_DEFAULT_STRATEGY) != Z_OK)
            throw std::bad_alloc();
    }
    Deflater(const Deflater&) = delete;
    Deflater& operator=(const Deflater&) = delete;
    ~Deflater() { deflateEnd(&stream); }
    z_stream stream{};
};

void set_room(z_stream& stream, std::string& out, std::size_t used) {
    stream.next_out = reinterpret_cast<Bytef*>(out.data() + used);
    stream.avail_out = static_cast<uInt>(out.size() - used);
}

}  // namespace

GunzipOutcome gunzip(std::string_view packed, std::size_t most_bytes, std::string& out) {
    if (packed.size() > std::numeric_limits<uInt>::max()) return GunzipOutcome::kTooBig;
    thread_local Inflater inflater;
    z_stream& stream = inflater.stream;
    inflateReset(&stream);
    set_input(stream, packed);
    out.clear();
    for (std::size_t used = 0;;) {
        if (used == out.size()) {
            if (used > most_bytes) return GunzipOutcome::kTooBig;
            // one byte more tells "just as much" from "more"
            out.resize(std::min(most_bytes + 1, std::max(2 * used, kFirstRoom)));
        }
        set_room(stream, out, used);
        const int answer = ::inflate(&stream, Z_NO_FLUSH);
        used = out.size() - stream.avail_out;
        if (answer == Z_STREAM_END) {
            out.resize(used);
            if (used > most_bytes) return GunzipOutcome::kTooBig;
            return stream.avail_in == 0 ? GunzipOutcome::kDone : GunzipOutcome::kBroken;
        }
        const bool is_cut = answer == Z_BUF_ERROR ||
                            (answer == Z_OK && stream.avail_in == 0 && stream.avail_out != 0);
        if (answer != Z_OK || is_cut)
            return used > most_bytes ? GunzipOutcome::kTooBig : GunzipOutcome::kBroken;
    }
}

bool gzip(std::string_view text, std::size_t most_bytes, std::string& out) {
    if (text.size() > std::numeric_limits<uInt>::max()) return false;
    thread_local Deflater deflater;
    z_stream& stream = deflater.stream;
    deflateReset(&stream);
    set_input(stream, text);
    out.resize(most_bytes);
    set_room(stream, out, 0);
    if (::deflate(&stream, Z_FINISH) != Z_STREAM_END) return false;
    out.resize(most_bytes - stream.avail_out);
    return true;
}

}  // namespace crab::net
