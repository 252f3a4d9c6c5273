#pragma once

#include <string_view>

struct z_stream_s;

namespace crab::net {

/// What zlib reads next. At most 4 GiB, which the caller has checked; the bytes stay where they are
/// until they are read.
void set_input(z_stream_s& stream, std::string_view bytes);

}  // namespace crab::net
