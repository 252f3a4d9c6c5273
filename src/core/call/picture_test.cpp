#include "core/call/picture.hpp"

#include <gtest/gtest.h>

namespace crab::core {
namespace {

std::string png(unsigned char width_high, unsigned char width, unsigned char height) {
    std::string bytes("\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0", 18);
    bytes += static_cast<char>(width_high);
    bytes += static_cast<char>(width);
    bytes += std::string("\0\0\0", 3) + static_cast<char>(height);
    return bytes + std::string("\x08\x06\0\0\0crc!", 9);
}

TEST(Picture, IsWhatItsBytesAre) {
    const Picture picture = inspect_picture(png(1, 2, 3)).value();
    EXPECT_EQ(picture.mime_type, "image/png");
    EXPECT_EQ(picture.width, 258u);
    EXPECT_EQ(picture.height, 3u);
    const Picture gif = inspect_picture(std::string("GIF89a\x05\0\x06\0\0\0\0", 13)).value();
    EXPECT_EQ(gif.mime_type, "image/gif");
    EXPECT_EQ(gif.width * 100 + gif.height, 506u);
    const Picture jpeg =
        inspect_picture(
            std::string("\xFF\xD8\xFF\xE0\0\x04xx\xFF\xFF\xC2\0\x0b\x08\0\x07\0\x09\x01", 20))
            .value();
    EXPECT_EQ(jpeg.mime_type, "image/jpeg");
    EXPECT_EQ(jpeg.width * 100 + jpeg.height, 907u);
    const Picture webp =
        inspect_picture(std::string("RIFF\0\0\0\0WEBPVP8X\x0a\0\0\0\0\0\0\0\x07\0\0\x08\0\0", 30))
            .value();
    EXPECT_EQ(webp.mime_type, "image/webp");
    EXPECT_EQ(webp.width * 100 + webp.height, 809u);
}

TEST(Picture, IsRefusedWhenItIsNoneOrDamagedOrTooLarge) {
    for (const std::string& bytes :
         {std::string(), std::string("%PDF-1.7"), png(1, 2, 3).substr(0, 20), png(0, 0, 3),
          png(0xFF, 0xFF, 3), std::string("\xFF\xD8\xFF\xE0\0\0", 6),
          std::string("\xFF\xD8\xFF", 3), std::string("RIFF\0\0\0\0WEBP", 12),
          std::string("GIF89a")}) {
        EXPECT_EQ(inspect_picture(bytes).error().code, ErrorCode::kInvalidArgs) << bytes.size();
    }
    EXPECT_EQ(inspect_picture(std::string(kMostPictureBytes + 1, 'x')).error().code,
              ErrorCode::kOversize);
}

TEST(Picture, HasAnIdThatIsNoPath) {
    EXPECT_TRUE(is_picture_id("att_" + std::string(32, 'a')));
    for (const char* bad : {"", "att_", "att_../../../../../../../etc/passwd00",
                            "att_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"})
        EXPECT_FALSE(is_picture_id(bad)) << bad;
}

}  // namespace
}  // namespace crab::core
