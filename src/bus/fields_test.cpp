#include "bus/fields.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace crab::bus {
namespace {

std::vector<FieldReader::Field> all_of(FieldReader& reader) {
    std::vector<FieldReader::Field> fields;
    while (const auto field = reader.next()) fields.push_back(*field);
    return fields;
}

TEST(FieldsTest, TextsNumbersAndFlagsComeBack) {
    FieldWriter writer;
    writer.add(1, "text");
    writer.add_number(2, 0x0102'0304'0506'0708);
    writer.add_flag(3, true);
    writer.add_always(200, "");
    const std::string body = writer.take();
    FieldReader reader(body);
    const auto fields = all_of(reader);
    EXPECT_FALSE(reader.broken());
    ASSERT_EQ(fields.size(), 4u);
    EXPECT_EQ(fields[0].bytes, "text");
    EXPECT_EQ(fields[1].value(), 0x0102'0304'0506'0708u);
    EXPECT_TRUE(fields[2].flag());
    EXPECT_EQ(fields[3].number, 200);
    EXPECT_EQ(fields[3].bytes, "");
}

TEST(FieldsTest, WhatIsEmptyIsNotWritten) {
    FieldWriter writer;
    writer.add(1, "");
    writer.add_number(2, 0);
    writer.add_flag(3, false);
    EXPECT_EQ(writer.size(), 0u);
}

TEST(FieldsTest, ACutBodyIsBrokenAndGivesNoFieldInParts) {
    FieldWriter writer;
    writer.add(1, "ab");
    writer.add(2, "cdef");
    const std::string body = writer.take();
    for (std::size_t size = 1; size < body.size(); ++size) {
        FieldReader reader(std::string_view(body).substr(0, size));
        const auto fields = all_of(reader);
        const bool is_whole = size == 7;  // just the first field
        EXPECT_EQ(reader.broken(), !is_whole) << size;
        EXPECT_EQ(fields.size(), size >= 7 ? 1u : 0u) << size;
    }
}

TEST(FieldsTest, ALengthBeyondTheBodyIsBroken) {
    FieldReader reader(std::string_view("\x01\xff\xff\xff\xff rest", 10));
    EXPECT_FALSE(reader.next());
    EXPECT_TRUE(reader.broken());
    EXPECT_FALSE(reader.next()) << "and nothing comes after it";
}

TEST(FieldsTest, ANumberOfAnotherSizeIsNone) {
    FieldWriter writer;
    writer.add(1, "\x01");
    const std::string body = writer.take();
    FieldReader reader(body);
    const auto field = reader.next();
    EXPECT_EQ(field->value(), 0u);
    EXPECT_FALSE(field->flag());
}

}  // namespace
}  // namespace crab::bus
