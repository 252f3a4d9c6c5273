// Large results: a device uploads one for a call that it is answering. docs/protocols/clawseed.md,
// section 9, "Large results".

#include "adapters/clawseed/front.hpp"
#include "base/scope_exit.hpp"
#include "json/writer.hpp"
#include "net/codec/http_range.hpp"
#include "net/codec/url.hpp"

#include <fmt/format.h>

namespace crab::clawseed {
namespace {

constexpr std::size_t kArtifactsPerCall = 16;
constexpr std::size_t kMaxContentType = 128;

}  // namespace

Task<void> Front::upload(net::HttpExchange& exchange, core::PrincipalRef principal) {
    const net::HttpRequest& request = exchange.request();
    Hub& hub = services_.hub;
    const auto refuse = [&](const Error& error) {
        hub.uploads().refused.add();
        exchange.respond_error(upload_status(error.code), token_of(error.code), error.message);
    };
    const auto not_running = [] {
        return fail(ErrorCode::kNotFound,
                    "no call of that id is out to this device; upload while it runs, with its id "
                    "as call_id")
            .error();
    };
    if (!principal->may(core::Role::kDevice)) {
        exchange.respond_error(
            403, "FORBIDDEN",
            "your token does not let you upload results; ask for one with the role device");
        co_return;
    }
    if (hub.services().artifacts == nullptr) {
        exchange.respond_error(404, "NOT_FOUND", "this gateway stores no artifacts");
        co_return;
    }
    const std::string request_id = net::find_query(request.query(), "call_id").value_or("");
    const std::string content_type(
        request.find("content-type").value_or("application/octet-stream"));
    core::Artifact announced{
        .owner = principal->id,
        .content_type = content_type,
        .sha256 = net::sha256_of_digest_field(request.find("content-digest").value_or("")),
        .bytes = request.head.content_length.value_or(0)};
    if (announced.sha256.empty() || content_type.empty() || content_type.size() > kMaxContentType) {
        co_return refuse(fail(ErrorCode::kInvalidArgs,
                              "an upload needs Content-Digest with a sha-256 (RFC 9530) and a "
                              "Content-Type of at most 128 bytes")
                             .error());
    }
    const std::shared_ptr<PendingReplies> replies = hub.find_request(*principal, request_id);
    const auto call = replies ? replies->find_call(request_id) : std::nullopt;
    if (!call) co_return refuse(not_running());
    if (call->artifacts >= kArtifactsPerCall)
        co_return refuse(
            fail(ErrorCode::kOversize, "this call has as many artifacts as a call may have")
                .error());
    const auto place = hub.uploads().enter(hub.options()->uploads_at_once);
    if (!place) {
        exchange.respond_error(429, "RATE_LIMITED",
                               "too many uploads at once; try again in a moment",
                               {{"Retry-After", "1"}});
        co_return;
    }
    announced.tenant = call->tenant.empty() ? "default" : call->tenant;
    announced.call_id = call->call_id;
    announced.tool = call->tool;

    core::ArtifactStore& store = *hub.services().artifacts;
    BlockingPool& pool = *hub.services().artifact_pool;
    auto begin = [&store, announced] { return store.begin(announced); };
    auto begun = co_await pool.run(std::move(begin));
    if (!begun) co_return refuse(begun.error());
    // What is given up is removed from the disk by the pool, not here.
    std::shared_ptr<core::ArtifactUpload> upload = std::move(*begun);
    const ScopeExit let_go([&] { pool.post([last = std::move(upload)] {}); });
    for (;;) {
        auto piece = co_await exchange.read_body();
        if (!piece) co_return refuse(piece.error());
        if (piece->empty()) break;
        if (!replies->find_call(request_id)) co_return refuse(not_running());
        auto append = [upload, bytes = std::move(*piece)] { return upload->append(bytes); };
        if (auto written = co_await pool.run(std::move(append)); !written)
            co_return refuse(written.error());
    }
    auto finish = [upload] { return upload->finish(); };
    auto stored = co_await pool.run(std::move(finish));
    if (!stored) co_return refuse(stored.error());
    if (!replies->attach(request_id, *stored)) {
        auto remove = [&store, id = stored->id] { return store.remove(id); };
        (void)co_await pool.run(std::move(remove));
        co_return refuse(not_running());
    }
    hub.uploads().stored.add();
    hub.services().audit.append_event({.kind = "artifact.stored", .by = principal->id},
                                      [&](json::Writer& writer) {
                                          writer.key("artifact")
                                              .string(stored->id)
                                              .key("principal")
                                              .string(principal->id)
                                              .key("bytes")
                                              .unsigned_integer(stored->bytes)
                                              .key("sha256")
                                              .string(stored->sha256);
                                      });
    std::string& out = exchange.begin_response(201, "application/json");
    json::Writer(out)
        .begin_object()
        .key("artifact")
        .string(stored->id)
        .key("bytes")
        .unsigned_integer(stored->bytes)
        .key("expires_at")
        .string(to_rfc3339(stored->expires_at))
        .end_object();
    exchange.finish_response();
}

}  // namespace crab::clawseed
