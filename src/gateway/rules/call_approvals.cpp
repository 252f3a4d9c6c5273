#include "gateway/rules/call_approvals.hpp"

#include "adapters/rtp/events/approval_event.hpp"
#include "admin/approvals_wire.hpp"
#include "base/log.hpp"
#include "core/audit/metrics.hpp"
#include "store/stores.hpp"

#include <algorithm>
#include <iterator>

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

void ApprovalWaits::count(std::chrono::nanoseconds waited) {
    const double seconds = std::chrono::duration<double>(waited).count();
    counts[static_cast<std::size_t>(std::ranges::lower_bound(kBounds, seconds) - kBounds.begin())]
        .add();
    ns.add(static_cast<std::uint64_t>(std::max<std::int64_t>(waited.count(), 0)));
}

void ApprovalWaits::append_metrics(std::string& out) const {
    constexpr std::string_view kName = "crab_approval_wait_seconds";
    const auto line = std::back_inserter(out);
    fmt::format_to(line, "# HELP {0} How long questions were open.\n# TYPE {0} histogram\n", kName);
    std::uint64_t below = 0;
    for (std::size_t i = 0; i < counts.size(); ++i) {
        below += counts[i].value();
        const std::string bound =
            i < kBounds.size() ? fmt::format("{:#}", kBounds[i]) : std::string("+Inf");
        fmt::format_to(line, "{}_bucket{{le=\"{}\"}} {}\n", kName, bound, below);
    }
    fmt::format_to(line, "{0}_sum {1}\n{0}_count {2}\n", kName,
                   static_cast<double>(ns.value()) / 1e9, below);
}

std::span<const ConfigKey> CallApprovals::keys() const {
    static constexpr ConfigKey kKeys[] = {
        reload_key("approvals.wait", [](auto& c) -> auto& { return c.approvals.wait; }),
        reload_key("approvals.max_waiting",
                   [](auto& c) -> auto& { return c.approvals.max_waiting; }),
        reload_key("approvals.max_waiting_per_principal",
                   [](auto& c) -> auto& { return c.approvals.max_waiting_per_principal; }),
        reload_key("approvals.unattended",
                   [](auto& c) -> auto& { return c.approvals.unattended; })};
    return kKeys;
}

Result<void> CallApprovals::start() {
    auto store = context_.stores->open_approvals();
    if (!store) return fail(std::move(store.error()));
    store_ = std::move(*store);
    auto tool_store = context_.stores->open_device_tools();
    if (!tool_store) return fail(std::move(tool_store.error()));
    tool_store_ = std::move(*tool_store);
    auto device_tools = trust::DeviceTools::load(*tool_store_);
    if (!device_tools) return fail(std::move(device_tools.error()));
    device_tools_ = std::move(*device_tools);
    auto approvals =
        core::Approvals::load(*store_, context_.clock, to_options(context_.config.approvals), this);
    if (!approvals) return fail(std::move(approvals.error()));
    approvals_ = std::move(*approvals);
    api_ = std::make_unique<admin::ApprovalsApi>(*approvals_, feed_, workers_.pool());
    return {};
}

Result<Component::Change> CallApprovals::prepare(const config::GatewayConfig& next) {
    return [this, options = to_options(next.approvals)] { approvals_->set_options(options); };
}

void CallApprovals::on_question(const core::ApprovalQuestion& question) {
    const core::ApprovalSubject& subject = question.subject;
    log::info("a call waits for an approval", {{"approval", question.id},
                                               {"principal", subject.principal},
                                               {"tool", subject.tool},
                                               {"call_id", question.call_id},
                                               {"trace_id", question.trace_id}});
    tell("question", question, nullptr);
    if (hitl_ != nullptr) hitl_->on_question(question);
    if (tell_) tell_(question);
}

void CallApprovals::on_end(const core::ApprovalQuestion& question, const core::ApprovalEnd& end) {
    waits_.count(end.waited);
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
    audit_.log().append_event(decided, [&](json::Writer& writer) {
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

void CallApprovals::tell(std::string_view type, const core::ApprovalQuestion& question,
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
    (void)events_.outbox().post(rtp::approval_event(question, end, event_id.view(),
                                                    peers_.keys_of_gateway().identity.gateway_id,
                                                    context_.clock.system_now()));
}

void CallApprovals::add_metrics(core::MetricsPage& page) {
    using core::ApprovalState;
    page.add([this](std::string& out) {
        core::append_metric(out, "crab_approvals_pending", "gauge",
                            "Calls that wait for an approval.",
                            static_cast<double>(approvals_->pending()));
        out +=
            "# HELP crab_approvals_total Calls that needed an approval, and questions decided "
            "later, "
            "by what came of it.\n# TYPE crab_approvals_total counter\n";
        for (const ApprovalState state :
             {ApprovalState::kAllowed, ApprovalState::kDenied, ApprovalState::kExpired,
              ApprovalState::kCancelled, ApprovalState::kUnattended, ApprovalState::kTooMany,
              ApprovalState::kWithdrawn, ApprovalState::kStopped}) {
            fmt::format_to(std::back_inserter(out), "crab_approvals_total{{state=\"{}\"}} {}\n",
                           core::name_of(state), approvals_->ended(state));
        }
        waits_.append_metrics(out);
    });
}

void CallApprovals::add_routes(const ListenerRoutes& table) {
    if (table.kind == ListenerKind::kAdmin || table.kind == ListenerKind::kPeers)
        api_->add_routes(table.routes);
}

}  // namespace crab::gateway
