// The promises about memory, counted: this file replaces the allocator of the whole test program.

#include "json/parser.hpp"
#include "json/schema/schema.hpp"
#include "json/writer.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <new>

#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || \
    __has_feature(memory_sanitizer)
#define CRAB_COUNTS_ALLOCATIONS 0  // the sanitizer has replaced the allocator already
#else
#define CRAB_COUNTS_ALLOCATIONS 1
#endif

namespace {
thread_local std::size_t allocations = 0;
}

#if CRAB_COUNTS_ALLOCATIONS
void* operator new(std::size_t size) {
    ++allocations;
    if (void* memory = std::malloc(size)) return memory;
    throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
#endif

namespace crab::json {
namespace {

constexpr std::string_view kMessage =
    R"({"type":"call","id":"c1","args":{"room":"kitchen","level":70,"tags":["a","b"]},)"
    R"("timeout_ms":5000})";

TEST(Allocations, AreCountedHere) {
    if (!CRAB_COUNTS_ALLOCATIONS)
        GTEST_SKIP()
            << "a sanitizer owns the allocator, so the other cases of this file prove nothing";
    const std::size_t before = allocations;
    EXPECT_TRUE(std::make_unique<int>(1));
    EXPECT_GT(allocations, before);
}

TEST(Allocations, AWarmParserMakesNone) {
    Parser parser;
    ASSERT_TRUE(parser.parse(kMessage));
    const std::size_t before = allocations;
    for (int i = 0; i < 100; ++i) {
        const auto root = parser.parse(kMessage);
        ASSERT_TRUE(root->raw_member("args") && !has_duplicate_members(root->element()));
    }
    EXPECT_EQ(allocations, before);
}

TEST(Allocations, TheNamesOfALargeObjectAreNotKept) {
    std::string text = "{";
    for (int i = 0; i < 200'000; ++i) text += "\"k" + std::to_string(i) + "\":1,";
    Parser parser;
    EXPECT_FALSE(parser.parse(text + "\"last\":1}")->repeats_names());
    parser.shrink();
    Parser small;
    text.resize(0);
    for (int i = 0; i < 30; ++i) text += "\"k" + std::to_string(i) + "\":1,";
    text = "{" + text + "\"k7\":1}";
    ASSERT_TRUE(small.parse(text)->repeats_names());
    const std::size_t before = allocations;
    ASSERT_TRUE(small.parse(text)->repeats_names());
    EXPECT_EQ(allocations, before) << "those of a small one are";
}

TEST(Allocations, CheckingOrdinaryArgumentsMakesNone) {
    const auto schema = Schema::compile(
        R"({"type":"object","properties":{"type":{"enum":["call","other"]},)"
        R"("id":{"pattern":"^c[0-9]+$"},
        "args":{"properties":{"room":{"type":"string","maxLength":20},"level":{"type":"integer",)"
        R"("maximum":100},"tags":{"items":{"type":"string"},"uniqueItems":true}},
        "required":["room"],"additionalProperties":false},"timeout_ms":{"anyOf":[{"type":"null"},)"
        R"({"type":"integer"}]}},"required":["id"],"unevaluatedProperties":false})");
    ASSERT_TRUE(schema) << schema.error().message;
    Parser parser;
    const auto root = parser.parse(kMessage);
    ASSERT_TRUE((*schema)->is_valid(root->element()));
    const std::size_t before = allocations;
    for (int i = 0; i < 100; ++i) ASSERT_TRUE((*schema)->is_valid(root->element()));
    EXPECT_EQ(allocations, before);
}

TEST(Allocations, AWriterOnlyLetsItsStringGrow) {
    std::string out;
    out.reserve(512);
    const std::size_t before = allocations;
    Writer(out)
        .begin_object()
        .key("type")
        .string("call\n")
        .key("n")
        .number(0.1)
        .key("args")
        .raw("{}")
        .end_object();
    EXPECT_EQ(allocations, before);
}

}  // namespace
}  // namespace crab::json
