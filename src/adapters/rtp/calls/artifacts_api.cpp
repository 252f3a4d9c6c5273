#include "adapters/rtp/calls/artifacts_api.hpp"

#include "adapters/rtp/calls/call_wire.hpp"
#include "adapters/rtp/calls/route_errors.hpp"
#include "json/writer.hpp"
#include "net/codec/http_range.hpp"
#include "net/codec/url.hpp"

#include <array>
#include <memory>

#include <fmt/format.h>

namespace crab::rtp {
namespace {

constexpr std::string_view kArtifact = "/v1/artifacts/{artifact}";
constexpr std::size_t kPiece = 128 * 1024;

/// Whether it may ask for results of calls of that tenant.
bool may_look_in(const core::Principal& principal, std::string_view tenant) {
    if (principal.roles.are_of_operator()) return true;
    return principal.may(core::Role::kCaller) && principal.may_act_in(tenant);
}

/// The same for one that is not there and for one that is somebody else's.
void refuse_unknown(net::HttpExchange& exchange) {
    exchange.respond_error(404, "NOT_FOUND", "there is no such artifact, or it has expired");
}

void refuse(net::HttpExchange& exchange, const Error& error) {
    if (error.code == ErrorCode::kNotFound) return refuse_unknown(exchange);
    exchange.respond_error(503, wire_code(error.code), error.message);
}

}  // namespace

void ArtifactsApi::add_routes(net::Routes<core::PrincipalRef>& routes) {
    using Request = net::Routes<core::PrincipalRef>::Request;
    routes.add(
        {.path = "/v1/artifacts",
         .summary =
             "The large results of the caller's own calls; for operators, of all of a tenant",
         .head = true,
         .errors = append_route_error,
         .query = {{"tenant_id", "whose; without it the caller's own tenant"}},
         .answers = {{200, "artifact_list"}},
         .refusals = {403, 503}},
        [this](const Request& request) { return list(request.exchange, request.principal); });
    routes.add({.path = kArtifact,
                .summary = "The bytes of one; ranges and conditions are honoured",
                .head = true,
                .errors = append_route_error,
                .headers = {{"Range", "one range of bytes"},
                            {"If-Range", "the ETag that the range is of"},
                            {"If-None-Match", "the ETag that is known"}},
                .answers = {{200, {}, "*/*"}, {206, {}, "*/*"}, {304, {}, {}}},
                .refusals = {404, 416, 503}},
               [this](const Request& request) {
                   return get(request.exchange, request.principal, request.arguments["artifact"]);
               });
    routes.add({.method = net::Method::kDelete,
                .path = kArtifact,
                .proof = net::FreshProof::kNever,
                .summary = "Delete one; for operators",
                .errors = append_route_error,
                .answers = {{200, "artifact_deleted"}},
                .refusals = {403, 404, 503}},
               [this](const Request& request) {
                   return remove(request.exchange, request.principal,
                                 request.arguments["artifact"]);
               });
}

Task<void> ArtifactsApi::list(net::HttpExchange& exchange, core::PrincipalRef principal) {
    const std::string wanted =
        net::find_query(exchange.request().query(), "tenant_id").value_or("");
    const std::string tenant = wanted.empty() ? principal->tenant.text() : wanted;
    if (!may_look_in(*principal, tenant)) {
        co_return exchange.respond_error(
            403, "FORBIDDEN", "your token does not let you see the artifacts of that tenant");
    }
    auto read = [&store = services_.store, tenant] { return store.list(tenant); };
    auto artifacts = co_await services_.pool.run(principal->id, std::move(read));
    if (!artifacts) co_return refuse(exchange, artifacts.error());
    std::erase_if(*artifacts,
                  [&](const core::Artifact& each) { return !core::may_read(*principal, each); });
    std::string& out = exchange.begin_response(200, "application/json");
    out += R"({"artifacts":[)";
    for (const core::Artifact& artifact : *artifacts) {
        if (&artifact != &artifacts->front()) out += ',';
        core::append_artifact(out, artifact, true);
    }
    out += "]}";
    exchange.finish_response();
}

Task<void> ArtifactsApi::get(net::HttpExchange& exchange, core::PrincipalRef principal,
                             std::string id) {
    auto open = [&store = services_.store, id] { return store.open(id); };
    auto opened = co_await services_.pool.run(principal->id, std::move(open));
    if (!opened) co_return refuse(exchange, opened.error());
    const std::shared_ptr<core::ArtifactBytes> bytes = std::move(*opened);
    const core::Artifact& artifact = bytes->artifact();
    if (!core::may_read(*principal, artifact)) co_return refuse_unknown(exchange);

    const net::HttpRequest& request = exchange.request();
    const std::string tag = fmt::format("\"{}\"", artifact.sha256);
    std::string_view wanted = request.find("range").value_or("");
    if (const auto condition = request.find("if-range"); condition && *condition != tag)
        wanted = {};
    const net::RangeChoice range = net::choose_range(wanted, artifact.bytes);
    const std::string part = range.kind == net::RangeChoice::Kind::kWhole
                                 ? std::string()
                                 : net::content_range(range, artifact.bytes);
    // Bytes of a device are never a page of the gateway's origin.
    std::array<net::HttpHeader, 7> fields{
        {{"ETag", tag},
         {"Accept-Ranges", "bytes"},
         {"Cache-Control", "private, immutable"},
         {"X-Content-Type-Options", "nosniff"},
         {"Content-Security-Policy", "sandbox; default-src 'none'"},
         {"Content-Disposition", "attachment"},
         {"Content-Range", part}}};
    const std::span<const net::HttpHeader> headers(
        fields.data(), part.empty() ? fields.size() - 1 : fields.size());
    if (const auto known = request.find("if-none-match"); known && (*known == tag || *known == "*"))
        co_return exchange.respond(304, {}, {}, headers.first(1));
    if (range.kind == net::RangeChoice::Kind::kUnsatisfiable) {
        co_return exchange.respond_error(416, "INVALID_ARGS",
                                         fmt::format("the artifact has {} bytes", artifact.bytes),
                                         {{"Content-Range", part}});
    }
    downloads_.fetch_add(1, std::memory_order_relaxed);
    exchange.start_sized_stream(part.empty() ? 200 : 206, artifact.content_type, range.length,
                                headers);
    if (request.method() == "HEAD") co_return exchange.end_stream();
    for (std::uint64_t sent = 0; sent < range.length;) {
        auto read = [bytes, from = range.first + sent,
                     most = static_cast<std::size_t>(std::min<std::uint64_t>(
                         kPiece, range.length - sent))] { return bytes->read(from, most); };
        const Result<std::string> piece =
            co_await services_.pool.run(principal->id, std::move(read));
        // a break tells that it is not whole
        if (!piece || piece->empty() || exchange.caller_gone()) co_return;
        exchange.write_chunk(*piece);
        sent += piece->size();
        co_await exchange.drained();
    }
    exchange.end_stream();
}

Task<void> ArtifactsApi::remove(net::HttpExchange& exchange, core::PrincipalRef principal,
                                std::string id) {
    if (!principal->roles.are_of_operator())
        co_return exchange.respond_error(
            403, "FORBIDDEN", "only operators delete artifacts; others leave by themselves");
    auto work = [&store = services_.store, id] { return store.remove(id); };
    const auto removed = co_await services_.pool.run(principal->id, std::move(work));
    if (!removed) co_return refuse(exchange, removed.error());
    if (!*removed) co_return refuse_unknown(exchange);
    if (services_.on_deleted) services_.on_deleted(id, *principal);
    std::string& out = exchange.begin_response(200, "application/json");
    json::Writer(out)
        .begin_object()
        .key("deleted")
        .boolean(true)
        .key("artifact")
        .string(id)
        .end_object();
    exchange.finish_response();
}

}  // namespace crab::rtp
