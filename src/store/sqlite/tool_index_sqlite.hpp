#pragma once

#include "base/ordered_mutex.hpp"
#include "core/registry/tool_index.hpp"
#include "store/sqlite/database.hpp"

#include <list>

namespace crab::store::sqlite {

/// core::ToolIndex by FTS5 in memory, ranked by BM25 with names above descriptions. Words match by
/// their stem and their beginning.
class ToolIndexSqlite final : public core::ToolIndex {
public:
    static constexpr std::size_t kMostCatalogs = 8;   ///< that are kept

    Result<std::vector<std::string>> find(const std::shared_ptr<const core::ToolCatalog>& catalog,
                                          std::string_view words, std::size_t most) override;

private:
    struct Index {
        std::shared_ptr<const core::ToolCatalog> catalog;
        Database database;
    };
    Result<Index*> index_of(const std::shared_ptr<const core::ToolCatalog>& catalog);

    OrderedMutex<LockRank::kStore> mutex_;
    std::list<Index> indexes_;   ///< the last that was used first
};

}  // namespace crab::store::sqlite
