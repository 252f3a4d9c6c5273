#include "core/pipeline/parsed_arguments.hpp"

#include "json/element.hpp"

#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

namespace crab::core {
namespace {

struct ParsedArgumentsTest : testing::Test {
    json::Parser shared, of_front;
    Call call;

    static std::optional<std::int64_t> n_of(const Result<json::Borrowed>& args) {
        if (!args) return std::nullopt;
        return json::get_int64(args->element(), "n");
    }
    ErrorCode code_of(std::string_view text) {
        call.args = text;
        const auto read = ParsedArguments(shared, call).read();
        EXPECT_FALSE(read) << text;
        return read ? ErrorCode::kInternal : read.error().code;
    }
};

TEST_F(ParsedArgumentsTest, WhatAnotherCallHasParsedOverIsReadAgain) {
    call.args = R"({"n":1})";
    Call other_call;
    other_call.args = R"({"n":2})";
    ParsedArguments args(shared, call), others(shared, other_call);

    const auto before = args.read();
    EXPECT_EQ(n_of(before), 1);
    EXPECT_EQ(n_of(others.read()), 2);
    EXPECT_THROW(static_cast<void>(before->element()), std::logic_error)
        << "what was read before the other call's is refused, not mistaken for it";
    EXPECT_EQ(n_of(args.read()), 1);
    EXPECT_EQ(n_of(others.read()), 2);
}

TEST_F(ParsedArgumentsTest, WhatIsStillThereIsNotParsedAgain) {
    call.args = R"({"n":1})";
    ParsedArguments args(shared, call);
    const auto first = args.read();
    const auto second = args.read();
    EXPECT_TRUE(first->holds());
    EXPECT_TRUE(second->holds());
}

TEST_F(ParsedArgumentsTest, WhatTheFrontHasReadIsUsedUntilTheFrontReadsOn) {
    call.args = R"({"n":1})";
    call.parsed_args = of_front.lend(of_front.parse(call.args)->element());
    ParsedArguments args(shared, call);
    EXPECT_FALSE(call.parsed_args) << "there is one owner";
    const auto by_front = args.read();
    EXPECT_EQ(n_of(by_front), 1);

    ASSERT_TRUE(of_front.parse(R"({"n":2})"));
    EXPECT_FALSE(by_front->holds());
    EXPECT_EQ(n_of(args.read()), 1);
}

TEST_F(ParsedArgumentsTest, AMessageSoLargeThatTheFrontGivesItsMemoryBackIsReadAgain) {
    const std::string large = R"({"n":1,"text":")" + std::string(3 << 20, 'x') + R"("})";
    call.args = large;
    call.parsed_args = of_front.lend(of_front.parse(call.args)->element());
    of_front.shrink();
    EXPECT_EQ(n_of(ParsedArguments(shared, call).read()), 1);
}

TEST_F(ParsedArgumentsTest, NothingAndNullStandForAnEmptyObject) {
    for (const std::string_view text : {"", "null", " null "}) {
        call.args = text;
        const auto read = ParsedArguments(shared, call).read();
        ASSERT_TRUE(read) << text;
        EXPECT_TRUE(read->element().is_object());
        EXPECT_EQ(call.args, "{}");
    }
}

TEST_F(ParsedArgumentsTest, WhatIsNoObjectOrHasANameTwiceIsRefusedEveryTime) {
    for (const std::string_view text :
         {"[1]", "7", R"("text")", "{", R"({"n":1,"n":2})", R"({"a":{"n":1,"n":2}})"})
        EXPECT_EQ(code_of(text), ErrorCode::kInvalidArgs);
    call.args = R"({"n":1,"n":2})";
    ParsedArguments args(shared, call);
    EXPECT_FALSE(args.read());
    EXPECT_FALSE(args.read()) << "a refusal is no reading";
}

TEST_F(ParsedArgumentsTest, ReplacedArgumentsAreReadAndCheckedAnew) {
    call.args = R"({"n":1})";
    call.body_type = "text/plain";
    call.body = "bytes";
    ParsedArguments args(shared, call);
    ASSERT_TRUE(args.read());
    args.replace(R"({"n":2})");
    EXPECT_EQ(call.args, R"({"n":2})");
    EXPECT_TRUE(call.body_type.empty() && call.body.empty());
    EXPECT_EQ(n_of(args.read()), 2);
    args.replace(R"({"n":3})");  // as long as the one before, in the same place
    EXPECT_EQ(n_of(args.read()), 3);
    args.replace(R"({"n":3,"n":4})");
    EXPECT_FALSE(args.read());
}

}  // namespace
}  // namespace crab::core
