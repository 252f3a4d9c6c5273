#include "gateway/approval_side.hpp"

#include "adapters/rtp/events/approval_event.hpp"
#include "admin/approvals_wire.hpp"
#include "base/log.hpp"
#include "core/audit/metrics.hpp"

#include <fmt/format.h>

namespace crab::gateway {
namespace {

core::Approvals::Options to_options(const config::ApprovalOptions& options) {
    using Unattended = core::Approvals::Unattended;
    return {.wait = options.wait,
            .max_parked = options.max_waiting,
            .max_parked_per_principal = options.max_waiting_per_principal,
            .unattended = options.unattended == config::UnattendedRule::kWait
                              ? Unattended::kWait
                              : Unattended::kRefuse};
}

}  // namespace

Result<std::unique_ptr<ApprovalSide>> ApprovalSide::open(const std::filesystem::path& trust_db,
                                                         const config::ApprovalOptions& options,
                                                         Services services) {
    auto store = store::sqlite::ApprovalStoreSqlite::open(
        trust_db, {.check = store::sqlite::StartCheck::kNone});
    if (!store) return fail(std::move(store.error()));
    auto tool_store = store::sqlite::DeviceToolStoreSqlite::open(
        trust_db, {.check = store::sqlite::StartCheck::kNone});
    if (!tool_store) return fail(std::move(tool_store.error()));
    std::unique_ptr<ApprovalSide> side(
        new ApprovalSide(std::move(*store), std::move(*tool_store), std::move(services)));
    auto device_tools = trust::DeviceTools::load(*side->tool_store_);
    if (!device_tools) return fail(std::move(device_tools.error()));
    side->device_tools_ = std::move(*device_tools);
    auto approvals = core::Approvals::load(*side->store_, side->services_.clock,
                                           to_options(options), side.get());
    if (!approvals) return fail(std::move(approvals.error()));
    side->approvals_ = std::move(*approvals);
    side->api_ =
        std::make_unique<admin::ApprovalsApi>(*side->approvals_, side->feed_, side->services_.pool);
    return side;
}

void ApprovalSide::set_options(const config::ApprovalOptions& options) {
    approvals_->set_options(to_options(options));
}

void ApprovalSide::on_question(const core::ApprovalQuestion& question) {
    const core::ApprovalSubject& subject = question.subject;
    log::info("a call waits for an approval", {{"approval", question.id},
                                               {"principal", subject.principal},
                                               {"tool", subject.tool},
                                               {"call_id", question.call_id},
                                               {"trace_id", question.trace_id}});
    tell("question", question, nullptr);
    if (hitl_ != nullptr) hitl_->on_question(question);
}

void ApprovalSide::on_end(const core::ApprovalQuestion& question, const core::ApprovalEnd& end) {
    const bool privileged = question.subject.privilege == core::Privilege::kPrivileged ||
                            question.subject.network == core::Network::kFullAccess;
    const auto level = end.allowed() && privileged ? log::Level::kWarn : log::Level::kInfo;
    const core::ApprovalSubject& subject = question.subject;
    log::write(level, fmt::format("approval {}", name_of(end.state)),
               {{"approval", question.id},
                {"principal", subject.principal},
                {"tool", subject.tool},
                {"call_id", question.call_id},
                {"trace_id", question.trace_id},
                {"by", end.by},
                {"scope", core::name_of(end.scope)},
                {"privilege", core::name_of(subject.privilege)}});
    // Whoever decides may have a long list of them, which callers cannot make longer.
    constexpr std::string_view kKind = "approval.decided";
    const core::AuditEvent decided =
        end.by.empty() ? core::AuditEvent{.kind = kKind, .by = subject.principal}
                       : core::AuditEvent{.kind = kKind, .by = end.by, .burst = 1'000};
    services_.audit.append_event(decided, [&](json::Writer& writer) {
        writer.key("approval")
            .string(question.id)
            .key("call_id")
            .string_lossy(question.call_id)
            .key("principal")
            .string_lossy(question.subject.principal);
        writer.key("tool")
            .string(question.subject.tool)
            .key("state")
            .string(core::name_of(end.state));
        if (!end.by.empty())
            writer.key("by").string_lossy(end.by).key("scope").string(core::name_of(end.scope));
    });
    tell("end", question, &end);
    if (hitl_ != nullptr) hitl_->on_end(question);
}

void ApprovalSide::tell(std::string_view type, const core::ApprovalQuestion& question,
                        const core::ApprovalEnd* end) {
    const core::ApprovalEnd open{.id = question.id,
                                 .state = core::ApprovalState::kPending,
                                 .scope = {},
                                 .by = {},
                                 .remembered = false,
                                 .waited = {}};
    std::string json;
    json::Writer writer(json);
    admin::append_approval(writer, question, end == nullptr ? open : *end);
    feed_.publish(type, json);
    const UuidText event_id = [&] {
        const std::scoped_lock lock(ids_mutex_);
        return ids_.uuid_v7();
    }();
    (void)services_.outbox.post(rtp::approval_event(
        question, end, event_id.view(), services_.gateway_id, services_.clock.system_now()));
}

void ApprovalSide::append_metrics(std::string& out) const {
    using core::ApprovalState;
    core::append_metric(out, "crab_approvals_pending", "gauge", "Calls that wait for an approval.",
                        static_cast<double>(approvals_->pending()));
    out +=
        "# HELP crab_approvals_total Calls that needed an approval, and questions decided later, "
        "by what came of it.\n# TYPE crab_approvals_total counter\n";
    for (const ApprovalState state :
         {ApprovalState::kAllowed, ApprovalState::kDenied, ApprovalState::kExpired,
          ApprovalState::kCancelled, ApprovalState::kUnattended, ApprovalState::kCrowded,
          ApprovalState::kWithdrawn, ApprovalState::kStopped}) {
        fmt::format_to(std::back_inserter(out), "crab_approvals_total{{state=\"{}\"}} {}\n",
                       core::name_of(state), approvals_->ended(state));
    }
}

}  // namespace crab::gateway
