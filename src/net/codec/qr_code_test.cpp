#include "net/codec/qr_code.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace crab::net {
namespace {

std::string drawn(const QrCode& code) {
    std::string text;
    for (int row = 0; row < code.size(); ++row) {
        for (int column = 0; column < code.size(); ++column)
            text += code.is_dark(row, column) ? '#' : '.';
        text += '\n';
    }
    return text;
}

TEST(QrCodeTest, IsInByteModeAtLevelM) {  // as qrencode -l M -8 draws it
    EXPECT_EQ(drawn(QrCode::encode("crab pair").value()), R"(#######.#.#...#######
#.....#.#.....#.....#
#.###.#...#.#.#.###.#
#.###.#.####..#.###.#
#.###.#...##..#.###.#
#.....#..#.##.#.....#
#######.#.#.#.#######
........#.###........
#.##.###...##.#..#.##
##.##..##..##.###.###
..##.###..##.###.####
###..#.#.###...###..#
..###.#.##..####.....
........##.#..#.##...
#######.#..#######...
#.....#.#.#....#.###.
#.###.#..#..#.#..##..
#.###.#.#.##..##...#.
#.###.#.#.#.#.#......
#.....#..#...#...#..#
#######.##...#..#.#..
)");
}

TEST(QrCodeTest, TakesTheSmallestVersionThatHoldsTheText) {
    // ISO/IEC 18004, table 7: bytes at level M.
    constexpr int kMost[] = {14, 26, 42, 62, 84, 106, 122, 152, 180, 213};
    for (int version = 1; version <= 10; ++version) {
        const auto most = static_cast<std::size_t>(kMost[version - 1]);
        EXPECT_EQ(QrCode::encode(std::string(most, 'x'))->size(), 17 + 4 * version);
        if (version < 10)
            EXPECT_EQ(QrCode::encode(std::string(most + 1, 'x'))->size(), 21 + 4 * version);
    }
    EXPECT_FALSE(QrCode::encode(""));
    EXPECT_FALSE(QrCode::encode(std::string(QrCode::kMostBytes + 1, 'x')));
}

TEST(QrCodeTest, HalfBlocksShowTwoRowsToALineWithinAQuietZone) {
    const std::string text = QrCode::encode("crab pair")->to_half_blocks();
    EXPECT_EQ(std::ranges::count(text, '\n'), (21 + 8 + 1) / 2);
    const std::string quiet = "████";
    // the first rows of a finder pattern, dark as blanks
    EXPECT_NE(text.find("\n" + quiet + " ▄▄▄▄▄ █"), std::string::npos) << text;
}

}  // namespace
}  // namespace crab::net
