#include "net/codec/http_range.hpp"

#include <gtest/gtest.h>

namespace crab::net {
namespace {

using Kind = RangeChoice::Kind;

void expect(std::string_view field, Kind kind, std::uint64_t first, std::uint64_t length) {
    const RangeChoice choice = choose_range(field, 1000);
    EXPECT_EQ(choice.kind, kind) << field;
    EXPECT_EQ(choice.first, first) << field;
    EXPECT_EQ(choice.length, length) << field;
}

TEST(HttpRange, OneRangeIsHonouredInAllItsForms) {
    expect("bytes=0-0", Kind::kPart, 0, 1);
    expect("bytes=100-199", Kind::kPart, 100, 100);
    expect("bytes=900-", Kind::kPart, 900, 100);
    expect("bytes=900-5000", Kind::kPart, 900, 100);
    expect("bytes=-1", Kind::kPart, 999, 1);
    expect("bytes=-5000", Kind::kPart, 0, 1000);
}

TEST(HttpRange, ARangeBehindTheEndCannotBeHad) {
    expect("bytes=1000-", Kind::kUnsatisfiable, 0, 0);
    expect("bytes=-0", Kind::kUnsatisfiable, 0, 0);
    EXPECT_EQ(choose_range("bytes=0-", 0).kind, Kind::kUnsatisfiable);
    EXPECT_EQ(content_range(choose_range("bytes=1000-", 1000), 1000), "bytes */1000");
}

TEST(HttpRange, WhatIsMalformedOrMoreThanOneIsIgnored) {
    for (const std::string_view field :
         {"", "bytes", "bytes=", "bytes=a-b", "bytes=5-2", "bytes=0-1,5-6", "items=0-1", "bytes=1",
          "bytes=--1", "bytes=99999999999999999999-"}) {
        expect(field, Kind::kWhole, 0, 1000);
    }
}

TEST(HttpRange, ContentRangeNamesFirstLastAndSize) {
    EXPECT_EQ(content_range(choose_range("bytes=100-199", 1000), 1000), "bytes 100-199/1000");
}

TEST(DigestField, TheSha256IsFoundAmongOthers) {
    const std::string hex = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    EXPECT_EQ(sha256_of_digest_field("sha-256=:ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=:"),
              hex);
    EXPECT_EQ(sha256_of_digest_field(
                  "sha-512=:AAAA:, sha-256=:ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=:"),
              hex);
    for (const std::string_view field :
         {"", "sha-256=", "sha-256=::", "sha-256=:AAAA:", "sha-256=:!:", "md5=:AAAA:", ","})
        EXPECT_EQ(sha256_of_digest_field(field), "") << field;
}

}  // namespace
}  // namespace crab::net
