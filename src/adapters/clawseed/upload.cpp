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

/// The call that an upload belongs to, and who knows whether it still runs.
struct Target {
    std::shared_ptr<PendingReplies> replies;
    std::string request_id;
    PendingReplies::WaitingCall call;

    bool still_runs() const { return replies->find_call(request_id).has_value(); }
};

Error not_running() {
    return fail(ErrorCode::kNotFound,
                "no call of that id is out to this device; upload while it runs, with its id as "
                "call_id")
        .error();
}

/// What the head of the request says of its body.
Result<core::Artifact> read_announcement(const net::HttpRequest& request) {
    core::Artifact announced{
        .content_type =
            std::string(request.find("content-type").value_or("application/octet-stream")),
        .sha256 = net::sha256_of_digest_field(request.find("content-digest").value_or("")),
        .bytes = request.head.content_length.value_or(0)};
    if (announced.sha256.empty() || announced.content_type.empty() ||
        announced.content_type.size() > kMaxContentType)
        return fail(ErrorCode::kInvalidArgs,
                    "an upload needs Content-Digest with a sha-256 (RFC 9530) and a Content-Type "
                    "of at most 128 bytes");
    return announced;
}

Result<Target> find_target(Hub& hub, const core::Principal& principal, std::string request_id) {
    auto replies = hub.find_request(principal, request_id);
    auto call = replies ? replies->find_call(request_id) : std::nullopt;
    if (!call) return fail(not_running());
    if (call->artifacts >= kArtifactsPerCall)
        return fail(ErrorCode::kOversize, "this call has as many artifacts as a call may have");
    return Target{std::move(replies), std::move(request_id), std::move(*call)};
}

/// Takes the body piece by piece into the store, and gives what it has become to the call.
Task<Result<core::Artifact>> receive(net::HttpExchange& exchange, const Hub::Services& services,
                                     const Target& target, core::Artifact announced) {
    core::ArtifactStore& store = *services.artifacts;
    BlockingPool& pool = *services.artifact_pool;
    auto begin = [&store, wanted = std::move(announced)] { return store.begin(wanted); };
    auto begun = co_await pool.run(std::move(begin));
    if (!begun) co_return fail(begun.error());
    // What is given up is removed from the disk by the pool, not here.
    std::shared_ptr<core::ArtifactUpload> upload = std::move(*begun);
    const ScopeExit let_go([&] { pool.post([last = std::move(upload)] {}); });
    for (;;) {
        auto piece = co_await exchange.read_body();
        if (!piece) co_return fail(piece.error());
        if (piece->empty()) break;
        if (!target.still_runs()) co_return fail(not_running());
        auto append = [upload, bytes = std::move(*piece)] { return upload->append(bytes); };
        if (auto written = co_await pool.run(std::move(append)); !written)
            co_return fail(written.error());
    }
    auto finish = [upload] { return upload->finish(); };
    auto stored = co_await pool.run(std::move(finish));
    if (stored && !target.replies->attach(target.request_id, *stored)) {
        auto remove = [&store, id = stored->id] { return store.remove(id); };
        (void)co_await pool.run(std::move(remove));
        co_return fail(not_running());
    }
    co_return stored;
}

void audit_stored(core::AuditLog& audit, const std::string& principal,
                  const core::Artifact& stored) {
    audit.append_event({.kind = "artifact.stored", .by = principal}, [&](json::Writer& writer) {
        writer.key("artifact").string(stored.id).key("principal").string(principal);
        writer.key("bytes").unsigned_integer(stored.bytes).key("sha256").string(stored.sha256);
    });
}

void respond_stored(net::HttpExchange& exchange, const core::Artifact& stored) {
    std::string& out = exchange.begin_response(201, "application/json");
    json::Writer(out)
        .begin_object()
        .key("artifact")
        .string(stored.id)
        .key("bytes")
        .unsigned_integer(stored.bytes)
        .key("expires_at")
        .string(to_rfc3339(stored.expires_at))
        .end_object();
    exchange.finish_response();
}

}  // namespace

Task<void> Front::upload(net::HttpExchange& exchange, core::PrincipalRef principal) {
    Hub& hub = services_.hub;
    const auto refuse = [&](const Error& error) {
        hub.uploads().refused.add();
        exchange.respond_error(upload_status(error.code), token_of(error.code), error.message);
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
    auto announced = read_announcement(exchange.request());
    if (!announced) co_return refuse(announced.error());
    const auto target = find_target(
        hub, *principal, net::find_query(exchange.request().query(), "call_id").value_or(""));
    if (!target) co_return refuse(target.error());
    const auto place = hub.uploads().enter(hub.options()->uploads_at_once, principal->id);
    if (!place) {
        exchange.respond_error(429, "RATE_LIMITED",
                               "too many uploads at once; try again in a moment",
                               {{"Retry-After", "1"}});
        co_return;
    }
    announced->owner = principal->id;
    announced->tenant = target->call.tenant.empty() ? "default" : target->call.tenant;
    announced->caller = target->call.caller;
    announced->call_id = target->call.call_id;
    announced->tool = target->call.tool;

    const auto stored = co_await receive(exchange, hub.services(), *target, std::move(*announced));
    if (!stored) co_return refuse(stored.error());
    hub.uploads().stored.add();
    audit_stored(hub.services().audit, principal->id, *stored);
    respond_stored(exchange, *stored);
}

}  // namespace crab::clawseed
