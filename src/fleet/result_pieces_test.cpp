#include "fleet/result_pieces.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace crab::fleet {
namespace {

constexpr ForwardId kId{.high = 1, .low = 2};

std::string long_body(std::size_t bytes) {
    std::string body;
    for (std::size_t i = 0; body.size() < bytes; ++i) body += std::to_string(i) + " ";
    body.resize(bytes);
    return body;
}

/// As they are sent; the bytes are of `body`.
std::vector<Piece> all_of(PiecesOut& out, std::string_view body) {
    std::vector<Piece> pieces;
    while (const auto piece = out.next(kId, body)) pieces.push_back(*piece);
    return pieces;
}

TEST(ResultPiecesTest, TheyArePutTogetherAndNotSentFarAhead) {
    const std::string body = long_body(3 * kAhead + 17);
    PiecesOut out;
    PiecesIn in;
    PiecesIn::Taken last{};
    int rounds = 0;
    while (last != PiecesIn::Taken::kAll) {
        const auto pieces = all_of(out, body);
        ASSERT_FALSE(pieces.empty());
        std::size_t ahead = 0;
        for (const Piece& piece : pieces) {
            const std::string wire = to_wire(piece);
            EXPECT_LE(wire.size(), kPieceBytes + 200);
            last = in.take(parse_piece(wire).value());
            ahead += piece.bytes.size();
        }
        EXPECT_LE(ahead, kAhead);
        ++rounds;
        if (last == PiecesIn::Taken::kMore) {
            EXPECT_TRUE(out.hear(parse_credit(to_wire(Credit{kId, in.have()}))->have));
        }
    }
    EXPECT_EQ(rounds, 4);
    EXPECT_EQ(in.take_all(), body);
}

TEST(ResultPiecesTest, WhatIsLostIsSentAgainAndWhatIsDoubledIsTakenOnce) {
    const std::string body = long_body(2 * kPieceBytes + 5);
    PiecesOut out;
    PiecesIn in;
    auto pieces = all_of(out, body);
    ASSERT_EQ(pieces.size(), 3u);
    EXPECT_EQ(in.take(pieces[0]), PiecesIn::Taken::kMore);
    EXPECT_EQ(in.take(pieces[0]), PiecesIn::Taken::kNothing);
    EXPECT_EQ(in.take(pieces[2]), PiecesIn::Taken::kNothing) << "the second was lost";
    EXPECT_TRUE(out.hear(in.have()));
    EXPECT_FALSE(out.hear(in.have()));
    EXPECT_FALSE(out.hear(body.size() * 2)) << "more than was sent";
    out.repeat();
    pieces = all_of(out, body);
    ASSERT_EQ(pieces.size(), 2u) << "from what home has";
    EXPECT_EQ(in.take(pieces[0]), PiecesIn::Taken::kMore);
    EXPECT_EQ(in.take(pieces[1]), PiecesIn::Taken::kAll);
    EXPECT_EQ(in.take_all(), body);
}

TEST(ResultPiecesTest, WhatCannotBeAPieceIsRefused) {
    const Piece good{.id = kId, .from = 1, .whole = 10, .bytes = "abc"};
    EXPECT_TRUE(parse_piece(to_wire(good)));
    for (const Piece& bad : {Piece{.id = kId, .from = 8, .whole = 10, .bytes = "abc"},
                             Piece{.id = kId, .from = ~std::uint64_t{0}, .whole = 10, .bytes = "a"},
                             Piece{.id = kId, .from = 0, .whole = 2, .bytes = "abc"},
                             Piece{.id = kId, .from = 0, .whole = kMostResult + 1, .bytes = "a"},
                             Piece{.id = kId, .from = 0, .whole = 10, .bytes = ""}})
        EXPECT_FALSE(parse_piece(to_wire(bad))) << bad.from << " of " << bad.whole;
    EXPECT_FALSE(parse_piece(""));
    EXPECT_FALSE(parse_credit("x"));
}

}  // namespace
}  // namespace crab::fleet
