#include "store/postgres/owed_changes.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <variant>

namespace crab::store::postgres {
namespace {

core::LedgerEnd end_with(std::uint64_t number, std::size_t bytes) {
    core::ToolResult result;
    result.content = std::string(bytes, 'x');
    return {core::LedgerRef{.low = number},
            std::make_shared<const core::Outcome>(std::move(result)),
            {}};
}

TEST(OwedChangesTest, TheOldestAreTakenFirstAndStayUntilTheyAreRemoved) {
    OwedChanges owed;
    for (std::uint64_t i = 1; i <= 3; ++i) EXPECT_TRUE(owed.add(end_with(i, 1)));
    EXPECT_TRUE(owed.add(core::LedgerRelease{core::LedgerRef{.low = 4}}));
    ASSERT_EQ(owed.oldest(2).size(), 2u);
    EXPECT_EQ(std::get<core::LedgerEnd>(owed.oldest(2)[0]).ref.low, 1u);
    EXPECT_EQ(owed.size(), 4u);
    owed.remove_oldest(3);
    ASSERT_EQ(owed.oldest(2).size(), 1u);
    EXPECT_EQ(std::get<core::LedgerRelease>(owed.oldest(2)[0]).ref.low, 4u);
}

TEST(OwedChangesTest, LongOutcomesComeInSmallerBatchesAndThereIsNoEndlessRoom) {
    constexpr std::size_t kLong = OwedChanges::kMostBytes / 8;
    OwedChanges owed;
    std::uint64_t added = 0;
    while (owed.add(end_with(added + 1, kLong))) ++added;
    EXPECT_EQ(added, 7u);
    EXPECT_EQ(owed.dropped(), 1u);
    EXPECT_EQ(owed.oldest(100).size(), 1u) << "one at least, however long";
    owed.remove_oldest(added);
    EXPECT_TRUE(owed.empty());
    EXPECT_TRUE(owed.add(end_with(1, kLong))) << "there is room again";
}

}  // namespace
}  // namespace crab::store::postgres
