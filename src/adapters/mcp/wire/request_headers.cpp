#include "adapters/mcp/wire/request_headers.hpp"

#include "adapters/mcp/wire/header_value.hpp"
#include "net/codec/http_text.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>

namespace crab::mcp {
namespace {

std::expected<void, std::string> check(std::string_view name,
                                       std::optional<std::string_view> header,
                                       std::optional<std::string_view> wanted) {
    if (!header) return std::unexpected(fmt::format("header {} is missing", name));
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
    using Field = std::optional<std::string_view> PostFields::*;
    static constexpr std::pair<std::string_view, Field> kKnown[] = {
        {"accept", &PostFields::accept},       {"content-type", &PostFields::content_type},
        {"mcp-method", &PostFields::method},   {"mcp-name", &PostFields::name},
        {kVersionField, &PostFields::version}, {kSessionField, &PostFields::session}};
    PostFields found;
    for (const net::HttpHeader& field : fields) {
        const auto* const known = std::ranges::find_if(
            kKnown, [&](const auto& each) { return equals_lower(field.name, each.first); });
        if (known != std::end(kKnown) && !(found.*known->second))
            found.*known->second = field.value;
        else if (is_twice(fields, field.name))
            found.twice = field.name;
    }
    return found;
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
