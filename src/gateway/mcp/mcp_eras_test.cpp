#include "gateway/mcp/mcp_eras.hpp"

#include "base/process/test_folder.hpp"

#include <gtest/gtest.h>

#include <fstream>

namespace crab::gateway {
namespace {

constexpr mcp::FoundEra kLegacy{mcp::FoundEra::Form::kLegacy, mcp::Revision::k2025_06_18};

TEST(McpEras, WhatWasFoundIsKnownAtTheNextStartForTheSameServer) {
    const TestFolder folder;
    config::McpServerOptions server, other;
    server.command = other.command = "npx";
    other.args = {"something else"};
    {
        McpEras eras(folder / "eras.json");
        EXPECT_FALSE(eras.find("one", server));
        eras.keep("one", server, kLegacy);
    }
    const McpEras eras(folder / "eras.json");
    EXPECT_EQ(eras.find("one", server), kLegacy);
    EXPECT_FALSE(eras.find("one", other));
    EXPECT_FALSE(eras.find("two", server));
}

TEST(McpEras, AFileThatSaysNothingIsNoObstacle) {
    const TestFolder folder;
    for (const char* const text :
         {"", "[1]", R"({"one":7})", R"({"one":{"server":"","form":"old","version":"x"}})"}) {
        std::ofstream(folder / "eras.json") << text;
        McpEras eras(folder / "eras.json");
        EXPECT_FALSE(eras.find("one", {})) << text;
    }
}

}  // namespace
}  // namespace crab::gateway
