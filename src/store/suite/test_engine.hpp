#pragma once

#include "base/process/test_folder.hpp"
#include "store/sqlite/stores_sqlite.hpp"
#ifdef CRAB_POSTGRES
#include "store/postgres/stores_postgres.hpp"
#include "store/postgres/test_cluster.hpp"
#endif

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

namespace crab::store {

/// An engine that a test has for itself, empty at first.
class TestEngine {
public:
    virtual ~TestEngine() = default;
    /// They open what is there: a second time, as a process that has started again.
    virtual Stores& stores() = 0;
    TrustStores& trust() { return stores(); }
    RecordStores& records() { return stores(); }
};

class TestEngineSqlite final : public TestEngine {
public:
    Stores& stores() override { return stores_; }

private:
    TestFolder folder_;
    sqlite::StoresSqlite stores_{folder_.path()};
};

#ifdef CRAB_POSTGRES
class TestEnginePostgres final : public TestEngine {
public:
    Stores& stores() override { return *stores_; }

private:
    static std::unique_ptr<postgres::StoresPostgres> open() {
        return postgres::StoresPostgres::open(
                   {.database = postgres::TestCluster::find()->new_database(),
                    .fleet = "test",
                    .node = 1,
                    .node_name = "one"})
            .value();
    }

    const std::unique_ptr<postgres::StoresPostgres> stores_ = open();
};
#endif

struct EngineKind {
    std::string_view name;
    std::unique_ptr<TestEngine> (*make)();
    friend void PrintTo(const EngineKind& kind, std::ostream* out) { *out << kind.name; }
};

/// SQLite; with CRAB_TEST_POSTGRES in the environment PostgreSQL instead, which all tests of one
/// process share a server of.
inline std::vector<EngineKind> engine_kinds() {
#ifdef CRAB_POSTGRES
    if (std::getenv("CRAB_TEST_POSTGRES") != nullptr) {
        if (postgres::TestCluster::find() == nullptr) std::exit(77);  // to ctest: skipped
        return {{"postgres", [] { return std::unique_ptr<TestEngine>(new TestEnginePostgres); }}};
    }
#endif
    return {{"sqlite", [] { return std::unique_ptr<TestEngine>(new TestEngineSqlite); }}};
}

/// These, and the store in memory that other tests use, which is no engine.
inline std::vector<EngineKind> engine_kinds_and_memory() {
    std::vector<EngineKind> kinds = engine_kinds();
    kinds.push_back({"memory", nullptr});
    return kinds;
}

/// The base of a suite that each engine passes.
class StoreSuite : public testing::TestWithParam<EngineKind> {
protected:
    TestEngine& engine() { return *engine_; }
    bool in_memory() const { return engine_ == nullptr; }

private:
    const std::unique_ptr<TestEngine> engine_ =
        GetParam().make != nullptr ? GetParam().make() : nullptr;
};

inline std::string name_of_engine(const testing::TestParamInfo<EngineKind>& info) {
    return std::string(info.param.name);
}

}  // namespace crab::store

#define CRAB_EACH_ENGINE(suite)                                                       \
    INSTANTIATE_TEST_SUITE_P(Stores, suite, testing::ValuesIn(store::engine_kinds()), \
                             store::name_of_engine)
#define CRAB_EACH_ENGINE_AND_MEMORY(suite)                                                       \
    INSTANTIATE_TEST_SUITE_P(Stores, suite, testing::ValuesIn(store::engine_kinds_and_memory()), \
                             store::name_of_engine)
