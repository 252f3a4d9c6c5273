#pragma once

#include "base/result.hpp"
#include "hosts/memory/memory_host.hpp"
#include "sdk/tool_host/hosted_tools.hpp"
#include "store/sqlite/memory_store_sqlite.hpp"

#include <filesystem>

namespace crab::hosting {

/// memory.append, memory.query and memory.delete on one SQLite file.
class HostedMemory final : public sdk::HostedTools {
public:
    /// Opens or creates the store at `file`. Errors: those of MemoryStoreSqlite::open().
    static Result<std::unique_ptr<sdk::HostedTools>> open(const std::filesystem::path& file,
                                                          const Clock& clock);

    Result<void> register_in(core::Registry& registry) override;

private:
    HostedMemory(std::unique_ptr<store::sqlite::MemoryStoreSqlite> store, const Clock& clock);

    std::unique_ptr<store::sqlite::MemoryStoreSqlite> store_;
    IdSource ids_;
    BlockingPool pool_;
    memory::MemoryHost host_;
};

}  // namespace crab::hosting
