#include "adapters/mcp/wire/request_headers.hpp"

#include "adapters/mcp/wire/header_value.hpp"
#include "net/codec/field_name.hpp"
#include "net/codec/http_text.hpp"

#include <fmt/format.h>

namespace crab::mcp {
namespace {

std::expected<void, std::string> check(std::string_view name,
                                       std::optional<std::string_view> header,
                                       std::optional<std::string_view> wanted) {
    if (!header) return std::unexpected(fmt::format("header {} is missing", name));
    if (header == wanted && is_plain_header(*header)) return {};
    const auto decoded = decode_header_value(*header);
    if (!decoded) return std::unexpected(fmt::format("header {} is malformed", name));
    if (*decoded != wanted)
        return std::unexpected(fmt::format("header {} is not what the body says", name));
    return {};
}

/// Of MCP's fields but one.
bool is_twice(const net::HeaderList& fields, std::string_view name) {
    constexpr std::string_view kOwn = "mcp-";
    if (name.size() <= kOwn.size() || !equals_lower(name.substr(0, kOwn.size()), kOwn))
        return false;
    const std::string lower = lower_case(name);
    return lower != kSessionField && fields.count(lower) > 1;
}

}  // namespace

std::string_view named_param(std::string_view method) {
    if (method == "tools/call" || method == "prompts/get") return "name";
    if (method == "resources/read") return "uri";
    if (method == "tasks/get" || method == "tasks/update" || method == "tasks/cancel")
        return "taskId";
    return {};
}

PostFields PostFields::read(const net::HeaderList& fields) {
    PostFields found;
    for (const net::HttpHeader& field : fields) {
        std::optional<std::string_view>* const slot = found.slot_of(field.name);
        if (slot != nullptr && !*slot)
            *slot = field.value;
        else if (is_twice(fields, field.name))
            found.twice = field.name;
    }
    return found;
}

/// No two of the names are equally long.
std::optional<std::string_view>* PostFields::slot_of(std::string_view field) {
    const auto only_if = [field](std::string_view known, std::optional<std::string_view>& slot) {
        return net::is_field(field, known) ? &slot : nullptr;
    };
    switch (field.size()) {
        case std::string_view("accept").size(): return only_if("accept", accept);
        case std::string_view("content-type").size(): return only_if("content-type", content_type);
        case std::string_view("mcp-method").size(): return only_if("mcp-method", method);
        case std::string_view("mcp-name").size(): return only_if("mcp-name", name);
        case kVersionField.size(): return only_if(kVersionField, version);
        case kSessionField.size(): return only_if(kSessionField, session);
        default: return nullptr;
    }
}

std::expected<void, std::string> check_fields_once(const PostFields& fields) {
    if (fields.twice.empty()) return {};
    return std::unexpected(fmt::format("header {} is there twice", fields.twice));
}

std::expected<void, std::string> check_method_header(std::optional<std::string_view> header,
                                                     std::string_view method) {
    return check(kMethodHeader, header, method);
}

std::expected<void, std::string> check_name_header(std::optional<std::string_view> header,
                                                   std::string_view method,
                                                   std::optional<json::Element> params) {
    const std::string_view member = named_param(method);
    if (member.empty()) return {};
    return check(kNameHeader, header, params ? json::get_string(*params, member) : std::nullopt);
}

}  // namespace crab::mcp
