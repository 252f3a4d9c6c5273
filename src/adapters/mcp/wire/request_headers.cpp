#include "adapters/mcp/wire/request_headers.hpp"

#include "adapters/mcp/wire/header_value.hpp"
#include "net/codec/http_text.hpp"

#include <fmt/format.h>

namespace crab::mcp {
namespace {

std::expected<void, std::string> check(std::string_view name,
                                       std::optional<std::string_view> header,
                                       std::string_view wanted) {
    if (!header) return std::unexpected(fmt::format("header {} is missing", name));
    const auto decoded = decode_header_value(*header);
    if (!decoded) return std::unexpected(fmt::format("header {} is malformed", name));
    if (*decoded != wanted)
        return std::unexpected(fmt::format("header {} is not what the body says", name));
    return {};
}

std::optional<std::string_view> name_in(std::string_view method,
                                        std::optional<json::Element> params) {
    const std::string_view member = named_param(method);
    return member.empty() || !params ? std::nullopt : json::get_string(*params, member);
}

}  // namespace

std::string_view named_param(std::string_view method) {
    if (method == "tools/call" || method == "prompts/get") return "name";
    if (method == "resources/read") return "uri";
    if (method == "tasks/get" || method == "tasks/update" || method == "tasks/cancel")
        return "taskId";
    return {};
}

std::expected<void, std::string> check_fields_once(const net::HeaderList& fields) {
    constexpr std::string_view kOwn = "mcp-";
    for (const net::HttpHeader& field : fields) {
        if (field.name.size() <= kOwn.size() ||
            !equals_lower(field.name.substr(0, kOwn.size()), kOwn))
            continue;
        const std::string name = lower_case(field.name);
        if (name != "mcp-session-id" && fields.count(name) > 1)
            return std::unexpected(fmt::format("header {} is there twice", field.name));
    }
    return {};
}

std::expected<void, std::string> check_method_header(std::optional<std::string_view> header,
                                                     std::string_view method) {
    return check(kMethodHeader, header, method);
}

std::expected<void, std::string> check_name_header(std::optional<std::string_view> header,
                                                   std::string_view method,
                                                   std::optional<json::Element> params) {
    const auto name = name_in(method, params);
    return name ? check(kNameHeader, header, *name) : std::expected<void, std::string>{};
}

}  // namespace crab::mcp
