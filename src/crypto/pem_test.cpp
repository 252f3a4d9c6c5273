#include "crypto/pem.hpp"

#include <gtest/gtest.h>

namespace crab::crypto {
namespace {

TEST(PemTest, ABlockReadsBackAndHasShortLines) {
    const std::string bytes(100, '\x5a');
    const std::string pem = encode_pem("THING", bytes);
    EXPECT_EQ(decode_pem(pem, "THING"), bytes);
    EXPECT_EQ(decode_pem("\r\n " + pem + "\n\n", "THING"), bytes);
    EXPECT_EQ(pem.find('\n', pem.find('\n') + 1) - pem.find('\n'), 65u);
}

TEST(PemTest, AnythingBesideOneBlockIsRefused) {
    const std::string pem = encode_pem("THING", "abc");
    for (const std::string& bad :
         {std::string(), "x" + pem, pem + "x", pem + pem, pem.substr(0, pem.size() - 3),
          encode_pem("OTHER", "abc"), encode_pem("THING", ""),
          std::string("-----BEGIN THING-----END THING-----"),
          std::string(
              "-----BEGIN THING-----\nProc-Type: 4,ENCRYPTED\n\nYWJj\n-----END THING-----\n"),
          std::string("-----BEGIN THING-----\nYWJ\n-----END THING-----\n")}) {
        EXPECT_FALSE(decode_pem(bad, "THING")) << bad;
    }
}

}  // namespace
}  // namespace crab::crypto
