#pragma once

#include "core/audit_store.hpp"

namespace crab::sdk {

/// For a host that keeps nothing: whoever calls it has the record.
class NoAuditStore final : public core::AuditStore {
public:
    Result<void> append(const core::AuditBatch&) override { return {}; }
    Result<std::vector<std::string>> latest(std::size_t) override { return std::vector<std::string>(); }
    Result<std::optional<std::string>> find_call(std::string_view, SystemTime) override { return std::nullopt; }
    Result<core::AuditCheck> verify_chain() override { return core::AuditCheck{}; }
    Result<std::uint64_t> prune(SystemTime) override { return 0; }
};

}  // namespace crab::sdk
