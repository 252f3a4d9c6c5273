#include "core/call/content_digest.hpp"

#include "core/call/test_tools.hpp"
#include "json/parser.hpp"

#include <map>
#include <vector>

#include <gtest/gtest.h>

namespace crab::core {
namespace {

struct ContentDigestTest : testing::Test {
    std::string canonical(std::string_view text) {
        std::string out;
        append_canonical(out, parser.parse(text).value().element(), text);
        return out;
    }
    ContentDigest digest(const Call& call, const Tool& tool, std::string_view place = {}) {
        return digest_of(call, tool, place, parser.parse(call.args).value().element());
    }

    json::Parser parser;
};

TEST_F(ContentDigestTest, TheSameWrittenOtherwiseIsTheSame) {
    const std::string one = canonical(R"({"a":3,"b":["x",{"c":null,"d":-0.5}],"e":"é/\n"})");
    for (const char* other :
         {R"({"b":["x",{"d":-0.5,"c":null}],"e":"é/\n","a":3})",
          R"( { "a" : 3.0 , "b" : [ "x" , { "c" : null , "d" : -5e-1 } ] ,)"
          R"( "e" : "\u00e9\/\u000a" } )",
          R"({"a":30E-1,"b":["\u0078",{"c":null,"d":-0.50}],"e":"\u00E9/\n"})"}) {
        EXPECT_EQ(canonical(other), one) << other;
    }
    EXPECT_EQ(canonical(R"([0,-0,0.0,0e9])"), canonical(R"([0,0,0,0])"));
    EXPECT_EQ(canonical(R"([1e2,0.1,120])"), canonical(R"([100,1e-1,1.2E+2])"));
}

TEST_F(ContentDigestTest, WhatAToolCouldTellApartIsNotTheSame) {
    const char* const kDistinct[] = {
        R"({})", R"([])", R"({"a":1})", R"({"a":"1"})", R"({"a":true})", R"({"a":null})",
        R"({"a":[1]})", R"({"b":1})", R"({"a":1,"b":1})", R"({"a":{"b":1}})", R"([[],[]])",
        R"([[[]]])", R"([1,2])", R"([12])", R"([2,1])", R"(["1,2"])", R"(["ab","c"])",
        R"(["a","bc"])", R"([1e2])", R"([1e-2])", R"([-1])", R"([10])",
                                     // No double holds these.
        R"([9007199254740993])", R"([9007199254740992])", R"([10000000000000000000001])",
        R"([10000000000000000000002])", R"([0.1])", R"([0.1000000000000000000001])", R"([1e-400])",
        R"([2e-400])", R"([1e-9999999999999999999])"};
    std::map<std::string, std::string> seen;
    for (const char* text : kDistinct) {
        const auto [before, fresh] = seen.emplace(canonical(text), text);
        EXPECT_TRUE(fresh) << text << " and " << before->second;
    }
}

TEST_F(ContentDigestTest, NumbersAreFoundBesideStringsThatLookLikeThem) {
    EXPECT_NE(canonical(R"({"-1\"2":10000000000000000000001,"x":"3\\"})"),
              canonical(R"({"-1\"2":10000000000000000000002,"x":"3\\"})"));
    EXPECT_EQ(canonical(R"({"x":"3\\","-1\"2":10000000000000000000001})"),
              canonical(R"({"-1\"2":10000000000000000000001,"x":"3\\"})"));
    EXPECT_NE(canonical(R"({"a":1,"b":2})"), canonical(R"({"b":1,"a":2})"));
    EXPECT_EQ(canonical(R"({"a":1,"b":2})"), canonical(R"({"b":2,"a":1})"));
}

TEST_F(ContentDigestTest, LongObjectsStandAsTheirDigests) {
    const std::string filler(5000, 'x');
    const auto nested = [&](std::string_view end) {
        std::string text = R"({"z":")" + filler + R"(","a":[)" + std::string(end) + "]}";
        for (int i = 0; i < 50; ++i) text = R"({"in":)" + text + R"(,"and":")" + filler + R"("})";
        return text;
    };
    EXPECT_LT(canonical(nested("1")).size(), 100u);
    EXPECT_EQ(canonical(nested("1")), canonical(nested("1.0")));
    EXPECT_NE(canonical(nested("1")), canonical(nested("2")));
}

TEST_F(ContentDigestTest, CountsToolSourcePlaceBodyAgentAndScope) {
    Tool tool;
    tool.spec.name = "run";
    tool.set_source({.kind = SourceKind::kDevice, .name = "phone", .owner = {}, .connection = {}});
    Call call;
    call.args = R"({"x":1})";
    std::vector<ContentDigest> all{digest(call, tool), digest(call, tool, "garden/main")};
    const auto with = [&](std::string_view Call::* member, std::string_view value) {
        Call other;
        other.args = call.args;
        other.*member = value;
        all.push_back(digest(other, tool));
    };
    with(&Call::body_type, "text/plain");
    with(&Call::body, "rm");
    with(&Call::args, R"({"x":2})");
    Call agent, scope;
    agent.args = scope.args = call.args;
    agent.context.agent_id = "butler";
    scope.context.isolation_key = "butler";
    all.push_back(digest(agent, tool));
    all.push_back(digest(scope, tool));
    tool.set_source({.kind = SourceKind::kDevice, .name = "other", .owner = {}, .connection = {}});
    all.push_back(digest(call, tool));
    tool.set_source({.kind = SourceKind::kPeer, .name = "other", .owner = {}, .connection = {}});
    all.push_back(digest(call, tool));
    for (std::size_t i = 0; i < all.size(); ++i) {
        for (std::size_t j = i + 1; j < all.size(); ++j) EXPECT_NE(all[i], all[j]) << i << " " << j;
    }
}

TEST_F(ContentDigestTest, IsStoredWithItsKind) {
    EXPECT_EQ(to_stored(crypto::sha256("abc")),
              "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

}  // namespace
}  // namespace crab::core
