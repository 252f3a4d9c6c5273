#include "apps/crab/admin_client.hpp"

#include "apps/crab/exit_codes.hpp"
#include "apps/crab/http_connection.hpp"
#include "apps/crab/terminal.hpp"
#include "config/load.hpp"
#include "config/paths.hpp"
#include "net/codec/http_write.hpp"
#include "net/codec/sse.hpp"
#include "net/codec/url.hpp"

#include <unistd.h>

#include <fmt/format.h>

namespace crab::app {
namespace {

/// The socket of a service that root started, when root's own has nobody behind it.
constexpr const char* kServiceSocket = "/run/crab/admin.sock";

std::filesystem::path find_socket(const Target& target) {
    const config::Paths paths = config::Paths::find(false, ::getuid());
    // A configuration that does not load (its secrets may be the service's) still leaves the default socket.
    const config::GatewayConfig config = config::load_first(target.config, paths).value_or(config::GatewayConfig{});
    const std::filesystem::path socket = config::client_socket(target.socket, config, paths);
    std::error_code error;
    const bool by_default = socket == paths.admin_socket_of({});
    return by_default && !std::filesystem::exists(socket, error) && std::filesystem::exists(kServiceSocket, error) ? kServiceSocket : socket;
}

}  // namespace

struct AdminClient::State {
    HttpAddress address;
    std::string prefix;  // of the URL's path
    std::string where;
    Secret<std::string> token;

    Result<HttpReply> send(std::string_view method, const std::string& path, std::string_view body, bool events, Deadline deadline,
                           const std::function<void(std::string_view)>& on_part = {}) const {
        const std::string bearer = "Bearer " + token.reveal();
        std::vector<net::HttpHeader> headers{{"Accept", events ? "text/event-stream" : "application/json"}, {"Connection", "close"}};
        if (!token.reveal().empty()) headers.push_back({"Authorization", bearer});
        std::string request;
        const std::string_view content_type = body.empty() ? "" : "application/json";
        if (!net::append_request(request, method, prefix + path, address.host_field, content_type, body, headers)) {
            return fail(ErrorCode::kInvalidArgs, "the URL or the token holds a character that may not stand in a request");
        }
        Result<HttpReply> reply = exchange(address, method, request, deadline, on_part);
        if (!reply && reply.error().code == ErrorCode::kUnavailable) {
            return fail(ErrorCode::kUnavailable, fmt::format("cannot reach the gateway at {}: {}", where, reply.error().message));
        }
        if (!reply && reply.error().code == ErrorCode::kForbidden) {
            return fail(ErrorCode::kForbidden, fmt::format("may not open {}; be the user the gateway runs as", where));
        }
        return reply;
    }
};

AdminClient::AdminClient(std::unique_ptr<State> state) : state_(std::move(state)) {}
AdminClient::AdminClient(AdminClient&&) noexcept = default;
AdminClient::~AdminClient() = default;

Result<AdminClient> AdminClient::make(const Target& target) {
    auto state = std::make_unique<State>();
    if (target.url.empty()) {
        state->address.socket = find_socket(target);
        state->where = state->address.socket.string();
        return AdminClient(std::move(state));
    }
    std::string_view rest = target.url;
    if (!rest.starts_with("http://")) return fail(ErrorCode::kInvalidArgs, "--url has to start with http:// (put a TLS proxy's address behind a tunnel)");
    rest.remove_prefix(7);
    const std::string_view authority = rest.substr(0, rest.find('/'));
    std::string_view path = rest.substr(authority.size());
    while (path.ends_with('/')) path.remove_suffix(1);
    const auto host = net::parse_host(authority);
    if (!host) return fail(ErrorCode::kInvalidArgs, "--url has no valid host; write http://host:port");
    state->address.host = host->host;
    state->address.port = std::to_string(host->port.value_or(80));
    state->address.host_field = authority;
    state->prefix = path;
    state->where = target.url;
    state->token = target.token;
    return AdminClient(std::move(state));
}

bool AdminClient::is_remote() const { return state_->address.socket.empty(); }
std::string AdminClient::where() const { return state_->where; }

namespace {

Result<Reply> parsed(Result<HttpReply> answer) {
    if (!answer) return std::unexpected(answer.error());
    Reply reply{answer->status, {}};
    if (answer->body.empty()) return reply;
    Result<json::Value> body = json::Value::parse(answer->body, {.max_bytes = std::size_t{64} << 20, .max_depth = 128});
    if (body) reply.body = std::move(*body);
    if (!body && answer->status < 300) return fail(ErrorCode::kInternal, "the gateway's answer is not JSON");
    return reply;
}

}  // namespace

Result<Reply> AdminClient::get(const std::string& path, Deadline deadline) { return parsed(state_->send("GET", path, {}, false, deadline)); }

Result<Reply> AdminClient::post(const std::string& path, const json::Value& body, Deadline deadline) {
    return parsed(state_->send("POST", path, body.dump(), false, deadline));
}

Result<Reply> AdminClient::stream(const std::string& path, const json::Value& body, const OnEvent& on_event, Deadline deadline) {
    net::SseParser parser(std::size_t{64} << 20);
    const auto on_part = [&](std::string_view part) {
        for (auto event = parser.next(part); event.kind == net::SseEvent::Kind::kEvent; event = parser.next(part)) on_event(event.type, event.data);
    };
    return parsed(state_->send("POST", path, body.dump(), true, deadline, on_part));
}

Result<std::string> AdminClient::get_text(const std::string& path, Deadline deadline) {
    Result<HttpReply> answer = state_->send("GET", path, {}, false, deadline);
    if (!answer) return std::unexpected(answer.error());
    if (answer->status >= 300) return fail(ErrorCode::kUnavailable, fmt::format("{} answered {}", path, answer->status));
    return std::move(answer->body);
}

Result<json::Value> accepted(Result<Reply> reply) {
    if (!reply) return std::unexpected(reply.error());
    if (reply->status >= 200 && reply->status < 300) return std::move(reply->body);
    const json::Value* error = reply->body.find("error");
    const json::Value* holder = error && error->is_object() ? error : &reply->body;
    const json::Value* message = error && error->is_object() ? error->find("message") : error;
    const json::Value* token = holder->find("code");
    ErrorCode code = reply->status == 401 ? ErrorCode::kUnauthenticated
                     : reply->status == 403 ? ErrorCode::kForbidden
                     : reply->status == 404 ? ErrorCode::kNotFound
                     : reply->status == 503 ? ErrorCode::kUnavailable
                     : reply->status == 504 ? ErrorCode::kTimeout
                     : reply->status < 500 ? ErrorCode::kInvalidArgs
                                           : ErrorCode::kInternal;
    if (token && token->as_string()) code = find_error_code(*token->as_string()).value_or(code);
    std::string text = message && message->as_string() ? *message->as_string() : fmt::format("the gateway answered with HTTP status {}", reply->status);
    return fail(code, std::move(text));
}

int report(const Error& error) {
    complain(fmt::format("{}: {}", token_of(error.code), error.message));
    if (error.code == ErrorCode::kUnavailable) {
        complain("start it with crab gateway run, or name it with --socket PATH, CRAB_SOCKET or --url");
    } else {
        complain(next_step(error.code));
    }
    return exit_code_of(error.code);
}

}  // namespace crab::app
