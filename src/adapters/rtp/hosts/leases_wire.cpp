#include "adapters/rtp/hosts/leases_wire.hpp"

#include "json/value.hpp"
#include "net/codec/url.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace crab::rtp {
namespace {

constexpr std::array<std::string_view, 6> kMembers{"tenant_id",    "agent_id", "session_id",
                                                   "capabilities", "ttl_ms",   "disconnect_bound"};
constexpr std::size_t kLongestText = 256;
constexpr std::size_t kMostCapabilities = 64;

std::unexpected<Error> invalid(std::string message) {
    return fail(ErrorCode::kInvalidArgs, std::move(message));
}

/// A text with something in it that is not white space.
Result<std::string> text_of(const json::Value* value, std::string_view pointer) {
    if (value == nullptr) return invalid(fmt::format("{}: is required", pointer));
    const std::string* text = value->as_string();
    if (text == nullptr || text->size() > kLongestText ||
        text->find_first_not_of(" \t\r\n") == std::string::npos) {
        return invalid(
            fmt::format("{}: must be a string of 1 to {} bytes, not blank", pointer, kLongestText));
    }
    return *text;
}

Result<std::vector<std::string>> capabilities_of(const json::Value* value) {
    const json::Value::Items* items = value != nullptr ? value->as_array() : nullptr;
    if (items == nullptr || items->empty() || items->size() > kMostCapabilities) {
        return invalid(fmt::format(
            "/capabilities: must be a list of 1 to {} actions, such as events.subscribe:cron.*",
            kMostCapabilities));
    }
    std::vector<std::string> capabilities;
    for (const json::Value& item : *items) {
        auto text = text_of(&item, fmt::format("/capabilities/{}", capabilities.size()));
        if (!text) return fail(std::move(text.error()));
        capabilities.push_back(std::move(*text));
    }
    return capabilities;
}

}  // namespace

Result<trust::LeaseRequest> parse_lease_request(std::string_view body) {
    const auto object = json::Value::parse(body, {.max_bytes = 64 * 1024, .max_depth = 8});
    if (!object || !object->is_object()) return invalid("the body must be a JSON object");
    for (const auto& [name, _] : *object->as_object()) {
        if (std::ranges::find(kMembers, name) == kMembers.end())
            return invalid(fmt::format("no member is called {}", json::Value(name).dump()));
    }
    trust::LeaseRequest request;
    for (const auto& [name, out] : {std::pair{"tenant_id", &request.tenant_id},
                                    {"agent_id", &request.agent_id},
                                    {"session_id", &request.session_id}}) {
        auto text = text_of(object->find(name), fmt::format("/{}", name));
        if (!text) return fail(std::move(text.error()));
        *out = std::move(*text);
    }
    auto capabilities = capabilities_of(object->find("capabilities"));
    if (!capabilities) return fail(std::move(capabilities.error()));
    request.capabilities = std::move(*capabilities);
    if (const json::Value* ttl = object->find("ttl_ms")) {
        const auto milliseconds = ttl->as_int64();
        if (!milliseconds || *milliseconds < 1)
            return invalid("/ttl_ms: must be a whole number of milliseconds, at least 1");
        request.ttl = Milliseconds(*milliseconds);
    }
    if (const json::Value* bound = object->find("disconnect_bound")) {
        if (bound->as_bool() == nullptr) return invalid("/disconnect_bound: must be true or false");
        request.disconnect_bound = *bound->as_bool();
    }
    return request;
}

void append_lease(json::Writer& writer, const trust::Lease& lease) {
    const std::size_t slash = lease.owner.find('/');
    writer.begin_object()
        .key("lease_id")
        .string(lease.id)
        .key("owner_component_type")
        .string(std::string_view(lease.owner).substr(0, slash));
    writer.key("owner_component_id")
        .string(slash == std::string::npos ? std::string_view()
                                           : std::string_view(lease.owner).substr(slash + 1));
    writer.key("tenant_id")
        .string(lease.tenant_id)
        .key("agent_id")
        .string(lease.agent_id)
        .key("session_id")
        .string(lease.session_id);
    writer.key("capabilities_json").begin_array();
    for (const std::string& capability : lease.capabilities) writer.string(capability);
    writer.end_array().key("disconnect_bound").boolean(lease.disconnect_bound);
    writer.key("issued_at")
        .string(to_rfc3339(lease.issued_at))
        .key("expires_at")
        .string(to_rfc3339(lease.expires_at));
    if (lease.revoked_at)
        writer.key("revoked_at")
            .string(to_rfc3339(*lease.revoked_at))
            .key("revoke_reason")
            .string(lease.revoke_reason);
    writer.end_object();
}

std::string named_lease(const net::HttpRequest& request) {
    if (const auto header = request.find("crab-lease")) return std::string(*header);
    return net::find_query(request.query(), "lease").value_or("");
}

}  // namespace crab::rtp
