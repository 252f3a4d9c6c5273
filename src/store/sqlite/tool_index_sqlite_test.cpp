#include "store/sqlite/tool_index_sqlite.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <utility>

#include <fmt/format.h>

namespace crab::store::sqlite {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

std::shared_ptr<const core::ToolCatalog> catalog_of(std::vector<core::ToolCatalog::Entry> entries) {
    return std::make_shared<const core::ToolCatalog>(
        core::ToolCatalog{.entries = std::move(entries)});
}

const std::shared_ptr<const core::ToolCatalog> kTools = catalog_of(
    {{.name = "phone__sms.send", .description = "Send a text message to a number"},
     {.name = "readThermometer", .description = "Room temperature in Celsius"},
     {.name = "mail.list", .description = "Lists messages of a mailbox; they can be sent on"},
     {.name = "camera", .description = "Takes a picture with the camera of the phone"}});

std::vector<std::string> found(ToolIndexSqlite& index, std::string_view words,
                               std::size_t most = 10) {
    return index.find(kTools, words, most).value();
}

TEST(ToolIndexSqlite, FindsByWordsOfNamesAndDescriptionsNamesFirst) {
    ToolIndexSqlite index;
    EXPECT_THAT(found(index, "send a message"),
                ElementsAre("phone__sms.send", "mail.list", "camera"));
    EXPECT_THAT(found(index, "thermometer"), ElementsAre("readThermometer"));
    EXPECT_THAT(found(index, "phone"), ElementsAre("phone__sms.send", "camera"));
    EXPECT_THAT(found(index, "phone", 1), ElementsAre("phone__sms.send"));
}

TEST(ToolIndexSqlite, WordsMatchByStemBeginningAndWithoutAccents) {
    ToolIndexSqlite index;
    EXPECT_THAT(found(index, "sending"), UnorderedElementsAre("phone__sms.send"));
    EXPECT_THAT(found(index, "temper"), ElementsAre("readThermometer"));
    EXPECT_THAT(found(index, "Célsius"), ElementsAre("readThermometer"));
}

TEST(ToolIndexSqlite, NoTextIsReadAsSyntax) {
    ToolIndexSqlite index;
    for (const char* text : {"", "\"", "AND OR NOT", "name:", "(", "*", "a* ^b -c", "NEAR(",
                             "\"); DROP TABLE tool; --", "\xff\xfe"})
        EXPECT_TRUE(index.find(kTools, text, 5)) << text;
    EXPECT_THAT(found(index, " - * \" "), IsEmpty());
}

TEST(ToolIndexSqlite, EqualCatalogsAreIndexedOnceAndOldOnesAreDropped) {
    // an index keeps the catalog that it was made from
    ToolIndexSqlite index;
    auto tools = std::make_shared<const core::ToolCatalog>(*kTools);
    auto equal = std::make_shared<const core::ToolCatalog>(*kTools);
    EXPECT_TRUE(index.find(tools, "mail", 3));
    EXPECT_TRUE(index.find(equal, "mail", 3));
    const std::weak_ptr of_first = std::exchange(tools, nullptr);
    const std::weak_ptr of_equal = std::exchange(equal, nullptr);
    EXPECT_FALSE(of_first.expired());
    EXPECT_TRUE(of_equal.expired()) << "it was found in the index of the first";
    for (std::size_t i = 0; i < ToolIndexSqlite::kMostCatalogs; ++i) {
        EXPECT_THAT(index
                        .find(catalog_of({{.name = fmt::format("tool{}", i), .description = ""}}),
                              "tool", 3)
                        .value(),
                    ElementsAre(fmt::format("tool{}", i)));
    }
    EXPECT_TRUE(of_first.expired()) << "the one that was not used for longest";
    EXPECT_THAT(found(index, "mailbox"), ElementsAre("mail.list"));
}

}  // namespace
}  // namespace crab::store::sqlite
