#include "adapters/mcp/wire/line_reader.hpp"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace crab::mcp {
namespace {

using Kind = StdioLine::Kind;
using Lines = std::vector<std::string>;

Lines read(LineReader& reader, std::string_view bytes, std::size_t piece = std::string_view::npos) {
    Lines lines;
    while (!bytes.empty()) {
        std::string_view in = bytes.substr(0, piece);
        bytes.remove_prefix(in.size());
        for (StdioLine line = reader.next(in); line.kind != Kind::kNeedMore;
             line = reader.next(in)) {
            if (line.kind == Kind::kOversize) {
                lines.emplace_back("oversize");
                return lines;
            }
            lines.emplace_back(line.text);
        }
    }
    return lines;
}

TEST(McpLineReader, LinesAreTheSameForEveryCut) {
    constexpr std::string_view kBytes =
        "{\"a\":1}\n\n{\"b\":2}\r\n \r\n\r\rnoise\nlast without an end";
    const Lines wanted{"{\"a\":1}", "{\"b\":2}", " ", "\r\rnoise"};
    for (const std::size_t piece : {1U, 2U, 3U, 5U, 100U}) {
        LineReader reader;
        EXPECT_EQ(read(reader, kBytes, piece), wanted) << piece;
    }
}

TEST(McpLineReader, ALineAboveTheLimitIsOversizeForGood) {
    for (const std::size_t piece : {1U, 4U, 100U}) {
        LineReader fits(8), large(8), endless(8);
        EXPECT_EQ(read(fits, "12345678\n12345678\r\n", piece), (Lines{"12345678", "12345678"}));
        EXPECT_EQ(read(large, "1\n123456789\n2\n", piece), (Lines{"1", "oversize"}));
        EXPECT_EQ(read(large, "2\n", piece), Lines{"oversize"});
        LineReader last(8);
        EXPECT_EQ(read(last, "123456789\n", piece), Lines{"oversize"});
        EXPECT_EQ(read(endless, std::string(10, 'x'), piece), Lines{"oversize"})
            << "before the line ends";
    }
    LineReader reader;
    const std::string most(kMaxReply, 'a');
    EXPECT_EQ(read(reader, most + "\n", 65'536).at(0).size(), kMaxReply);
    EXPECT_EQ(read(reader, most + "a\n", 65'536), Lines{"oversize"});
}

}  // namespace
}  // namespace crab::mcp
