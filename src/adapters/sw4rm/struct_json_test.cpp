#include "adapters/sw4rm/struct_json.hpp"

#include "net/codec/protobuf.hpp"

#include <gtest/gtest.h>

#include <bit>

namespace crab::sw4rm {
namespace {

using net::ProtobufWriter;

std::string entry(std::string_view key, std::string_view value) {
    std::string pair, out;
    ProtobufWriter(pair).bytes(1, key).message(2, value);
    ProtobufWriter(out).message(1, pair);
    return out;
}

std::string number(double value) {
    std::string out = "\x11";  // field 2, 64 bits
    const auto bits = std::bit_cast<std::uint64_t>(value);
    for (int i = 0; i < 8; ++i) out += static_cast<char>(bits >> (8 * i));
    return out;
}

std::string message(std::uint32_t field, std::string_view value) {
    std::string out;
    ProtobufWriter(out).message(field, value);
    return out;
}

TEST(StructToJson, EveryKindOfValueHasItsForm) {
    std::string list;
    ProtobufWriter(list).message(1, number(1)).message(1, number(0.5));
    const std::string bytes = entry("text", message(3, "a\"b")) + entry("whole", number(7)) +
                              entry("part", number(-2.25)) + entry("yes", "\x20\x01") +
                              entry("none", std::string("\x08\x00", 2)) +
                              entry("list", message(6, list)) +
                              entry("inner", message(5, entry("x", number(3))));
    EXPECT_EQ(struct_to_json(bytes),
              R"({"text":"a\"b","whole":7,"part":-2.25,"yes":true,"none":null,"list":[1,0.5],)"
              R"("inner":{"x":3}})");
    EXPECT_EQ(struct_to_json(""), "{}");
}

TEST(StructToJson, NotANumberAndBottomlessDepthAreRefused) {
    EXPECT_FALSE(struct_to_json(entry("n", number(std::numeric_limits<double>::quiet_NaN()))));
    EXPECT_FALSE(struct_to_json(entry("n", number(std::numeric_limits<double>::infinity()))));
    std::string deep;
    for (int i = 0; i < 70; ++i) deep = entry("x", message(5, deep));
    EXPECT_FALSE(struct_to_json(deep));
    EXPECT_FALSE(struct_to_json("\x0a\x05"));
}

}  // namespace
}  // namespace crab::sw4rm
