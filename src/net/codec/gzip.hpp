#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

/// RFC 1952, whole texts at a time. Pure functions; each thread keeps one stream of zlib for either
/// way.
namespace crab::net {

enum class GunzipOutcome : std::uint8_t { kDone, kTooBig, kBroken };

/// Decompresses one member into `out`, which it replaces. Stops at `most_bytes`, which bounds
/// decompression bombs.
GunzipOutcome gunzip(std::string_view packed, std::size_t most_bytes, std::string& out);

/// Compresses `text` into `out`, which it replaces, for speed rather than size. False, with `out`
/// undefined, when that takes more than `most_bytes`.
bool gzip(std::string_view text, std::size_t most_bytes, std::string& out);

}  // namespace crab::net
