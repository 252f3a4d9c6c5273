#include "adapters/clawseed/frame_scan.hpp"

#include <gtest/gtest.h>

namespace crab::clawseed {
namespace {

FrameScan scanned(std::string_view frame, std::size_t piece = 1) {
    FrameScan scan;
    for (std::size_t at = 0; at < frame.size(); at += piece) scan.feed(frame.substr(at, piece));
    return scan;
}

TEST(FrameScanTest, TypeAndIdAreFoundWhereverTheyStand) {
    const std::string large(100'000, 'x');
    for (const std::string& frame : std::initializer_list<std::string>{
             R"({"type":"tool_result","id":"a-1","output":")" + large + R"("})",
             R"({ "output" : {"id":"no","type":"no","x":[{"id":"no"}]} , "id" : "a-1",)"
             R"("more":"\"id\":\"no\"","type":"tool_result"})",
             R"({"output":"\\","id":"a-1","type":"tool_result","id":"second"})"}) {
        for (const std::size_t piece : {std::size_t{1}, std::size_t{7}, frame.size()}) {
            const FrameScan scan = scanned(frame, piece);
            EXPECT_EQ(scan.type(), "tool_result");
            EXPECT_EQ(scan.id(), "a-1");
        }
    }
}

TEST(FrameScanTest, WhatIsNoSuchMemberIsNotFound) {
    for (const std::string_view frame :
         {R"(["type","tool_result","id","a"])", R"({"x":{"type":"a","id":"b"}})",
          R"({"type":1,"id":null})", R"("type")", R"({"id":"a\u0041"})", "}}}]]"}) {
        const FrameScan scan = scanned(frame);
        EXPECT_EQ(scan.type() + scan.id(), "") << frame;
    }
    EXPECT_TRUE(scanned(R"( {"output":")" + std::string(200, 'x')).in_object());
    for (const std::string_view none : {"", "   ", "xxx", "\"{", "{} "})
        EXPECT_FALSE(scanned(none).in_object()) << none;
    EXPECT_EQ(scanned(R"({"id":")" + std::string(200, 'x') + R"("})").id(), "");
}

}  // namespace
}  // namespace crab::clawseed
