#include "adapters/mcp/server/client_request.hpp"

#include "adapters/mcp/wire/capabilities.hpp"
#include "adapters/mcp/wire/error_form.hpp"
#include "adapters/mcp/wire/message_writer.hpp"
#include "json/raw_parts.hpp"

#include <utility>

#include <fmt/format.h>

namespace crab::mcp {

std::expected<std::string, std::string> read_name(std::string_view object, std::string_view member,
                                                  std::size_t most) {
    return read_name_value(json::find_raw(object, member).value_or(""), member, most);
}

std::expected<std::string, std::string> read_name_value(std::string_view raw,
                                                        std::string_view member, std::size_t most) {
    auto text = json::read_raw_string(raw);
    if (!text) return std::unexpected(fmt::format("{}: a string", member));
    if (text->size() > most)
        return std::unexpected(fmt::format("{}: at most {} bytes", member, most));
    return std::move(*text);
}

bool takes_tasks(const ClientRequest& request) {
    return request.modern() && request.method == "tools/call" && has_tasks_extension(request);
}

bool has_tasks_extension(const ClientRequest& request) {
    return read_client_capabilities(request.meta.capabilities).tasks_extension;
}

Reply Reply::of_result(const ClientRequest& request, std::string result) {
    Reply reply{.message = std::move(result)};
    make_response(reply.message, request.id);
    return reply;
}

Reply Reply::of_plain(const ClientRequest& request, std::string_view result,
                      std::optional<Milliseconds> ttl) {
    ResultForm form = request.form();
    form.ttl = ttl;
    std::string formed;
    append_plain_result(formed, result, form);
    return of_result(request, std::move(formed));
}

Reply Reply::of_error(const ClientRequest& request, RpcError error, int status) {
    return of_passed_error(request, with_token(std::move(error)), status);
}

Reply Reply::of_passed_error(const ClientRequest& request, const RpcError& error, int status) {
    Reply reply;
    if (status != 0) {
        reply.status = status;
    } else if (request.modern()) {
        reply.status = http_status_of(error.code);
    }
    append_error(reply.message, &request.id, era_of(request.revision), error);
    return reply;
}

Reply Reply::invalid_params(const ClientRequest& request, std::string_view why) {
    return of_error(request,
                    {.code = rpc_code::kInvalidParams, .message = std::string(why), .data = {}});
}

}  // namespace crab::mcp
