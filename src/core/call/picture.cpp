#include "core/call/picture.hpp"

#include "json/writer.hpp"

#include <optional>

#include <fmt/format.h>

namespace crab::core {
namespace {

std::uint32_t byte_at(std::string_view bytes, std::size_t at) {
    return static_cast<unsigned char>(bytes[at]);
}
std::uint32_t big16(std::string_view bytes, std::size_t at) {
    return byte_at(bytes, at) << 8 | byte_at(bytes, at + 1);
}
std::uint32_t big32(std::string_view bytes, std::size_t at) {
    return big16(bytes, at) << 16 | big16(bytes, at + 2);
}
std::uint32_t little16(std::string_view bytes, std::size_t at) {
    return byte_at(bytes, at + 1) << 8 | byte_at(bytes, at);
}
std::uint32_t little24(std::string_view bytes, std::size_t at) {
    return byte_at(bytes, at + 2) << 16 | little16(bytes, at);
}

struct Dimensions {
    std::uint32_t width = 0, height = 0;
};

std::optional<Dimensions> dimensions_of_png(std::string_view bytes) {
    if (bytes.size() < 33 || bytes.substr(12, 4) != "IHDR") return std::nullopt;
    return Dimensions{big32(bytes, 16), big32(bytes, 20)};
}

std::optional<Dimensions> dimensions_of_gif(std::string_view bytes) {
    if (bytes.size() < 13) return std::nullopt;
    return Dimensions{little16(bytes, 6), little16(bytes, 8)};
}

/// Goes from marker to marker until a frame begins. Source: ITU T.81, annex B.
std::optional<Dimensions> dimensions_of_jpeg(std::string_view bytes) {
    for (std::size_t at = 2; at + 9 <= bytes.size();) {
        if (byte_at(bytes, at) != 0xFF) return std::nullopt;
        const std::uint32_t marker = byte_at(bytes, at + 1);
        if (marker == 0xFF) {
            ++at;
            continue;
        }
        const bool frame =
            marker >= 0xC0 && marker <= 0xCF && marker != 0xC4 && marker != 0xC8 && marker != 0xCC;
        if (frame) return Dimensions{.width = big16(bytes, at + 7), .height = big16(bytes, at + 5)};
        const std::size_t length = big16(bytes, at + 2);
        if (length < 2) return std::nullopt;
        at += 2 + length;
    }
    return std::nullopt;
}

/// The three forms of a WebP's first chunk. Source: RFC 9649.
std::optional<Dimensions> dimensions_of_webp(std::string_view bytes) {
    if (bytes.size() < 30) return std::nullopt;
    const std::string_view chunk = bytes.substr(12, 4);
    if (chunk == "VP8X") return Dimensions{little24(bytes, 24) + 1, little24(bytes, 27) + 1};
    if (chunk == "VP8 ")
        return Dimensions{little16(bytes, 26) & 0x3FFF, little16(bytes, 28) & 0x3FFF};
    if (chunk != "VP8L") return std::nullopt;
    const std::uint32_t packed = little16(bytes, 21) | little16(bytes, 23) << 16;
    return Dimensions{(packed & 0x3FFF) + 1, (packed >> 14 & 0x3FFF) + 1};
}

}  // namespace

bool is_picture_id(std::string_view text) {
    constexpr std::string_view kPrefix = "att_";
    return text.size() == kPrefix.size() + 32 && text.starts_with(kPrefix) &&
           text.substr(kPrefix.size()).find_first_not_of("0123456789abcdef") ==
               std::string_view::npos;
}

Result<Picture> inspect_picture(std::string_view bytes) {
    if (bytes.empty()) return fail(ErrorCode::kInvalidArgs, "a picture has bytes");
    if (bytes.size() > kMostPictureBytes)
        return fail(ErrorCode::kOversize,
                    fmt::format("a picture has at most {} bytes", kMostPictureBytes));
    Picture picture{.id = {}, .mime_type = {}, .bytes = bytes.size()};
    std::optional<Dimensions> dimensions;
    if (bytes.starts_with("\x89PNG\r\n\x1a\n")) {
        picture.mime_type = "image/png";
        dimensions = dimensions_of_png(bytes);
    } else if (bytes.starts_with("\xFF\xD8\xFF")) {
        picture.mime_type = "image/jpeg";
        dimensions = dimensions_of_jpeg(bytes);
    } else if (bytes.starts_with("GIF87a") || bytes.starts_with("GIF89a")) {
        picture.mime_type = "image/gif";
        dimensions = dimensions_of_gif(bytes);
    } else if (bytes.starts_with("RIFF") && bytes.size() > 12 && bytes.substr(8, 4) == "WEBP") {
        picture.mime_type = "image/webp";
        dimensions = dimensions_of_webp(bytes);
    } else {
        return fail(ErrorCode::kInvalidArgs, "only PNG, JPEG, GIF and WebP pictures are taken");
    }
    if (!dimensions || dimensions->width == 0 || dimensions->height == 0)
        return fail(ErrorCode::kInvalidArgs, "the picture is damaged");
    if (dimensions->width > kMostPictureSide || dimensions->height > kMostPictureSide) {
        return fail(ErrorCode::kInvalidArgs,
                    fmt::format("a side of a picture has at most {} pixels", kMostPictureSide));
    }
    picture.width = dimensions->width;
    picture.height = dimensions->height;
    return picture;
}

void append_picture(std::string& out, const Picture& picture) {
    json::Writer(out)
        .begin_object()
        .key("id")
        .string(picture.id)
        .key("mime_type")
        .string(picture.mime_type)
        .key("size_bytes")
        .unsigned_integer(picture.bytes)
        .key("width")
        .unsigned_integer(picture.width)
        .key("height")
        .unsigned_integer(picture.height)
        .end_object();
}

}  // namespace crab::core
