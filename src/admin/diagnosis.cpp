#include "admin/diagnosis.hpp"

#include "base/closest_name.hpp"
#include "json/writer.hpp"
#include "net/codec/http_text.hpp"
#include "net/codec/url.hpp"

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>

#include <fmt/format.h>

namespace crab::admin {
namespace {

constexpr std::string_view kDevice = "device/";
constexpr std::size_t kLongestName = 256;

/// What would fix it, for a person or for a page that offers it as a button.
struct Fix {
    std::string_view kind;  ///< `pair`, `connect`, `approve`, `policy`, `config`, `name`, `host`
    std::vector<std::pair<std::string_view, std::string>> params{};
};

struct DiagnosisCheck {
    std::string_view id;
    bool ok = true;
    std::string text;
    Fix fix{};  ///< without a kind: nothing that can be offered
};

/// Whether one of them, or that of each which `part` names, is `value`.
template <class Part = std::identity>
bool has_one(const auto& all, const auto& value, Part part = {}) {
    return std::ranges::find(all, value, part) != all.end();
}

bool is_of_limits(std::string_view code) {
    return code == token_of(ErrorCode::kRateLimited) || code == token_of(ErrorCode::kOversize);
}

std::string command_for_pairing(std::string_view device) {
    return fmt::format("crab devices pair --name {}", device);
}

}  // namespace

/// What is asked about, and what was found out so far.
struct Diagnosis::Case {
    std::string device, tool;  ///< a slug; a plain or qualified name; empty: not asked about
    core::PrincipalRef who;
    core::ToolRef offered;  ///< null: not here
    std::vector<DiagnosisCheck> checks{};

    void pass(std::string_view id, std::string text) {
        checks.push_back({.id = id, .ok = true, .text = std::move(text)});
    }
    void fail(std::string_view id, std::string text, Fix fix = {}) {
        checks.push_back({.id = id, .ok = false, .text = std::move(text), .fix = std::move(fix)});
    }
    std::string plain_name() const {
        const std::string prefix = device + "__";
        return !device.empty() && tool.starts_with(prefix) ? tool.substr(prefix.size()) : tool;
    }
    void write(std::string& out) const;
};

void Diagnosis::Case::write(std::string& out) const {
    const auto failed = std::ranges::find(checks, false, &DiagnosisCheck::ok);
    json::Writer writer(out);
    writer.begin_object().key("answer");
    if (failed != checks.end())
        writer.string_lossy(failed->text);
    else if (tool.empty())
        writer.string_lossy(fmt::format("{} is connected and may offer tools", device));
    else
        writer.string_lossy(fmt::format("{} can call {}", who->id, tool));
    writer.key("checks").begin_array();
    for (const DiagnosisCheck& check : checks) {
        writer.begin_object().key("id").string(check.id).key("ok").boolean(check.ok);
        writer.key("text").string_lossy(check.text);
        if (!check.fix.kind.empty()) {
            writer.key("fix").begin_object().key("kind").string(check.fix.kind);
            writer.key("params").begin_object();
            for (const auto& [name, value] : check.fix.params) writer.key(name).string_lossy(value);
            writer.end_object().end_object();
        }
        writer.end_object();
    }
    writer.end_array().end_object();
}

void Diagnosis::add_routes(net::Routes<core::PrincipalRef>& routes) {
    routes.add({.path = "/v1/admin/diagnose",
                .summary = "What stands between a tool and its caller?",
                .query = {{"device", "its slug or name; else that which has the tool"},
                          {"tool", "its plain or qualified name; else the device alone"},
                          {"as", "the caller, such as caller/ci; else whoever asks"}},
                .answers = {{200, "diagnosis"}},
                .refusals = {400}},
               [this](const Request& request) { return answer(request); });
}

Task<void> Diagnosis::answer(const Request& request) {
    net::HttpExchange& exchange = request.exchange;
    const std::string_view query = exchange.request().query();
    const auto asked = [&](std::string_view name) {
        return net::find_query(query, name).value_or("");
    };
    Case about{
        .device = asked("device"), .tool = asked("tool"), .who = request.principal, .offered = {}};
    if ((about.device.empty() && about.tool.empty()) || about.device.size() > kLongestName ||
        about.tool.size() > kLongestName)
        co_return exchange.respond_error(400, "INVALID_ARGS", "name a device, a tool, or both");
    if (const std::string as = asked("as"); !as.empty()) about.who = services_.principals.find(as);
    if (about.who->roles.empty())
        co_return exchange.respond_error(400, "INVALID_ARGS", kNoSuchPrincipal);
    const auto sources = co_await services_.pool.run([this] { return services_.sources(); });
    find_source(about);
    const bool device_is_here = about.device.empty() || check_device(about);
    if (!about.tool.empty() && device_is_here && check_offer(about)) check_limits(about);
    if (!about.tool.empty() && !device_is_here) check_last_refusal(about);
    if (!about.tool.empty()) check_call(about);
    check_source(about, sources);
    about.write(exchange.begin_response(200, net::kJsonType));
    exchange.finish_response();
}

/// The device that is meant, and the tool, if it is offered.
void Diagnosis::find_source(Case& about) const {
    if (about.device.starts_with(kDevice)) about.device.erase(0, kDevice.size());
    const auto devices = services_.tokens.devices();
    for (const trust::DeviceRecord& device : devices)
        if (device.display_name == about.device) about.device = device.slug;
    const std::size_t mark = about.tool.find("__");
    if (about.device.empty() && mark != about.tool.npos &&
        has_one(devices, about.tool.substr(0, mark), &trust::DeviceRecord::slug))
        about.device = about.tool.substr(0, mark);
    const std::string plain = about.plain_name();
    for (const auto& [name, tool] : tools_.list()) {
        const bool named = about.device.empty()
                               ? tool->spec.name == about.tool || tool->unique_name == about.tool
                               : tool->source_text == std::string(kDevice) + about.device &&
                                     tool->spec.name == plain;
        if (named) about.offered = tool;
    }
    if (!about.device.empty() || about.tool.empty()) return;
    if (about.offered) {
        if (about.offered->source.kind == core::SourceKind::kDevice)
            about.device = about.offered->source.name;
        return;
    }
    // One that a device has in vain.
    for (const trust::DeviceRecord& device : devices) {
        const auto refused = services_.refused(device.slug);
        if (has_one(refused, about.tool, &Presence::Refused::tool) ||
            has_one(services_.waiting_tools(device.slug), about.tool))
            about.device = device.slug;
    }
}

/// Whether the device is here and may offer tools.
bool Diagnosis::check_device(Case& about) const {
    const SystemTime now = services_.clock.system_now();
    std::optional<trust::TokenRecord> live, any;
    for (trust::TokenRecord& token : services_.tokens.list()) {
        const bool its = token.device.empty()
                             ? token.name == about.device || token.caller == about.device
                             : token.device == about.device;
        if (!its) continue;
        // Of several credentials one that is a device's counts.
        if (token.is_live(now) && (!live || token.roles.has(core::Role::kDevice))) live = token;
        any = std::move(token);
    }
    const Fix pair{
        .kind = "pair",
        .params = {{"device", about.device}, {"command", command_for_pairing(about.device)}}};
    if (!live) {
        about.fail("paired",
                   !any              ? fmt::format("no device is called {}", about.device)
                   : any->revoked_at ? fmt::format("{} was revoked on {}", about.device,
                                                   to_rfc3339(*any->revoked_at))
                                     : fmt::format("the credential of {} ended on {}", about.device,
                                                   to_rfc3339(any->expires_at.value_or(now))),
                   pair);
        return false;
    }
    about.pass("paired", live->expires_at ? fmt::format("until {}", to_rfc3339(*live->expires_at))
                                          : "until it is revoked");
    const auto presence = services_.presence();
    const auto here = std::ranges::find_if(presence, [&](const Presence& each) {
        return each.device == about.device || each.principal == live->principal_id();
    });
    if (here == presence.end()) {
        about.fail("connected",
                   live->last_used_at
                       ? fmt::format("{} is not connected; it was last here at {}", about.device,
                                     to_rfc3339(*live->last_used_at))
                       : fmt::format("{} is not connected, and never was", about.device),
                   {.kind = "connect", .params = {{"device", about.device}}});
        return false;
    }
    about.pass("connected", fmt::format("since {}", to_rfc3339(here->since)));
    if (!live->roles.has(core::Role::kDevice)) {
        about.fail("role",
                   fmt::format("{} has the roles {}; to offer tools it needs the role device",
                               live->principal_id(), live->roles.to_text()),
                   pair);
        return false;
    }
    about.pass("role", fmt::format("it has the roles {}", live->roles.to_text()));
    return true;
}

/// Whether the tool is offered to callers.
bool Diagnosis::check_offer(Case& about) const {
    if (about.offered) {
        about.pass("registered", fmt::format("{}, of {}", about.offered->unique_name,
                                             about.offered->source_text));
        if (!about.device.empty()) about.pass("held_back", "it waits for no approval");
        return true;
    }
    if (check_waiting(about)) return false;
    const auto refused = services_.refused(about.device);
    const auto why = std::ranges::find(refused, about.plain_name(), &Presence::Refused::tool);
    if (why != refused.end())
        check_refused(about, *why);
    else
        check_missing(about);
    return false;
}

/// Whether the tool is there and waits for an operator.
bool Diagnosis::check_waiting(Case& about) const {
    const std::string plain = about.plain_name();
    if (about.device.empty() || !has_one(services_.waiting_tools(about.device), plain))
        return false;
    about.pass("registered", fmt::format("{} has registered it", about.device));
    about.fail(
        "held_back", fmt::format("{} is new at {}, and waits for an approval", plain, about.device),
        {.kind = "approve",
         .params = {{"device", about.device},
                    {"tool", plain},
                    {"command", fmt::format("crab devices approve {} {}", about.device, plain)}}});
    return true;
}

void Diagnosis::check_refused(Case& about, const Presence::Refused& refused) const {
    const std::string text =
        fmt::format("{} offered {} at {}, and it was refused: {}: {}", about.device, refused.tool,
                    to_rfc3339(refused.at), refused.code, refused.reason);
    if (is_of_limits(refused.code)) {
        about.pass("registered", fmt::format("{} has offered it", about.device));
        about.fail("limits", text, {.kind = "config", .params = {{"key", "limits"}}});
    } else if (refused.reason.starts_with("policy ")) {
        about.fail("registered", text,
                   {.kind = "policy",
                    .params = {{"as", std::string(kDevice) + about.device},
                               {"question", "register " + refused.tool}}});
    } else {
        about.fail("registered", text);
    }
}

/// Of a device that is away: what became of the tool when it was last here.
void Diagnosis::check_last_refusal(Case& about) const {
    if (check_waiting(about)) return;
    const auto refused = services_.refused(about.device);
    const auto why = std::ranges::find(refused, about.plain_name(), &Presence::Refused::tool);
    if (why != refused.end()) check_refused(about, *why);
}

void Diagnosis::check_missing(Case& about) const {
    std::vector<std::string> names;
    const std::string source = std::string(kDevice) + about.device;
    for (const auto& [name, tool] : tools_.list())
        if (about.device.empty() || tool->source_text == source) names.push_back(tool->spec.name);
    const std::string_view near = closest_name(about.plain_name(), names);
    const std::string meant = near.empty() ? "" : fmt::format("; did you mean {}?", near);
    if (about.device.empty())
        about.fail("registered", fmt::format("nobody here offers {}{}", about.tool, meant));
    else
        about.fail("registered",
                   fmt::format("{} offers {} tools, and not {}: it is off there, or the device "
                               "cannot offer it{}",
                               about.device, names.size(), about.plain_name(), meant));
}

void Diagnosis::check_limits(Case& about) const {
    const auto left = services_.rules.get()->rates->left(*about.who, *about.offered,
                                                         services_.clock.steady_now());
    if (left && *left < 1)
        return about.fail("limits",
                          fmt::format("{} has no call left in its rate; wait", about.who->id),
                          {.kind = "config", .params = {{"key", "rates"}}});
    about.pass("limits", left ? fmt::format("{:.0f} calls are left at once", *left)
                              : "no rate is set for it");
}

/// Whether the caller gets it by that name, and what the policy says.
void Diagnosis::check_call(Case& about) const {
    const auto rules = services_.rules.get();
    const core::Policy& policy = *rules->policy;
    const std::string_view tenant = policy.home_tenant(*about.who);
    const core::View view{.principal = about.who.get(),
                          .policy = &policy,
                          .tenant = tenant,
                          .prefer_source = {},
                          .prefer = {}};
    const auto found = services_.registry.get()->resolve(view, about.tool);
    if (!found && found.error().code == ErrorCode::kAmbiguousTool)
        about.fail("ambiguous", found.error().message,
                   {.kind = "name",
                    .params = {{"tool", about.offered ? about.offered->unique_name : ""}}});
    else if (about.offered)
        about.pass("ambiguous", fmt::format("{} means one tool", about.tool));
    if (!about.offered) return;
    const core::Decision decision =
        policy.decide_call(*about.who, *about.offered, std::nullopt, tenant);
    const Fix ask{.kind = "policy",
                  .params = {{"as", about.who->id}, {"question", "call " + about.tool}}};
    if (decision.verdict == core::Verdict::kDeny)
        return about.fail("policy",
                          fmt::format("{} may not call it: {}", about.who->id, decision.rule), ask);
    if (!found && found.error().code == ErrorCode::kToolNotFound)
        return about.fail("policy",
                          fmt::format("it is offered to the tenant {}, and {} calls for {}",
                                      about.offered->tenant.text(), about.who->id,
                                      tenant.empty() ? std::string_view("none") : tenant),
                          ask);
    about.pass("policy", decision.verdict == core::Verdict::kAllow
                             ? fmt::format("allowed by {}", decision.rule)
                             : fmt::format("somebody has to approve each call: {}", decision.rule));
}

/// Whether what runs the tool answers.
void Diagnosis::check_source(Case& about, const std::vector<SourceState>& sources) const {
    if (!about.device.empty() || about.tool.empty()) {
        if (about.offered) about.pass("host", fmt::format("{} answers", about.device));
        return;
    }
    // A tool that nobody offers may be one of a host that does not answer.
    for (const SourceState& source : sources) {
        const std::string name = source.source.substr(source.source.find('/') + 1);
        const bool its = about.offered ? about.offered->source_text == source.source
                                       : about.tool.starts_with(name + "__");
        if (!its && (about.offered || source.answers)) continue;
        if (its && source.answers)
            return about.pass(
                "host", fmt::format("{} answers, with {} tools", source.source, source.tools));
        return about.fail("host",
                          fmt::format("{} does not answer{}{}", source.source,
                                      source.problem.empty() ? "" : ": ", source.problem),
                          {.kind = "host", .params = {{"source", source.source}}});
    }
    if (about.offered) about.pass("host", "it runs in the gateway");
}

}  // namespace crab::admin
