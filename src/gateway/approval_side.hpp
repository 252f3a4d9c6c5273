#pragma once

#include "admin/approvals_api.hpp"
#include "base/id_source.hpp"
#include "config/gateway_config.hpp"
#include "core/approvals/approvals.hpp"
#include "core/audit/audit_log.hpp"
#include "core/events/event_outbox.hpp"
#include "gateway/hitl_side.hpp"
#include "store/sqlite/approval_store_sqlite.hpp"
#include "store/sqlite/device_tool_store_sqlite.hpp"
#include "trust/device_tools.hpp"

#include <filesystem>
#include <memory>
#include <mutex>
#include <string>

namespace crab::gateway {

/// Approvals of calls and of devices' new tools, wired: what holds is in trust.db, what happens is
/// told to who watches, the audit trail and the events.
class ApprovalSide final : private core::Approvals::Witness {
public:
    struct Services {
        const Clock& clock;
        BlockingPool& pool;
        core::AuditLog& audit;
        core::EventOutbox& outbox;
        std::string gateway_id;
    };
    /// The file has been checked before. Errors: those of the store.
    static Result<std::unique_ptr<ApprovalSide>> open(const std::filesystem::path& trust_db,
                                                      const config::ApprovalOptions& options,
                                                      Services services);
    ApprovalSide(const ApprovalSide&) = delete;
    ApprovalSide& operator=(const ApprovalSide&) = delete;

    void set_options(const config::ApprovalOptions& options);
    /// Asks sw4rm's HitlService too; before calls come. It outlives the last question.
    void also_ask(HitlSide& service) { hitl_ = &service; }
    void append_metrics(std::string& out) const;
    core::Approvals& approvals() { return *approvals_; }
    admin::ApprovalsApi& api() { return *api_; }
    trust::DeviceTools& device_tools() { return *device_tools_; }

private:
    ApprovalSide(std::unique_ptr<store::sqlite::ApprovalStoreSqlite> store,
                 std::unique_ptr<store::sqlite::DeviceToolStoreSqlite> tools, Services services)
        : store_(std::move(store)),
          tool_store_(std::move(tools)),
          services_(std::move(services)),
          ids_(services_.clock) {}
    void on_question(const core::ApprovalQuestion& question) override;
    void on_end(const core::ApprovalQuestion& question, const core::ApprovalEnd& end) override;
    void tell(std::string_view type, const core::ApprovalQuestion& question,
              const core::ApprovalEnd* end);

    std::unique_ptr<store::sqlite::ApprovalStoreSqlite> store_;
    std::unique_ptr<store::sqlite::DeviceToolStoreSqlite> tool_store_;
    Services services_;
    admin::ApprovalFeed feed_;
    std::mutex ids_mutex_;
    IdSource ids_;
    std::unique_ptr<core::Approvals> approvals_;
    HitlSide* hitl_ = nullptr;   ///< null: there is no such service
    std::unique_ptr<admin::ApprovalsApi> api_;
    std::unique_ptr<trust::DeviceTools> device_tools_;
};

}  // namespace crab::gateway
