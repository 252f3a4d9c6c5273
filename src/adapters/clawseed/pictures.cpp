// Pictures for chats: uploaded before the message that names them. docs/protocols/clawseed.md,
// section 8, "Pictures".

#include "adapters/clawseed/front.hpp"
#include "base/encoding.hpp"
#include "core/call/picture.hpp"

#include <array>

#include <fmt/format.h>

namespace crab::clawseed {
namespace {

std::string new_picture_id(IdSource& ids) {
    return fmt::format("att_{:016x}{:016x}", ids.random(), ids.random());
}

}  // namespace

Task<void> Front::upload_picture(const Request& request) {
    net::HttpExchange& exchange = request.exchange;
    const auto own = co_await own_session(request);
    if (!own) co_return;
    const core::ChatSession& of = own->session;
    core::NewChatSession session{.id = of.id,
                                 .owner = of.owner,
                                 .name = of.name,
                                 .persona = of.persona,
                                 .created_at = of.created_at};
    const auto refuse = [&](const Error& error) {
        exchange.respond_error(upload_status(error.code), "IMAGE_UPLOAD_FAILED", error.message);
    };
    const auto place = services_.hub.uploads().enter(services_.hub.options()->uploads_at_once,
                                                     request.principal->id);
    if (!place) {
        exchange.respond_error(429, "RATE_LIMITED",
                               "too many uploads at once; try again in a moment",
                               {{"Retry-After", "1"}});
        co_return;
    }
    std::string bytes;
    for (;;) {
        const auto piece = co_await exchange.read_body();
        if (!piece) co_return refuse(piece.error());
        if (piece->empty()) break;
        bytes += *piece;
        if (bytes.size() > core::kMostPictureBytes) break;  // inspect_picture() says so
    }
    auto picture = core::inspect_picture(bytes);
    if (!picture) co_return refuse(picture.error());
    picture->id = new_picture_id(loop_.ids());
    const SystemTime now = loop_.clock().system_now();
    auto keep = [&store = services_.hub.services().chats, session = std::move(session), now,
                 picture = *picture, bytes = std::move(bytes)] {
        return store.keep_picture(session, picture, bytes, now);
    };
    if (const auto kept = co_await services_.hub.services().store_pool.run(std::move(keep)); !kept)
        co_return refuse(kept.error());
    std::string& out = exchange.begin_response(201, "application/json");
    core::append_picture(out, *picture);
    exchange.finish_response();
}

Task<void> Front::send_picture(const Request& request) {
    net::HttpExchange& exchange = request.exchange;
    const std::string& picture = request.arguments["picture"];
    if (!core::is_picture_id(picture)) co_return net::respond_unknown_path(exchange);
    const auto own = co_await own_session(request);
    if (!own) co_return;
    auto find = [&store = services_.hub.services().chats, session_id = own->session.id, picture] {
        return store.find_picture(session_id, picture);
    };
    const auto found = co_await services_.hub.services().store_pool.run(std::move(find));
    if (!found || !*found) {
        exchange.respond_error(404, "ATTACHMENT_UNAVAILABLE",
                               "the picture is not there, or belongs to another chat session");
        co_return;
    }
    // Bytes of a phone are never a page of the gateway's origin.
    constexpr std::array<net::HttpHeader, 3> kFields{
        {{"Cache-Control", "private, no-store"},
         {"X-Content-Type-Options", "nosniff"},
         {"Content-Security-Policy", "sandbox; default-src 'none'"}}};
    exchange.respond(200, (*found)->picture.mime_type, (*found)->bytes, kFields);
}

}  // namespace crab::clawseed
