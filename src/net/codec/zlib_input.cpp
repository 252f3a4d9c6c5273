#include "net/codec/zlib_input.hpp"

#include <zlib.h>

namespace crab::net {

void set_input(z_stream_s& stream, std::string_view bytes) {
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    stream.avail_in = static_cast<uInt>(bytes.size());
}

}  // namespace crab::net
