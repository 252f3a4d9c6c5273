#pragma once

#include "adapters/mcp/server/session.hpp"
#include "adapters/mcp/wire/name_limit.hpp"
#include "adapters/mcp/wire/request_id.hpp"
#include "adapters/mcp/wire/request_meta.hpp"
#include "adapters/mcp/wire/result.hpp"
#include "adapters/mcp/wire/rpc_error.hpp"
#include "core/call/principal.hpp"
#include "json/parser.hpp"

#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace crab::mcp {

/// A request of a client whose era, session and headers are settled. Its views point into the body
/// of its POST, which lives until the exchange has ended.
struct ClientRequest {
    RequestId id;
    std::string method;
    std::string_view params;  ///< an object, or empty
    /// The object `arguments` of `params`, by a parser that others use too
    std::optional<json::Borrowed> parsed_args;
    RequestMeta meta;
    Revision revision = Revision::k2026_07_28;
    core::PrincipalRef principal;
    std::shared_ptr<Session> session;  ///< null: modern
    std::string_view server_info;  ///< of this gateway

    bool modern() const { return session == nullptr; }
    ResultForm form(std::string_view result_meta = {}) const {
        return {.revision = revision, .server_info = server_info, .meta = result_meta};
    }
};

/// A member that names something: a text of at most `most` bytes. Errors: what is wrong with it,
/// for the client.
std::expected<std::string, std::string> read_name(std::string_view object, std::string_view member,
                                                  std::size_t most = kMostNameBytes);
/// The same of the member's value, in the bytes that came; empty: there is none.
std::expected<std::string, std::string> read_name_value(std::string_view raw,
                                                        std::string_view member,
                                                        std::size_t most = kMostNameBytes);

/// Whether the request declares the extension for tasks.
bool has_tasks_extension(const ClientRequest& request);
/// Whether the request may be answered with a task.
bool takes_tasks(const ClientRequest& request);

/// The response to a request.
struct Reply {
    std::string message;
    int status = 200;  ///< if it goes as JSON

    /// `result`: an object in its form already.
    static Reply of_result(const ClientRequest& request, std::string result);
    /// A result without content, of which `ResultForm` is still to be applied.
    static Reply of_plain(const ClientRequest& request, std::string_view result,
                          std::optional<Milliseconds> ttl = {});
    /// `status` 0: what modern clients get for this code; legacy ones get 200 then.
    static Reply of_error(const ClientRequest& request, RpcError error, int status = 0);
    /// The same with `data` as it is, which may be an upstream's.
    static Reply of_passed_error(const ClientRequest& request, const RpcError& error,
                                 int status = 0);
    static Reply invalid_params(const ClientRequest& request, std::string_view why);
};

}  // namespace crab::mcp
