#include "bridge/built_in/content_lines.hpp"

#include <gtest/gtest.h>

namespace crab::bridge {
namespace {

TEST(ContentLines, FoldedLinesGroupsAndQuotedParametersAreUnderstood) {
    const auto lines = parse_content_lines(
        "BEGIN:VCARD\r\nitem1.email;type=WORK;X=\"a:b;c\":ada@\r\n example.org\r\nno "
        "line\r\nEND:VCARD\r\n");
    ASSERT_EQ(lines.size(), 3U);
    EXPECT_EQ(lines[1].name, "EMAIL");
    EXPECT_EQ(lines[1].parameter("TYPE"), "WORK");
    EXPECT_EQ(lines[1].parameter("X"), "a:b;c");
    EXPECT_EQ(lines[1].value, "ada@example.org");
}

TEST(ContentLines, EscapesAreWhatTheyStandForAndDoNotDivide) {
    const auto lines = parse_content_lines(R"(ORG:Sons\; Daughters;Sales\, south;a\nb\)");
    ASSERT_EQ(lines.size(), 1U);
    EXPECT_EQ(lines[0].parts(),
              (std::vector<std::string>{"Sons; Daughters", "Sales, south", "a\nb\\"}));
}

TEST(ContentLines, TimesAreReadable) {
    EXPECT_EQ(to_readable_time("20261121"), "2026-11-21");
    EXPECT_EQ(to_readable_time("20261121T093000Z"), "2026-11-21T09:30:00Z");
    EXPECT_EQ(to_readable_time("20261121T093000"), "2026-11-21T09:30:00");
    EXPECT_EQ(to_readable_time("tomorrow"), "tomorrow");
    EXPECT_EQ(to_readable_time("2026112x"), "2026112x");
}

}  // namespace
}  // namespace crab::bridge
