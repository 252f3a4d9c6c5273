#include "store/sqlite/memory_store_sqlite.hpp"

#include "base/process/test_folder.hpp"
#include "store/memory/test_memory_steps.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

namespace crab::store::sqlite {
namespace {

using namespace memory;
using testing::ElementsAre;

class MemoryStoreTest : public testing::Test, protected MemorySteps {
protected:
    MemoryStoreTest() { reopen(); }
    ~MemoryStoreTest() override { store.reset(); }  // before its folder goes

    void reopen() {
        store.reset();
        store = std::move(
            MemoryStoreSqlite::open(folder / "memory.db", {.durability = Durability::kProcess}, 2)
                .value());
    }

    TestFolder folder;
};

TEST_F(MemoryStoreTest, AWriterThatDiedBeforeItsCommitLeavesNothingBehind) {
    add("kept");
    store.reset();
    {
        // What a process leaves that was killed: the file and its journal, copied while a
        // transaction is open.
        auto changes = std::move(MemoryChanges::open(folder / "memory.db", {}).value());
        auto open = std::move(Database::open(folder / "memory.db", {}).value());
        ASSERT_TRUE(open.execute("PRAGMA cache_size=1; PRAGMA cache_spill=1; BEGIN IMMEDIATE"));
        for (int i = 0; i < 500; ++i) {
            ASSERT_TRUE(
                open.run("INSERT INTO memory_content (row, created_ms, tags, metadata, text) "
                         "VALUES (?, 0, '[]', '{}', ?)",
                         std::int64_t{1'000'000 + i}, std::string(4'000, 'x')));
        }
        std::filesystem::create_directory(folder / "crashed");
        for (const char* suffix : {"", "-wal"})
            std::filesystem::copy_file(folder / fmt::format("memory.db{}", suffix),
                                       folder / fmt::format("crashed/memory.db{}", suffix));
        EXPECT_GT(std::filesystem::file_size(folder / "crashed/memory.db-wal"), 1'000'000u)
            << "the transaction has reached the disk";
    }
    store = std::move(MemoryStoreSqlite::open(folder / "crashed/memory.db").value());
    EXPECT_THAT(find(""), ElementsAre("kept"));
    EXPECT_THAT(find("kept"), ElementsAre("kept"));
    add("and more");
    EXPECT_THAT(find("more"), ElementsAre("and more"));
    auto check = Database::open(folder / "crashed/memory.db", {});
    auto rows = check->query("SELECT count(*) FROM memory_content").value();
    ASSERT_TRUE(rows.step().value());
    EXPECT_EQ(rows.integer(0), 2);
}

TEST_F(MemoryStoreTest, AFullDiskChangesNothingAndSaysSoToAll) {
    store = std::move(MemoryStoreSqlite::open(folder / "small.db", {.max_pages = 64}).value());
    add("kept");
    std::vector<MemoryWrite> batch;
    for (int i = 0; i < 20; ++i)
        batch.push_back(write_of(MemoryAppend{{entry(std::string(32'000, 'x'))}}));
    for (const auto& answer : store->write(batch)) {
        ASSERT_FALSE(answer);
        EXPECT_EQ(answer.error().code, ErrorCode::kUnavailable);
    }
    EXPECT_THAT(find(""), ElementsAre("kept"));
    add("still works");
    EXPECT_THAT(find("works"), ElementsAre("still works"));
}

}  // namespace
}  // namespace crab::store::sqlite
