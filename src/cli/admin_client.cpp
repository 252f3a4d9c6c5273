#include "cli/admin_client.hpp"

#include "base/coded_text.hpp"
#include "base/cut_text.hpp"
#include "base/error_kind.hpp"
#include "cli/gateway_endpoint.hpp"
#include "cli/output/exit_codes.hpp"
#include "cli/output/pretty_json.hpp"
#include "cli/output/terminal.hpp"
#include "net/codec/sse.hpp"
#include "net/http/blocking_client.hpp"

#include <cerrno>
#include <utility>
#include <vector>

#include <unistd.h>

#include <fmt/format.h>

namespace crab::cli {
namespace {

constexpr std::size_t kMaxBody = std::size_t{64} << 20;
constexpr std::size_t kMostWords = 200;

std::string hint_details(std::string_view hint) {
    return json::Value::object({{"hint", hint}}).dump();
}

/// The place is said once, as the person wrote it.
std::unexpected<Error> not_reached(const GatewayEndpoint& place, const Error& error) {
    std::string_view why = error.message;
    for (const std::string& said : {fmt::format("cannot connect to {}: ", place.endpoint.text()),
                                    fmt::format("{}: ", place.endpoint.text())}) {
        if (why.starts_with(said)) why.remove_prefix(said.size());
    }
    const std::string_view hint =
        place.is_remote()
            ? "see that the gateway runs there, and that its listen.public is this address"
            : "start it with crab gateway run, or name it with --socket PATH, CRAB_SOCKET or --url";
    return fail(ErrorCode::kUnavailable,
                fmt::format("cannot reach the gateway at {}: {}", place.text, why),
                hint_details(hint));
}

std::unexpected<Error> not_trusted(Error error) {
    error.details = hint_details(
        "name the authority that vouches for the gateway with --ca-file PATH; crab tls init at the "
        "gateway says which");
    return std::unexpected(std::move(error));
}

}  // namespace

struct AdminClient::State {
    State(GatewayEndpoint found, net::BlockingClient::Options options)
        : place(std::move(found)), http(place.endpoint, std::move(options)) {}

    const GatewayEndpoint place;
    net::BlockingClient http;
    std::vector<std::pair<std::string, std::string>> headers{};

    Result<net::ClientResponse> send(std::string method, const std::string& path, std::string body,
                                     std::string accept, Deadline deadline,
                                     const net::BlockingClient::OnBody& on_body = {}) {
        net::ClientRequest request{.method = std::move(method),
                                   .target = place.prefix + path,
                                   .headers = {{"Accept", std::move(accept)}},
                                   .body = std::move(body)};
        if (!request.body.empty()) request.headers.emplace_back("Content-Type", "application/json");
        if (!place.token.reveal().empty())
            request.headers.emplace_back("Authorization", "Bearer " + place.token.reveal());
        request.headers.insert(request.headers.end(), headers.begin(), headers.end());
        Result<net::ClientResponse> response = http.send(request, deadline, on_body);
        if (response) return response;
        if (response.error().code == ErrorCode::kForbidden)
            return not_trusted(std::move(response.error()));
        if (response.error().code != ErrorCode::kUnavailable) return response;
        if (!place.is_remote() && ::access(place.endpoint.path.c_str(), R_OK | W_OK) != 0 &&
            errno == EACCES) {
            return fail(
                ErrorCode::kForbidden,
                fmt::format("may not open {}; be the user the gateway runs as", place.text));
        }
        return not_reached(place, response.error());
    }
};

AdminClient::AdminClient(std::unique_ptr<State> state) : state_(std::move(state)) {}
AdminClient::AdminClient(AdminClient&&) noexcept = default;
AdminClient::~AdminClient() = default;

Result<AdminClient> AdminClient::make(const Target& target) {
    auto place = find_gateway(target);
    if (!place) return fail(std::move(place.error()));
    // A call may be silent for as long as it runs; its own deadline ends the wait.
    net::BlockingClient::Options options{
        .io_timeout = std::chrono::hours(24), .max_body_bytes = kMaxBody, .tls = place->tls};
    if (place->is_remote()) options.host_header = place->host;
    return AdminClient(std::make_unique<State>(std::move(*place), std::move(options)));
}

void AdminClient::add_header(std::string name, std::string value) {
    state_->headers.emplace_back(std::move(name), std::move(value));
}
bool AdminClient::is_remote() const { return state_->place.is_remote(); }
std::string AdminClient::where() const { return state_->place.text; }

namespace {

Result<Reply> parsed(int status, std::string_view text) {
    Reply reply{status, {}, {}};
    if (text.empty()) return reply;
    Result<json::Value> body = json::Value::parse(text, {.max_bytes = kMaxBody, .max_depth = 128});
    if (body) reply.body = std::move(*body);
    if (!body && status < 300)
        return fail(ErrorCode::kInternal, "the gateway's answer is not JSON");
    if (!body) reply.words = cut_text(text.substr(0, text.find_first_of("\r\n")), kMostWords);
    return reply;
}

Result<Reply> parsed(Result<net::ClientResponse> answer) {
    if (!answer) return fail(answer.error());
    return parsed(answer->status, answer->body);
}

}  // namespace

Result<Reply> AdminClient::get(const std::string& path, Deadline deadline) {
    return parsed(state_->send("GET", path, {}, "application/json", deadline));
}

Result<Reply> AdminClient::post(const std::string& path, const json::Value& body,
                                Deadline deadline) {
    return parsed(state_->send("POST", path, body.dump(), "application/json", deadline));
}

Result<Reply> AdminClient::put(const std::string& path, const json::Value& body,
                               Deadline deadline) {
    return parsed(state_->send("PUT", path, body.dump(), "application/json", deadline));
}

Result<Reply> AdminClient::patch(const std::string& path, const json::Value& body,
                                 Deadline deadline) {
    return parsed(state_->send("PATCH", path, body.dump(), "application/json", deadline));
}

Result<Reply> AdminClient::remove(const std::string& path, Deadline deadline) {
    return parsed(state_->send("DELETE", path, {}, "application/json", deadline));
}

Result<int> AdminClient::download(const std::string& path,
                                  const std::function<bool(std::string_view part)>& on_body) {
    const auto answer = state_->send("GET", path, {}, "*/*", kNoDeadline, on_body);
    if (!answer) return fail(answer.error());
    return answer->status;
}

/// Reads an answer that is a stream of events, which `on_event` gets until it answers false, or
/// else the JSON of another answer.
Result<Reply> AdminClient::read_stream(
    std::string method, const std::string& path, std::string body,
    const std::function<bool(const ServerEvent& event)>& on_event, Deadline deadline) {
    net::SseParser parser(kMaxBody);
    std::string text;  // of an answer that is no stream: it has no events
    bool is_stream = false, wanted = true;
    const auto on_body = [&](std::string_view part) {
        if (!is_stream) text.append(part);
        for (auto event = parser.next(part); wanted && event.kind == net::SseEvent::Kind::kEvent;
             event = parser.next(part)) {
            is_stream = true;
            wanted = on_event({.type = event.type, .id = event.id, .data = event.data});
        }
        return wanted && text.size() <= kMaxBody;
    };
    const auto answer = state_->send(std::move(method), path, std::move(body), "text/event-stream",
                                     deadline, on_body);
    if (!answer) return fail(answer.error());
    const bool is_json =
        !is_stream && !answer->find("content-type").value_or("").starts_with("text/event-stream");
    return parsed(answer->status, is_json ? text : std::string_view());
}

Result<Reply> AdminClient::stream(const std::string& path, const json::Value& body,
                                  const OnEvent& on_event, Deadline deadline) {
    const auto take = [&](const ServerEvent& event) {
        on_event(event.type, event.data);
        return true;
    };
    return read_stream("POST", path, body.dump(), take, deadline);
}

Result<Reply> AdminClient::follow(const std::string& path,
                                  const std::function<bool(const ServerEvent& event)>& on_event) {
    return read_stream("GET", path, {}, on_event, kNoDeadline);
}

Result<json::Value> accepted(Result<Reply> reply) {
    if (!reply) return std::unexpected(reply.error());
    if (reply->status >= 200 && reply->status < 300) return std::move(reply->body);
    const json::Value* error = reply->body.find("error");
    const json::Value* holder = error && error->is_object() ? error : &reply->body;
    const json::Value* message = error && error->is_object() ? error->find("message") : error;
    const json::Value* token = holder->find("code");
    ErrorCode code = reply->status == 401   ? ErrorCode::kUnauthenticated
                     : reply->status == 403 ? ErrorCode::kForbidden
                     : reply->status == 404 ? ErrorCode::kNotFound
                     : reply->status == 503 ? ErrorCode::kUnavailable
                     : reply->status == 504 ? ErrorCode::kTimeout
                     : reply->status < 500  ? ErrorCode::kInvalidArgs
                                            : ErrorCode::kInternal;
    if (token && token->as_string()) code = find_error_code(*token->as_string()).value_or(code);
    std::string text = message && message->as_string() ? *message->as_string()
                       : reply->words.empty()
                           ? fmt::format("the gateway answered with HTTP status {}", reply->status)
                           : fmt::format("the gateway answered with HTTP status {}: {}",
                                         reply->status, reply->words);
    return fail(code, std::move(text));
}

Result<json::Value> fetch(const Target& target, const std::string& path) {
    Result<AdminClient> client = AdminClient::make(target);
    return client ? accepted(client->get(path)) : fail(client.error());
}

}  // namespace crab::cli
