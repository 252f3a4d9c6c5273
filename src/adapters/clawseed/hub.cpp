#include "adapters/clawseed/hub.hpp"

#include "adapters/clawseed/chat.hpp"
#include "adapters/clawseed/device_session.hpp"
#include "base/closest_name.hpp"
#include "base/cut_text.hpp"
#include "base/log.hpp"
#include "json/writer.hpp"
#include "trust/slug.hpp"

#include <algorithm>
#include <ranges>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <malloc.h>

namespace crab::clawseed {
namespace {

constexpr std::size_t kMostKeptRefusals = 256;  // devices

constexpr std::string_view kStandardAgent = "crab";

std::string link_key(std::string_view principal, std::string_view session_id) {
    return fmt::format("{}\n{}", principal, session_id);
}
std::string link_key(const core::Principal& principal, std::string_view session_id) {
    return link_key(principal.id, session_id);
}

/// No fallback to another agent, which may have other rights.
std::string no_such_agent(std::string_view name, const std::vector<std::string>& agents) {
    const std::string_view near = closest_name(name, agents);
    if (!near.empty())
        return fmt::format("no agent {} is configured; did you mean {}?", name, near);
    return fmt::format("no agent {} is configured; {}", name,
                       agents.empty() ? "there is only the standard one, crab"
                                      : fmt::format("there are crab, {}", fmt::join(agents, ", ")));
}

/// Connections with one identity are one device (protocol page, first paragraph).
std::string identity_of(const core::Principal& principal, std::string_view device_name) {
    if (!principal.device.empty()) return fmt::format("record\n{}", principal.device);
    return fmt::format("{}\n{}", principal.id, device_name);
}

}  // namespace

Hub::~Hub() = default;

Result<ConnectionId> Hub::enter(const core::Principal& principal) {
    const std::scoped_lock lock(mutex_);
    std::size_t& count = per_principal_[principal.id];
    const std::size_t most = options_.get()->max_connections_per_principal;
    if (count >= most) {
        return fail(Error{.code = ErrorCode::kRateLimited,
                          .message = fmt::format("{} has {} connections already; close one first",
                                                 principal.id, most),
                          .details = {},
                          .retryable = true,
                          .retry_after = Milliseconds(5000)});
    }
    ++count;
    return ConnectionId{next_connection_++};
}

void Hub::leave(ConnectionId connection, const core::Principal& principal) {
    services_.registry.remove_owner(connection);
    const std::scoped_lock lock(mutex_);
    const auto it = per_principal_.find(principal.id);
    if (it != per_principal_.end() && --it->second == 0) per_principal_.erase(it);
}

Result<Hub::ChatOpening> Hub::open_chat(const core::PrincipalRef& principal,
                                        std::string_view session_id, std::string_view name,
                                        std::string_view persona) {
    const auto mismatch = [] {
        return fail(ErrorCode::kForbidden,
                    "this chat session belongs to another principal; use another session_id");
    };
    net::EventLoop& loop = *net::EventLoop::current();
    core::ChatSession session{.id = ChatSessionId(std::string(session_id)),
                              .owner = principal->id,
                              .name = std::string(name),
                              .persona = {},
                              .created_at = services_.clock.system_now(),
                              .last_activity = services_.clock.system_now(),
                              .message_count = 0};
    const auto current = options_.get();
    const bool unknown = !persona.empty() && persona != kStandardAgent &&
                         std::ranges::find(current->personas, persona) == current->personas.end();
    if (!unknown && persona != kStandardAgent) session.persona = persona;
    bool known = !session_id.empty() && find_live(session_id);
    if (session.id.empty()) {
        session.id = ChatSessionId(std::string(loop.ids().uuid_v7().view()));
    } else if (!known) {
        // One indexed read of a local file; an upgrade is decided at once, and only clients that
        // name a session pay for it.
        auto stored = services_.chats.find(session.id);
        if (!stored) return fail(std::move(stored.error()));
        if (*stored) {
            if ((*stored)->owner != principal->id) return mismatch();
            known = true;
            const bool unnamed = (*stored)->name.empty();
            session = std::move(**stored);
            if (unnamed && !name.empty()) {
                session.name = name;
                services_.store_pool.post(
                    [&store = services_.chats, id = session.id, given = session.name] {
                        (void)store.rename(id, given);
                    });
            }
        }
    }
    // a chat keeps the agent that it began with
    if (unknown && !known)
        return fail(ErrorCode::kNotFound, no_such_agent(persona, current->personas));
    const std::scoped_lock lock(mutex_);
    ChatOpening opening;
    auto& chat = chats_[session.id.text()];
    if (chat && chat->principal()->id != principal->id) return mismatch();
    if (!chat) chat = std::make_shared<Chat>(*this, loop, *runner_of(loop), principal, session);
    opening.chat = chat;
    opening.chat_ref = Chat::Ref(chat);
    opening.session = chat->session();
    opening.resumed = opening.session.message_count > 0;
    auto& link = links_[link_key(*principal, session.id.text())];
    opening.replies = link.lock();
    if (!opening.replies) {
        link = opening.replies = std::make_shared<PendingReplies>(discard_artifacts());
        sweep_links();
    }
    return opening;
}

PendingReplies::Discard Hub::discard_artifacts() const {
    if (services_.artifacts == nullptr) return {};
    return [&store = *services_.artifacts,
            &pool = *services_.artifact_pool](std::vector<std::string> ids) {
        pool.post([&store, gone = std::move(ids)] {
            for (const std::string& id : gone) (void)store.remove(id);
        });
    };
}

std::shared_ptr<PendingReplies> Hub::find_request(const core::Principal& principal,
                                                  std::string_view request_id) const {
    const std::string prefix = link_key(principal, {});
    const std::scoped_lock lock(mutex_);
    for (auto it = links_.lower_bound(prefix); it != links_.end() && it->first.starts_with(prefix);
         ++it) {
        if (auto replies = it->second.lock(); replies && replies->find_call(request_id))
            return replies;
    }
    return nullptr;
}

std::shared_ptr<PendingReplies> Hub::find_replies(std::string_view principal,
                                                  std::string_view session_id) const {
    const std::scoped_lock lock(mutex_);
    const auto it = links_.find(link_key(principal, session_id));
    return it == links_.end() ? nullptr : it->second.lock();
}

std::shared_ptr<DeviceSession> Hub::session_of(ConnectionId connection) const {
    const std::scoped_lock lock(mutex_);
    const auto it = live_.find(connection);
    return it == live_.end() ? nullptr : it->second.session.lock();
}

void Hub::ask_for_other(ConnectionId connection, RequestOfOther request, TellOther tell) {
    if (const auto session = session_of(connection))
        session->ask_for_other(std::move(request), std::move(tell));
    else
        tell({.kind = WordToOther::Kind::kGone});
}

void Hub::cancel_for_other(ConnectionId connection, std::string request_id) {
    if (const auto session = session_of(connection))
        session->cancel_for_other(std::move(request_id));
}

void Hub::heard_by_other(ConnectionId connection, std::string request_id) {
    if (const auto session = session_of(connection)) session->heard_by_other(std::move(request_id));
}

/// Removes expired links whenever there are twice as many as the last sweep left.
void Hub::sweep_links() {  // with mutex_ held
    if (links_.size() < sweep_links_at_) return;
    std::erase_if(links_, [](const auto& link) { return link.second.expired(); });
    sweep_links_at_ = std::max(kFirstSweep, 2 * links_.size());
}

bool Hub::find_live(std::string_view session_id) const {
    const std::scoped_lock lock(mutex_);
    return chats_.contains(session_id);
}

std::shared_ptr<Chat> Hub::find_chat(const core::Principal& principal,
                                     std::string_view session_id) {
    const std::scoped_lock lock(mutex_);
    const auto it = chats_.find(session_id);
    return it != chats_.end() && it->second->principal()->id == principal.id ? it->second : nullptr;
}

std::vector<std::shared_ptr<Chat>> Hub::chats_of(const core::Principal& principal) const {
    const std::scoped_lock lock(mutex_);
    std::vector<std::shared_ptr<Chat>> found;
    for (const auto& [id, chat] : chats_) {
        if (chat->principal()->id == principal.id) found.push_back(chat);
    }
    return found;
}

void Hub::settle_chat(const std::shared_ptr<Chat>& chat) {
    const std::scoped_lock lock(mutex_);
    if (chat->ref_count() > 0 || chat->state() == ChatState::kRunning) return;
    const auto it = chats_.find(chat->id());
    if (it != chats_.end() && it->second == chat) chats_.erase(it);
}

void Hub::stop_chats(const std::function<void()>& done) {
    std::vector<std::shared_ptr<Chat>> all;
    {
        const std::scoped_lock lock(mutex_);
        for (const auto& [id, chat] : chats_) all.push_back(chat);
    }
    auto left = std::make_shared<std::atomic<std::size_t>>(all.size() + 1);
    const auto one_less = [left, done] {
        if (left->fetch_sub(1) == 1) done();
    };
    for (const auto& chat : all) chat->stop([one_less, chat] { one_less(); });
    one_less();
}

std::string Hub::take_slug(const core::Principal& principal, std::string_view device_name) {
    const std::string identity = identity_of(principal, device_name);
    std::string base =
        !principal.device.empty()
            ? principal.device
            : trust::make_slug(device_name.empty() ? std::string_view(principal.id) : device_name,
                               "device");
    // names of tool hosts and other sources are not for devices
    base = trust::unique_slug(base, [&](const std::string& candidate) {
        return services_.registry.is_reserved(candidate + "__");
    });
    const std::scoped_lock lock(mutex_);
    const std::string slug = trust::unique_slug(base, [&](const std::string& candidate) {
        const auto it = slugs_.find(candidate);
        return it != slugs_.end() && it->second.identity != identity;
    });
    SlugUse& holder = slugs_[slug];
    holder.identity = identity;
    ++holder.users;
    return slug;
}

void Hub::release_slug(const std::string& slug) {
    const std::scoped_lock lock(mutex_);
    const auto it = slugs_.find(slug);
    if (it != slugs_.end() && --it->second.users == 0) slugs_.erase(it);
}

void Hub::add(const std::shared_ptr<DeviceSession>& session, ConnectedDevice device) {
    const std::scoped_lock lock(mutex_);
    const ConnectionId id = device.connection;
    live_[id] = LiveConnection{.session = session, .device = std::move(device)};
}

void Hub::update(ConnectionId connection, std::size_t tools, std::string slug,
                 std::string display_name) {
    const std::scoped_lock lock(mutex_);
    const auto it = live_.find(connection);
    if (it == live_.end()) return;
    it->second.device.tools = tools;
    it->second.device.slug = std::move(slug);
    it->second.device.display_name = std::move(display_name);
}

void Hub::set_presence(ConnectionId connection, const Presence& presence) {
    const SystemTime now = services_.clock.system_now();
    const std::scoped_lock lock(mutex_);
    const auto it = live_.find(connection);
    if (it == live_.end()) return;
    it->second.device.presence = presence;
    it->second.device.presence_at = now;
}

void Hub::set_refused(ConnectionId connection, std::vector<Rejected> refused) {
    const std::scoped_lock lock(mutex_);
    if (const auto it = live_.find(connection); it != live_.end())
        it->second.device.refused = std::move(refused);
}

void Hub::set_held(ConnectionId connection, std::vector<core::ToolRef> held) {
    const std::scoped_lock lock(mutex_);
    if (const auto it = live_.find(connection); it != live_.end())
        it->second.device.held = std::move(held);
}

std::vector<Rejected> Hub::refused_of(std::string_view slug) const {
    const std::scoped_lock lock(mutex_);
    std::vector<Rejected> all;
    bool here = false;
    for (const auto& [id, live] : live_) {
        if (live.device.slug != slug) continue;
        here = true;
        all.insert(all.end(), live.device.refused.begin(), live.device.refused.end());
    }
    if (here) return all;
    const auto kept = kept_refusals_.find(slug);
    return kept == kept_refusals_.end() ? all : kept->second;
}

/// Of a device that leaves; with mutex_ held. Of too many devices the one with the oldest goes.
void Hub::keep_refusals(const ConnectedDevice& device) {
    if (device.slug.empty()) return;
    kept_refusals_.erase(device.slug);
    if (device.refused.empty()) return;
    if (kept_refusals_.size() >= kMostKeptRefusals)
        kept_refusals_.erase(std::ranges::min_element(
            kept_refusals_, {}, [](const auto& each) { return each.second.front().at; }));
    kept_refusals_.emplace(device.slug, device.refused);
}

void Hub::count_schema_bytes(LiveConnection& live, std::size_t bytes) {  // with mutex_ held
    std::size_t& all = schema_bytes_[live.device.principal];
    all = all - live.schema_bytes + bytes;
    live.schema_bytes = bytes;
    if (all == 0) schema_bytes_.erase(live.device.principal);
}

void Hub::set_schema_bytes(ConnectionId connection, std::size_t bytes) {
    const std::scoped_lock lock(mutex_);
    if (const auto it = live_.find(connection); it != live_.end())
        count_schema_bytes(it->second, bytes);
}

std::size_t Hub::schema_bytes_of_others(ConnectionId connection) const {
    const std::scoped_lock lock(mutex_);
    const auto it = live_.find(connection);
    if (it == live_.end()) return 0;
    const auto all = schema_bytes_.find(it->second.device.principal);
    return all == schema_bytes_.end() ? 0 : all->second - it->second.schema_bytes;
}

void Hub::remove(ConnectionId connection) {
    constexpr std::size_t kMuch = std::size_t{1} << 20;
    std::size_t bytes = 0;
    {
        const std::scoped_lock lock(mutex_);
        const auto it = live_.find(connection);
        if (it == live_.end()) return;
        bytes = it->second.schema_bytes;
        count_schema_bytes(it->second, 0);
        keep_refusals(it->second.device);
        live_.erase(it);
    }
    if (bytes < kMuch || services_.schemas == nullptr) return;
    // Schemas are many small pieces that the allocator would keep.
    services_.schemas->post("memory", [] {
        ::malloc_trim(0);
        return false;
    });
}

std::vector<ConnectedDevice> Hub::connected() const {
    const std::scoped_lock lock(mutex_);
    std::vector<ConnectedDevice> devices;
    for (const auto& [id, live] : live_) devices.push_back(live.device);
    return devices;
}

std::size_t Hub::connections() const {
    const std::scoped_lock lock(mutex_);
    return live_.size();
}

std::size_t Hub::known_links() const {
    const std::scoped_lock lock(mutex_);
    return links_.size();
}

void Hub::close_credential(const std::string& credential_id) {
    std::vector<std::shared_ptr<DeviceSession>> sessions;
    std::vector<std::shared_ptr<Chat>> chats;
    {
        const std::scoped_lock lock(mutex_);
        for (const auto& [id, live] : live_) {
            if (live.device.credential_id != credential_id) continue;
            if (auto session = live.session.lock()) sessions.push_back(std::move(session));
        }
        for (const auto& [id, chat] : chats_) chats.push_back(chat);
    }
    for (const auto& chat : chats) chat->revoke(credential_id);
    for (const auto& session : sessions) session->close_from_anywhere(4401, "credential revoked");
}

void Hub::release_tools(const std::string& slug, const std::vector<std::string>& names) {
    std::vector<std::shared_ptr<DeviceSession>> sessions;
    {
        const std::scoped_lock lock(mutex_);
        for (const auto& [connection, live] : live_) {
            if (live.device.slug != slug) continue;
            if (auto session = live.session.lock()) sessions.push_back(std::move(session));
        }
    }
    for (const auto& session : sessions) session->release_tools(names);
}

void Hub::record_refusals(const core::Principal& principal, const Registration& registration) {
    constexpr std::size_t kTold = 8;
    if (registration.rejected.empty()) return;
    const bool recorded = services_.audit.append_event(
        {.kind = "tool.registration.refused", .by = principal.id}, [&](json::Writer& writer) {
            writer.key("principal").string_lossy(principal.id);
            writer.key("refused").unsigned_integer(registration.refused).key("tools").begin_array();
            for (const Rejected& element : registration.rejected | std::views::take(kTold)) {
                writer.begin_object()
                    .key("tool")
                    .string_lossy(element.name)
                    .key("code")
                    .string(token_of(element.code));
                writer.key("reason").string_lossy(cut_text(element.message, 300)).end_object();
            }
            writer.end_array();
        });
    if (!recorded) return;
    const Rejected& first = registration.rejected.front();
    log::warn("tools of a device were refused", {{"principal", principal.id},
                                                 {"refused", registration.refused},
                                                 {"first", first.name},
                                                 {"code", token_of(first.code)},
                                                 {"reason", first.message}});
}

}  // namespace crab::clawseed
