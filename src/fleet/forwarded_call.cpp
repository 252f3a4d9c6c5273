#include "fleet/message_body.hpp"

#include <limits>

namespace crab::fleet {
namespace {

using bus::FieldReader;
using bus::FieldWriter;

constexpr std::size_t kMostTenants = 256;

// The numbers of fields are the wire's. Those of the call's texts are in for_each_text().
constexpr std::uint8_t kConnection = 2, kEpoch = 3, kNewestBeat = 4;
constexpr std::uint8_t kPrincipal = 20, kTenant = 21, kMoreTenants = 22, kRoles = 23, kProof = 24,
                       kDevice = 25, kCredential = 26;
constexpr std::uint8_t kMadeId = 60, kActsForAgent = 61, kTimeout = 62, kMaxRetries = 63,
                       kWorktree = 64, kCpuBudget = 65, kWallBudget = 66, kStopsClock = 67,
                       kWantsProgress = 68, kLogLevel = 69;

/// The texts of a call with their numbers, to write and to read them.
template <class Call, class F>
void for_each_text(Call& call, F&& text) {
    text(30, call.tool);
    text(31, call.provider_id);
    text(32, call.args);
    text(33, call.body_type);
    text(34, call.body);
    text(35, call.context.agent_id);
    text(36, call.context.session_id);
    text(37, call.context.platform);
    text(38, call.context.channel_id);
    text(39, call.context.actor_id);
    text(40, call.context.isolation_key);
    text(41, call.context.trace_id);
    text(42, call.context.request_origin);
    text(43, call.tenant);
    text(44, call.idempotency_key);
    text(45, call.traceparent);
    text(46, call.policy.backoff);
    text(47, call.policy.network_policy);
    text(48, call.policy.privilege_level);
    text(49, call.prefer_source);
    text(50, call.front);
    text(51, call.client.name);
    text(52, call.client.version);
    text(53, call.client.revision);
    text(54, call.client.era);
    text(55, call.input_responses);
    text(56, call.request_state);
    text(57, call.id);
}

bool is_made_here(const core::Call& call) { return call.id.data() == call.made_id.view().data(); }

/// A UUID in its text form.
std::optional<UuidText> uuid_of(std::string_view text) {
    std::uint64_t high = 0, low = 0;
    int digits = 0;
    for (const char c : text) {
        if (c == '-') continue;
        const int value = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
        if (value < 0 || digits == 32) return std::nullopt;
        std::uint64_t& half = digits < 16 ? high : low;
        half = half << 4 | static_cast<std::uint64_t>(value);
        ++digits;
    }
    const UuidText uuid(high, low);
    if (uuid.view() != text) return std::nullopt;
    return uuid;
}

void add_principal(FieldWriter& body, const core::Principal& principal) {
    body.add(kPrincipal, principal.id);
    body.add(kTenant, principal.tenant.text());
    for (const TenantId& more : principal.more_tenants) body.add_always(kMoreTenants, more.text());
    body.add(kRoles, principal.roles.to_text());
    body.add_number(kProof, static_cast<std::uint64_t>(principal.proof) + 1);
    body.add(kDevice, principal.device);
    body.add(kCredential, principal.credential_id);
}

bool read_principal(const FieldReader::Field& field, core::Principal& principal) {
    switch (field.number) {
        case kPrincipal: principal.id = field.bytes; return true;
        case kTenant: principal.tenant = TenantId(std::string(field.bytes)); return true;
        case kMoreTenants:
            principal.more_tenants.emplace_back(std::string(field.bytes));
            return principal.more_tenants.size() <= kMostTenants;
        case kRoles: {
            const auto roles = core::Roles::parse(field.bytes);
            if (roles) principal.roles = *roles;
            return roles.has_value();
        }
        case kProof: {
            const std::uint64_t proof = field.value();
            if (proof == 0 || proof > static_cast<std::uint64_t>(core::Proof::kInternal) + 1)
                return false;
            principal.proof = static_cast<core::Proof>(proof - 1);
            return true;
        }
        case kDevice: principal.device = field.bytes; return true;
        case kCredential: principal.credential_id = field.bytes; return true;
        default: return true;
    }
}

/// What of a call is not a text.
void add_rest(FieldWriter& body, const core::Call& call) {
    body.add_flag(kMadeId, is_made_here(call));
    body.add_flag(kActsForAgent, call.acts_for_agent);
    if (call.timeout)
        body.add_number(kTimeout, static_cast<std::uint64_t>(call.timeout->count()) + 1);
    if (call.policy.max_retries) body.add_number(kMaxRetries, *call.policy.max_retries + 1ULL);
    body.add_flag(kWorktree, call.policy.worktree_required);
    body.add_number(kCpuBudget, call.policy.budget_cpu_ms);
    body.add_number(kWallBudget, call.policy.budget_wall_ms);
    body.add_flag(kStopsClock, call.approval_stops_clock);
}

bool read_rest(const FieldReader::Field& field, core::Call& call, bool& made) {
    constexpr std::uint64_t kLongest = std::numeric_limits<std::int32_t>::max();
    const std::uint64_t value = field.value();
    switch (field.number) {
        case kMadeId: made = field.flag(); return true;
        case kActsForAgent: call.acts_for_agent = field.flag(); return true;
        case kTimeout:
            if (value == 0 || value > kLongest) return false;
            call.timeout = Milliseconds(static_cast<std::int64_t>(value - 1));
            return true;
        case kMaxRetries:
            if (value == 0 || value > kLongest) return false;
            call.policy.max_retries = static_cast<std::uint32_t>(value - 1);
            return true;
        case kWorktree: call.policy.worktree_required = field.flag(); return true;
        case kCpuBudget: call.policy.budget_cpu_ms = value; return true;
        case kWallBudget: call.policy.budget_wall_ms = value; return true;
        case kStopsClock: call.approval_stops_clock = field.flag(); return true;
        default: return true;
    }
}

}  // namespace

std::string forward_to_wire(const ForwardHead& head, const core::Call& call,
                            const core::Principal& principal, const NewsWanted& wanted) {
    FieldWriter body;
    add_id(body, head.id);
    body.add_number(kConnection, head.connection);
    body.add_number(kEpoch, head.epoch);
    body.add_number(kNewestBeat, head.beat);
    add_principal(body, principal);
    for_each_text(call,
                  [&](std::uint8_t number, std::string_view text) { body.add(number, text); });
    add_rest(body, call);
    body.add_flag(kWantsProgress, wanted.progress);
    body.add(kLogLevel, wanted.log_level);
    return body.take();
}

Result<ForwardHead> parse_forward_head(std::string_view body) {
    ForwardHead head;
    const auto id = read_with_id(body, [&](const FieldReader::Field& field) {
        if (field.number == kConnection) head.connection = field.value();
        if (field.number == kEpoch) head.epoch = field.value();
        if (field.number == kNewestBeat) head.beat = field.value();
    });
    if (!id) return unreadable("the forward has no id");
    head.id = *id;
    return head;
}

Result<std::unique_ptr<ForwardedCall>> ForwardedCall::parse(std::string body) {
    std::unique_ptr<ForwardedCall> forwarded(new ForwardedCall(std::move(body)));
    if (auto read = forwarded->read(); !read) return fail(std::move(read.error()));
    return forwarded;
}

Result<void> ForwardedCall::read() {
    auto principal = std::make_shared<core::Principal>();
    bool made = false;
    const bool whole = each_field(body_, [&](const FieldReader::Field& field) {
        for_each_text(call_, [&](std::uint8_t number, std::string_view& text) {
            if (field.number == number) text = field.bytes;
        });
        if (field.number == kWantsProgress) wanted_.progress = field.flag();
        if (field.number == kLogLevel) wanted_.log_level = field.bytes;
        return read_principal(field, *principal) && read_rest(field, call_, made);
    });
    if (!whole) return unreadable("the forward is no call");
    // Never anonymous: a call without its principal is none.
    if (principal->id.empty() || call_.tool.empty() || call_.id.empty())
        return unreadable("the forward lacks a principal, an id or a tool");
    if (made) {
        const auto id = uuid_of(call_.id);
        if (!id) return unreadable("the forward's id is not one that a gateway makes");
        call_.made_id = *id;
        call_.id = call_.made_id.view();
    }
    principal_ = std::move(principal);
    return {};
}

}  // namespace crab::fleet
