#include "core/approvals/asked_question.hpp"

#include "json/parser.hpp"

#include <gtest/gtest.h>

namespace crab::core {
namespace {

Result<AskedQuestion> question_of(std::string_view args) {
    json::Parser parser;
    return read_question(parser.parse(args)->element());
}

Result<std::string> response_of(const AskedQuestion& question, std::string_view response) {
    json::Parser parser;
    return read_response(question, parser.parse(response)->element());
}

TEST(AskedQuestion, HasAKindAQuestionAndOptionsForSelectionsAlone) {
    EXPECT_TRUE(question_of(R"({"type":"text","question":"Name?","placeholder":"Ada"})"));
    EXPECT_TRUE(question_of(
        R"({"type":"multi_select","question":"Which?","options":[{"id":"a","label":"A",)"
        R"("description":"d"}]})"));
    for (const std::string& bad :
         {std::string(R"({})"), std::string(R"({"type":"maybe","question":"?"})"),
          std::string(R"({"type":"text","question":""})"),
          R"({"type":"text","question":")" + std::string(501, 'x') + "\"}",
          std::string(R"({"type":"text","question":"?","options":[{"id":"a","label":"A"}]})"),
          std::string(R"({"type":"single_select","question":"?"})"),
          std::string(R"({"type":"single_select","question":"?","options":[{"id":"a"}]})"),
          std::string(R"({"type":"single_select","question":"?","options":[{"id":"a","label":"A"},)"
                      R"({"id":"a","label":"B"}]})")}) {
        EXPECT_FALSE(question_of(bad)) << bad;
    }
}

TEST(AskedQuestion, TakesOnlyAnswersThatWereOffered) {
    const AskedQuestion one =
        question_of(
            R"({"type":"single_select","question":"?","options":[{"id":"a","label":"A"},{"id":"b",)"
            R"("label":"B"}]})")
            .value();
    EXPECT_EQ(response_of(one, R"({"status":"accepted","answer":"b"})").value(),
              R"({"status":"accepted","answer":"b"})");
    EXPECT_EQ(response_of(one, R"({"status":"declined","answer":null})").value(),
              R"({"status":"declined"})");
    for (const char* bad : {R"({"status":"accepted"})", R"({"status":"accepted","answer":"c"})",
                            R"({"status":"accepted","answer":["a"]})",
                            R"({"status":"declined","answer":"a"})", R"({"status":"yes"})", "{}"}) {
        EXPECT_FALSE(response_of(one, bad)) << bad;
    }
    AskedQuestion many = one;
    many.kind = AskedQuestion::Kind::kMultiSelect;
    EXPECT_TRUE(response_of(many, R"({"status":"accepted","answer":["b","a"]})"));
    EXPECT_TRUE(response_of(many, R"({"status":"accepted","answer":[]})"));
    EXPECT_FALSE(response_of(many, R"({"status":"accepted","answer":["a","a"]})"));
    const AskedQuestion sure = question_of(R"({"type":"confirm","question":"Sure?"})").value();
    EXPECT_TRUE(response_of(sure, R"({"status":"accepted","answer":true})"));
    EXPECT_FALSE(response_of(sure, R"({"status":"accepted","answer":false})"));
    const AskedQuestion text = question_of(R"({"type":"text","question":"Name?"})").value();
    EXPECT_EQ(response_of(text, R"({"status":"accepted","answer":"Ada \"L\""})").value(),
              R"({"status":"accepted","answer":"Ada \"L\""})");
    EXPECT_FALSE(
        response_of(text, R"({"status":"accepted","answer":")" + std::string(1'001, 'x') + "\"}"));
}

}  // namespace
}  // namespace crab::core
