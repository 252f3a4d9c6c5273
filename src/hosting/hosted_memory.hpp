#pragma once

#include "base/result.hpp"
#include "hosts/memory/memory_host.hpp"
#include "hosts/memory/memory_store.hpp"
#include "sdk/tool_host/hosted_tools.hpp"

#include <filesystem>
#include <memory>

namespace crab::hosting {

/// memory.append, memory.query and memory.delete on a store.
class HostedMemory final : public sdk::HostedTools {
public:
    using Store = Result<std::unique_ptr<memory::MemoryStore>>;

    /// On this store; an error of opening it is handed on.
    static Result<std::unique_ptr<sdk::HostedTools>> open(Store store, const Clock& clock);
    /// Opens or creates an SQLite file. Errors: those of MemoryStoreSqlite::open().
    static Result<std::unique_ptr<sdk::HostedTools>> open(const std::filesystem::path& file,
                                                          const Clock& clock);

    Result<void> register_in(core::Registry& registry) override;

private:
    HostedMemory(std::unique_ptr<memory::MemoryStore> store, const Clock& clock);

    std::unique_ptr<memory::MemoryStore> store_;
    IdSource ids_;
    BlockingPool pool_;
    memory::MemoryHost host_;
};

}  // namespace crab::hosting
