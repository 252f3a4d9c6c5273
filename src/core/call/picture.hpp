#pragma once

#include "base/result.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace crab::core {

inline constexpr std::size_t kMostPictureBytes = std::size_t{5} << 20;
inline constexpr std::uint32_t kMostPictureSide = 8'192;
inline constexpr std::size_t kMostPictures = 4;   ///< of one message

/// A picture that belongs to a chat session, without its bytes.
struct Picture {
    std::string id;           ///< `att_` and 32 lower-case hexadecimal characters
    std::string mime_type;    ///< detected from its bytes
    std::uint64_t bytes = 0;
    std::uint32_t width = 0, height = 0;
};

/// Whether `text` has the form of a picture id.
bool is_picture_id(std::string_view text);
/// Reads the header of a PNG, JPEG, GIF or WebP; pixels are not decoded. `id` is left empty.
/// Errors: kInvalidArgs for other formats, a damaged header, or sides beyond the limit; kOversize.
Result<Picture> inspect_picture(std::string_view bytes);
/// `{"id","mime_type","size_bytes","width","height"}`, appended to `out`.
void append_picture(std::string& out, const Picture& picture);

}  // namespace crab::core
