#include "hosts/memory/query_terms.hpp"

#include <ostream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace crab::memory {

void PrintTo(const QueryTerm& term, std::ostream* out) {
    *out << (term.excluded ? "-" : "") << static_cast<int>(term.kind) << "(" << term.text << ")";
}

namespace {

using testing::ElementsAreArray;

QueryTerm plain(std::string text) { return {.text = std::move(text), .kind = TermKind::kPlain}; }
QueryTerm prefix(std::string text) { return {.text = std::move(text), .kind = TermKind::kPrefix}; }
QueryTerm phrase(std::string text) { return {.text = std::move(text), .kind = TermKind::kPhrase}; }
QueryTerm without(QueryTerm term) {
    term.excluded = true;
    return term;
}

struct Row {
    std::string_view query;
    std::vector<QueryTerm> terms;
};

TEST(QueryTerms, WhatCallersTypeIsReadSo) {
    using namespace std::string_view_literals;
    const Row rows[] = {
        {"", {}},
        {" \t\n ", {}},
        {"red", {plain("red")}},
        {" red  car ", {plain("red"), plain("car")}},
        {"\"red car\"", {phrase("red car")}},
        {"fast \"red car\" today", {plain("fast"), phrase("red car"), plain("today")}},
        {"car*", {prefix("car")}},
        {"car**", {prefix("car")}},
        {"-car", {without(plain("car"))}},
        {"-car*", {without(prefix("car"))}},
        {"-\"red car\"", {without(phrase("red car"))}},
        {"red\"blue car\"", {plain("red"), phrase("blue car")}},
        {"\"red car\"*", {phrase("red car"), plain("*")}},
        // Plain text, whatever FTS5 or another language would make of it.
        {"\"red car", {plain("\"red"), plain("car")}},
        {"red\" car", {plain("red\""), plain("car")}},
        {"\"\"", {phrase("")}},
        {"-", {plain("-")}},
        {"- red", {plain("-"), plain("red")}},
        {"--red", {plain("--red")}},
        {"well-known", {plain("well-known")}},
        {"c*r", {plain("c*r")}},
        {"*", {plain("*")}},
        {"-*", {without(plain("*"))}},
        {"*car", {plain("*car")}},
        {"red AND car", {plain("red"), plain("AND"), plain("car")}},
        {"NEAR(a b, 2)", {plain("NEAR(a"), plain("b,"), plain("2)")}},
        {"text:red", {plain("text:red")}},
        {"{a b}:c ^d e+f", {plain("{a"), plain("b}:c"), plain("^d"), plain("e+f")}},
        {"'; DROP TABLE", {plain("';"), plain("DROP"), plain("TABLE")}},
        {"a\0b"sv, {plain("a"), plain("b")}},
        {"\"a\0b\""sv, {phrase("a b")}},
    };
    for (const Row& row : rows)
        EXPECT_THAT(parse_query_terms(row.query), ElementsAreArray(row.terms)) << row.query;
}

}  // namespace
}  // namespace crab::memory
