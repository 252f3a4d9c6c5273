#include "adapters/clawseed/device_session.hpp"

#include "base/log.hpp"
#include "base/log_budget.hpp"
#include "base/scope_exit.hpp"
#include "core/approvals/approvals.hpp"
#include "core/call/traceparent.hpp"
#include "core/registry/ambiguous_names.hpp"
#include "crypto/digest.hpp"
#include "json/writer.hpp"
#include "trust/device_tools.hpp"
#include "trust/tool_form.hpp"

#include <algorithm>
#include <array>
#include <ranges>
#include <set>

#include <fmt/format.h>

namespace crab::clawseed {
namespace {

constexpr std::size_t kMaxReplyId = 128;
constexpr std::size_t kMaxDeviceName = 128;
constexpr std::size_t kMaxInstance = 64;
constexpr std::size_t kMostWaiting = 64;  // frames queued behind a tool list; then reading pauses
constexpr std::size_t kMostRefused = 32;  // told to the operator
constexpr std::size_t kMostExcess = 8;  // times the limit, of a reply that passes unkept
constexpr std::uint16_t kNormalClose = 1000;
constexpr std::uint16_t kCredentialGone = 4401;

/// Each part with its length, so that parts that meet elsewhere name another process.
std::uint64_t process_of(std::string_view principal, std::string_view chat,
                         std::string_view instance) {
    std::string text;
    for (const std::string_view part : {principal, chat, instance})
        text.append(std::to_string(part.size())).append(":").append(part);
    const crypto::Sha256Digest digest = crypto::sha256(text);
    std::uint64_t process = 0;
    for (std::size_t i = 0; i < sizeof process; ++i) process = process << 8 | digest[i];
    return process;
}

}  // namespace

DeviceSession::DeviceSession(Hub& hub, net::EventLoop& loop, json::Parser& parser, Caller caller,
                             Hub::ChatOpening chat)
    : hub_(hub),
      loop_(loop),
      parser_(parser),
      connection_(caller.connection),
      principal_(std::move(caller.principal)),
      chat_(std::move(chat.chat)),
      chat_ref_(std::move(chat.chat_ref)),
      replies_(std::move(chat.replies)),
      opened_(std::move(chat.session)),
      resumed_(chat.resumed),
      expires_at_(caller.expires_at),
      options_(hub.options()) {}

DeviceSession::~DeviceSession() = default;

template <class F>
void DeviceSession::write(F&& frame) {
    if (socket_ == nullptr) return;
    frame(socket_->begin_text());
    socket_->end_text();
}

/// Logs connects and disconnects of devices and chat clients, rate-limited.
void DeviceSession::tell_link(std::string_view what,
                              std::initializer_list<log::Field> fields) const {
    static log::Budget budget(240);
    const bool is_device = !principal_->device.empty();
    if (budget.take(std::chrono::steady_clock::now()))
        log::write(log::Level::kInfo, fmt::format("{} {}", is_device ? "device" : "client", what),
                   fields);
}

void DeviceSession::on_open(net::WebSocketSession& socket) {
    socket_ = &socket;
    host_ = std::make_shared<DeviceHost>(
        loop_, connection_, replies_,
        DeviceHost::Options{.max_calls = options_->calls_per_connection, .grace = options_->grace});
    host_->start(*this);
    hub_.add(shared_from_this(), {.connection = connection_,
                                  .slug = principal_->device,
                                  .display_name = {},
                                  .principal = principal_->id,
                                  .credential_id = principal_->credential_id,
                                  .chat_session = opened_.id.text(),
                                  .tools = 0,
                                  .since = loop_.clock().system_now()});
    const core::TurnAgent agent = hub_.agent_of(loop_, opened_.persona);
    write([&](std::string& out) {
        write_session_start(out, {.session_id = opened_.id.text(),
                                  .resumed = resumed_,
                                  .message_count = opened_.message_count,
                                  .name = opened_.name,
                                  .persona = opened_.persona,
                                  .pictures = agent.sees_pictures,
                                  .files = agent.reads_files,
                                  .asks = agent.asks});
    });
    chat_->join(shared_from_this());
    if (expires_at_) {
        const auto left = *expires_at_ - loop_.clock().system_now();
        loop_.timers().arm(*this,
                           loop_.clock().steady_now() + std::chrono::ceil<Milliseconds>(left));
    }
    tell_link("connected", {{"principal", principal_->id},
                            {"session_id", opened_.id},
                            {"peer", socket.peer().text()}});
}

void DeviceSession::on_expired() {
    if (socket_ != nullptr) socket_->close(kCredentialGone, "credential expired");
}

void DeviceSession::on_closed(net::WebSocketSession& socket, const net::CloseInfo& info) {
    disarm();
    socket_ = nullptr;
    host_->stop();
    const bool goodbye = info.peer_initiated && info.code == kNormalClose;
    if (hub_.services().away != nullptr && tools_ > 0)
        hub_.services().away->left(connection_, hub_.services().registry.owned_by(connection_));
    if (hub_.services().on_left) hub_.services().on_left(principal_->credential_id);
    hub_.leave(connection_, *principal_);
    // first, so that after a goodbye no turn goes on with what its calls come to
    chat_->leave(connection_, goodbye);
    replies_->connection_ended(connection_, socket.bytes_written(),
                               goodbye ? LinkEnd::kGoodbye : LinkEnd::kBroken,
                               loop_.clock().steady_now());
    hub_.remove(connection_);
    if (!slug_.empty()) hub_.release_slug(slug_);
    chat_ref_.release();
    hub_.settle_chat(chat_);
    tell_link("gone", {{"principal", principal_->id},
                       {"session_id", opened_.id},
                       {"code", info.code},
                       {"reason", info.reason}});
}

void DeviceSession::send_frame(std::string frame) {
    if (loop_.in_this_thread()) {
        send(frame);
    } else {
        loop_.post([self = shared_from_this(), moved = std::move(frame)] { self->send(moved); });
    }
}

void DeviceSession::close_from_anywhere(std::uint16_t code, std::string reason) {
    loop_.post([self = shared_from_this(), code, why = std::move(reason)] {
        if (self->socket_ != nullptr) self->socket_->close(code, why);
    });
}

void DeviceSession::send(std::string_view frame) {
    if (socket_ != nullptr) socket_->send_text(frame);
}

bool DeviceSession::send_request(std::string_view frame, std::uint64_t& starts_at) {
    if (socket_ == nullptr || !socket_->is_open()) return false;
    starts_at = socket_->bytes_written() + socket_->queued_bytes();
    socket_->send_text(frame);
    return true;
}

void DeviceSession::check_alive() {
    if (socket_ != nullptr) socket_->ping();
}

SteadyTime DeviceSession::last_heard() const {
    return socket_ != nullptr ? socket_->last_heard() : SteadyTime{};
}

void DeviceSession::drop_dead_link() {
    if (socket_ != nullptr) socket_->abort();
}

void DeviceSession::error(std::string_view code, std::string_view message) {
    write([&](std::string& out) { write_error(out, code, message); });
}

bool DeviceSession::require(core::Role role, std::string_view what) {
    if (principal_->may(role)) return true;
    error("FORBIDDEN", fmt::format("your token does not let you {}; ask for one with the role {}",
                                   what, core::name_of(role)));
    return false;
}

bool DeviceSession::require_chat() {
    // A device without the role `caller` chats about what it offers: its turns may call these tools
    // and nothing else.
    if (principal_->may(core::Role::kCaller) ||
        (principal_->may(core::Role::kDevice) && tools_ > 0))
        return true;
    error("FORBIDDEN",
          "your token does not let you chat; ask for one with the role caller, or register tools "
          "first to chat about them as a device");
    return false;
}

void DeviceSession::on_text(net::WebSocketSession&, std::span<char> text) {
    const ScopeExit done([this] { parser_.shrink(); });
    const std::string_view frame(text.data(), text.size());
    if (reading_ && !is_urgent(frame)) return enqueue(frame);
    handle(frame, !std::exchange(seen_text_, true));
}

/// Whether a frame need not wait for the list of tools before it: replies, and what is about calls
/// that run.
bool DeviceSession::is_urgent(std::string_view text) {
    constexpr std::array<std::string_view, 7> kUrgent{
        "tool_result", "tool_error",        "tool_call_accepted", "tool_call_progress",
        "presence",    "approval_decision", "ask_user_response"};
    const auto root = parser_.parse(text);
    if (!root) return find_unreadable_reply(text).has_value();
    const std::string_view type = json::get_string(root->element(), "type").value_or("");
    const bool is_question = type == "message" || type == "regenerate";
    if (is_question) ++waiting_questions_;
    return std::ranges::find(kUrgent, type) != kUrgent.end() ||
           (type == "abort" && waiting_questions_ == 0);
}

void DeviceSession::enqueue(std::string_view text) {
    waiting_.emplace_back(text);
    waiting_bytes_ += text.size();
    if (waiting_.size() < kMostWaiting && waiting_bytes_ < options_->max_message_bytes) return;
    paused_ = true;
    socket_->pause_reading();
}

void DeviceSession::go_on() {
    const ScopeExit done([this] { parser_.shrink(); });
    while (!reading_ && socket_ != nullptr && !waiting_.empty()) {
        const std::string next = std::move(waiting_.front());
        waiting_.pop_front();
        waiting_bytes_ -= next.size();
        handle(next, false);
    }
    if (reading_ || socket_ == nullptr) return;
    waiting_questions_ = 0;
    if (std::exchange(paused_, false)) socket_->resume_reading();
}

/// Fails the call that waits for this reply immediately.
void DeviceSession::on_unreadable(std::string_view text, std::string_view reason) {
    const auto reply =
        principal_->may(core::Role::kDevice) ? find_unreadable_reply(text) : std::nullopt;
    if (reply) {
        if (is_of_other(reply->id)) {
            answer_other(reply->id, {.kind = WordToOther::Kind::kTooLong});
            return error("INVALID_JSON", "the frame is not JSON, or nested too deep");
        }
        acknowledge(reply->id);  // else it would come again and again
        if (const auto tag = replies_->tag_of(reply->id)) {
            replies_->resolve(
                *tag,
                fail(ErrorCode::kInternal,
                     fmt::format(
                         "the device's reply cannot be read ({}); the call may have taken effect",
                         reason)));
        }
    }
    error("INVALID_JSON",
          "the frame is not JSON, or nested too deep; send one JSON object per message");
}

void DeviceSession::handle(std::string_view text, bool first) {
    const auto root = parser_.parse(text);
    if (!root) return on_unreadable(text, root.error().message);
    const Element frame = root->element();
    const auto type = json::get_string(frame, "type");
    if (!type)
        return error("UNKNOWN_MESSAGE_TYPE", "a frame is a JSON object with a string `type`");
    if (*type == "tool_result" || *type == "tool_error") {
        const auto id = instance_.empty() ? std::nullopt : json::get_string(frame, "id");
        if (id && principal_->may(core::Role::kDevice) && is_of_other(*id))
            return answer_other(*id,
                                {.kind = WordToOther::Kind::kAnswer, .frame = std::string(text)});
        return on_reply(*root, *type == "tool_error");
    }
    if (*type == "connect") return on_connect(frame, first);
    if (*type == "register_tools") return on_register(text);
    if (*type == "message") return on_question(*root, false);
    if (*type == "regenerate") return on_question(*root, true);
    if (*type == "ask_user_response") return on_response(frame, text);
    if (*type == "abort") return on_abort();
    if (*type == "approval_decision") return on_approval_decision(frame);
    if (*type == "get_registered_tools") return on_get_registered();
    if (*type == "unregister_tools") return on_unregister(frame);
    if (*type == "tool_call_accepted" || *type == "tool_call_progress") {
        const std::string_view id = json::get_string(frame, "id").value_or("");
        if (!instance_.empty() && moved_.is_asked(id)) {
            if (*type == "tool_call_progress") moved_.progress(id, text, loop_.now());
            return;
        }
        const auto tag = replies_->tag_of(id);
        if (!tag) return;
        if (*type == "tool_call_accepted") {
            replies_->accept(*tag);
        } else {
            replies_->progress(*tag, parse_progress(frame), loop_.now());
        }
        return;
    }
    if (*type == "presence") return on_presence(frame);
    error("UNKNOWN_MESSAGE_TYPE",
          fmt::format("`{}` is not a frame of this protocol", type->substr(0, 64)));
}

void DeviceSession::on_connect(Element frame, bool first) {
    if (!first) return error("UNKNOWN_MESSAGE_TYPE", "`connect` is the first frame or none");
    if (const auto name = json::get_string(frame, "device_name"))
        device_name_ = name->substr(0, kMaxDeviceName);
    extensions_ = parse_capabilities(frame);
    host_->set_extensions(extensions_);
    takes_approvals_ = extensions_.has(Extension::kApprovals) && may_approve() &&
                       hub_.services().approvals != nullptr;
    takes_call_ids_ = extensions_.has(Extension::kCallIds);
    if (const auto version = json::get_int64(frame, "v"); version && *version != kVersion) {
        log::info("client speaks another version",
                  {{"principal", principal_->id}, {"v", *version}});
    }
    hub_.update(connection_, tools_, principal_->device, device_name_);
    Terms terms{.max_message_bytes = options_->max_message_bytes, .grace = options_->grace};
    if (hub_.services().artifacts != nullptr && extensions_.has(Extension::kArtifacts)) {
        terms.artifacts = {.inline_bytes = options_->artifact_inline_bytes,
                           .max_bytes = options_->artifact_bytes};
    }
    const auto instance = json::get_string(frame, "instance").value_or("");
    const bool extended = !extensions_.empty();
    takes_questions_ = !extended || extensions_.has(Extension::kAskUser);
    write([&](std::string& out) { write_connected(out, extended ? &terms : nullptr); });
    if (extensions_.has(Extension::kResume) && !instance.empty() &&
        instance.size() <= kMaxInstance && principal_->may(core::Role::kDevice)) {
        host_->resume(std::string(instance));
        if (OtherNodes* const others = hub_.other_nodes()) {
            instance_ = instance;
            host_->set_process(process_of(principal_->id, opened_.id.text(), instance_));
            others->arrived(connection_, principal_->id, opened_.id.text(), instance_);
        }
    }
}

std::string DeviceSession::own_slug() {
    if (slug_.empty()) slug_ = hub_.take_slug(*principal_, device_name_);
    return slug_;
}

void DeviceSession::on_register(std::string_view text) {
    if (!require(core::Role::kDevice, "register tools")) return;
    const auto options = hub_.options();
    RegistrationContext context{.registry = hub_.services().registry,
                                .policy = hub_.services().rules.get()->policy,
                                .principal = principal_,
                                .limits = options->registration,
                                .overrides = options->overrides,
                                .held = {}};
    for (const auto& tool : hub_.services().registry.owned_by(connection_))
        context.held.push_back({tool->spec.name, core::schema_bytes(*tool)});
    context.schema_bytes_of_others = [&hub = hub_, connection = connection_] {
        return hub.schema_bytes_of_others(connection);
    };
    // which is the gateway's own user
    context.believes_claims = principal_->roles.has(core::Role::kTrustedDevice) ||
                              principal_->proof == core::Proof::kLocalSocket;
    const auto reader = std::make_shared<RegistrationReader>(std::string(text), options->json_depth,
                                                             std::move(context));
    if (hub_.services().schemas == nullptr) {
        while (reader->step()) {}
        return finish_registration(reader->take());
    }
    reading_ = true;
    hub_.services().schemas->post(principal_->id, [reader, self = shared_from_this()]() mutable {
        if (reader->step()) return true;
        Registration found = reader->take();
        // before the next list of this principal is read
        self->hub_.set_schema_bytes(self->connection_, found.schema_bytes);
        net::EventLoop& loop = self->loop_;
        loop.post([session = std::move(self), registration = std::move(found)]() mutable {
            session->reading_ = false;
            session->finish_registration(std::move(registration));
            session->go_on();
        });
        return false;
    });
}

void DeviceSession::finish_registration(Registration registration) {
    if (socket_ == nullptr) return;
    if (registration.replace) held_.clear();
    hold_new_tools(registration);
    register_tools(registration);
    note_refused(registration);
    hub_.record_refusals(*principal_, registration);
    write([&](std::string& out) {
        write_tools_registered(out, registration.count, tools_,
                               extensions_.has(Extension::kRejected)
                                   ? std::span<const Rejected>(registration.rejected)
                                   : std::span<const Rejected>());
    });
}

/// Takes out of `registration` what this device, which is known, has not offered before, or not so.
void DeviceSession::hold_new_tools(Registration& registration) {
    trust::DeviceTools* const known = hub_.services().device_tools;
    const auto options = hub_.options();
    if (known == nullptr || principal_->device.empty()) return;
    std::vector<trust::OfferedDeviceTool> offered;
    for (const auto& taken : registration.taken)
        offered.push_back({taken.tool->spec.name, trust::form_of(taken.tool->spec)});
    using Added = trust::DeviceTools::Added;
    const auto waiting = known->offer(principal_->device, connection_, offered,
                                      options->ask_about_new_tools ? Added::kWait : Added::kKnown);
    if (!known->is_stored())
        hub_.services().store_pool.post([known] {
            if (const auto stored = known->flush(); !stored)
                log::warn("tools of a device were not stored",
                          {{"reason", stored.error().message}});
        });
    std::vector<std::string> drop;
    std::erase_if(registration.taken, [&](Registration::Taken& taken) {
        const std::string& name = taken.tool->spec.name;
        if (std::ranges::find(waiting, name) == waiting.end()) return false;
        std::erase_if(held_, [&](const auto& tool) { return tool->spec.name == name; });
        const bool changed = known->is_changed(principal_->device, name);
        registration.reject(
            {.index = taken.index,
             .name = name,
             .code = ErrorCode::kApprovalRequired,
             .message = fmt::format("this tool {}; it waits until an operator approves it (crab "
                                    "devices approve)",
                                    changed ? "has changed" : "is new")});
        // The device runs the changed one already: callers of the former one would get it.
        if (changed) drop.push_back(name);
        if (held_.size() < options->registration.tools) held_.push_back(std::move(taken.tool));
        return true;
    });
    if (!drop.empty() && !registration.replace)
        hub_.services().registry.change(connection_, {}, drop);
}

void DeviceSession::release_tools(std::vector<std::string> names) {
    loop_.post([self = shared_from_this(), names = std::move(names)] {
        if (self->socket_ == nullptr) return;
        const std::size_t most = self->hub_.options()->registration.tools;
        Registration approved;
        std::erase_if(self->held_, [&](const auto& tool) {
            const bool released = std::ranges::find(names, tool->spec.name) != names.end() &&
                                  self->tools_ + approved.taken.size() < most;
            if (released) approved.taken.push_back({.index = 0, .tool = tool});
            return released;
        });
        self->register_tools(approved);
        self->note_refused(approved);
    });
}

void DeviceSession::register_tools(Registration& registration) {
    std::vector<core::ToolRef> tools;
    const std::string slug = own_slug();
    for (auto& [index, tool] : registration.taken) {
        tool->set_source({.kind = core::SourceKind::kDevice,
                          .name = slug,
                          .owner = principal_->id,
                          .connection = connection_});
        tool->tenant = principal_->tenant;
        tool->more_tenants = principal_->more_tenants;
        tool->host = host_;
        tools.push_back(tool);
    }
    core::Registry& registry = hub_.services().registry;
    if (registration.replace) {
        registry.replace(connection_, tools);
    } else if (!tools.empty()) {
        registry.change(connection_, tools, {});
    }
    tools_changed(slug);
    core::log_ambiguous_names(*registry.snapshot(), tools, principal_->id, told_ambiguous_);
    if (hub_.services().away != nullptr) hub_.services().away->came(tools);
}

/// Counts again what this connection has registered.
void DeviceSession::tools_changed(const std::string& slug) {
    const auto owned = hub_.services().registry.owned_by(connection_);
    tools_ = owned.size();
    std::size_t bytes = 0;
    for (const auto& tool : owned) bytes += core::schema_bytes(*tool);
    for (const auto& tool : held_) bytes += core::schema_bytes(*tool);
    hub_.set_schema_bytes(connection_, bytes);
    hub_.set_held(connection_, {held_.begin(), held_.end()});
    hub_.update(connection_, tools_, slug, device_name_);
}

/// Keeps for the operator which of the offered tools are not there, and why.
void DeviceSession::note_refused(const Registration& registration) {
    if (registration.replace) refused_.clear();
    for (const auto& taken : registration.taken) refused_.erase(taken.tool->spec.name);
    for (const Rejected& element : registration.rejected) {
        if (refused_.size() >= kMostRefused && !refused_.contains(element.name)) continue;
        Rejected& kept = refused_.insert_or_assign(element.name, element).first->second;
        kept.at = hub_.services().clock.system_now();
    }
    std::vector<Rejected> all;
    for (const auto& [name, element] : refused_) all.push_back(element);
    hub_.set_refused(connection_, std::move(all));
}

void DeviceSession::on_presence(Element frame) {
    if (!require(core::Role::kDevice, "tell a device's presence")) return;
    Presence presence{.battery = json::get_double(frame, "battery"),
                      .charging = json::get_bool(frame, "charging"),
                      .metered = json::get_bool(frame, "metered"),
                      .foreground = json::get_bool(frame, "foreground")};
    if (presence.battery && !(*presence.battery >= 0 && *presence.battery <= 1))
        presence.battery.reset();
    hub_.set_presence(connection_, presence);
}

void DeviceSession::on_unregister(Element frame) {
    if (!require(core::Role::kDevice, "unregister tools")) return;
    core::Registry& registry = hub_.services().registry;
    std::set<std::string, std::less<>> known;
    for (const auto& tool : registry.owned_by(connection_)) known.insert(tool->spec.name);
    for (const auto& tool : held_) known.insert(tool->spec.name);
    for (const auto& [name, element] : refused_) known.insert(name);
    std::vector<std::string> names;
    std::size_t count = 0;
    if (const auto list = json::get_array(frame, "names")) {
        count = list->size();
        // of more names than it can have registered, most are unknown
        std::size_t left = hub_.options()->registration.elements;
        for (const Element item : *list) {
            if (left-- == 0 || known.empty()) break;
            std::string_view name;
            const auto found = item.get(name) == simdjson::SUCCESS ? known.find(name) : known.end();
            if (found != known.end()) names.push_back(std::move(known.extract(found).value()));
        }
    }
    std::ranges::sort(names);
    const auto gone = [&](const std::string& name) {
        return std::ranges::binary_search(names, name);
    };
    std::erase_if(held_, [&](const auto& tool) { return gone(tool->spec.name); });
    std::erase_if(refused_, [&](const auto& entry) { return gone(entry.first); });
    registry.change(connection_, {}, names);
    tools_changed(slug_);
    note_refused({});
    write([&](std::string& out) { write_tools_registered(out, count, tools_, {}); });
}

void DeviceSession::on_get_registered() {
    const auto tools = hub_.services().registry.owned_by(connection_);
    write([&](std::string& out) { write_registered_tools(out, tools); });
}

void DeviceSession::on_reply(const json::Root& root, bool is_error) {
    if (!require(core::Role::kDevice, "answer calls")) return;
    const ReplyMembers reply = read_reply(root);
    if (!reply.id || reply.id->empty() || reply.id->size() > kMaxReplyId) return;
    const auto tag = replies_->tag_of(*reply.id);
    if (replies_->is_named(*reply.id))
        acknowledge_when_kept(std::string(*reply.id));
    else
        acknowledge(*reply.id);  // before whatever the answer sets off
    if (!tag) return;
    if (is_error) {
        replies_->resolve(*tag, parse_tool_error(reply));
    } else if (reply.artifact && reply.success.value_or(true)) {
        replies_->resolve(*tag, replies_->claim_artifact(*tag, *reply.artifact));
    } else {
        replies_->resolve(*tag, parse_tool_result(root, reply));
    }
}

void DeviceSession::acknowledge(std::string_view id) {
    write([&](std::string& out) { write_result_acknowledged(out, id); });
}

/// Until it is recorded another node may have to ask for it.
void DeviceSession::acknowledge_when_kept(std::string id) {
    const std::string_view name = id;
    replies_->acknowledge_later(name, [weak = weak_from_this(), id] {
        const auto self = weak.lock();
        if (!self) return;
        self->loop_.post([self, id] {
            self->moved_.settled(id);
            self->acknowledge(id);
        });
    });
}

/// Whether an answer may be to what waits at another node of the fleet.
bool DeviceSession::is_of_other(std::string_view id) const {
    return !instance_.empty() && !id.empty() && id.size() <= kMaxReplyId && uuid_tag(id) &&
           !replies_->waits_for(id);
}

void DeviceSession::answer_other(std::string_view id, WordToOther word) {
    if (moved_.answer(id, std::move(word), loop_.clock().steady_now())) acknowledge(id);
}

/// Only this very process of this device, in this chat session, gets what it has not answered.
void DeviceSession::ask_for_other(RequestOfOther request, TellOther tell) {
    loop_.post([self = shared_from_this(), request = std::move(request), tell = std::move(tell)] {
        const bool is_here = self->socket_ != nullptr && !self->instance_.empty() &&
                             request.instance == self->instance_ &&
                             request.principal == self->principal_->id &&
                             request.chat == self->opened_.id.text();
        if (!is_here) return tell({.kind = WordToOther::Kind::kGone});
        if (self->moved_.ask(request, tell, self->loop_.clock().steady_now()))
            self->host_->ask_for_other(request);
    });
}

void DeviceSession::cancel_for_other(std::string request_id) {
    loop_.post([self = shared_from_this(), id = std::move(request_id)] {
        if (self->moved_.is_asked(id)) self->host_->cancel_for_other(id);
    });
}

void DeviceSession::heard_by_other(std::string request_id) {
    loop_.post([self = shared_from_this(), id = std::move(request_id)] {
        if (self->moved_.heard(id)) self->acknowledge(id);
    });
}

/// An oversized result fails its own call, not the connection: the call fails as soon as the
/// frame's id is known, and the rest of the frame is discarded. Any other oversized frame, and
/// invalid data, closes the connection.
bool DeviceSession::on_excess(net::WebSocketSession&, std::string_view piece, bool last) {
    if (!excess_) excess_ = std::make_unique<OversizedFrame>();
    excess_->scan.feed(piece);
    excess_->bytes += piece.size();
    const std::string& type = excess_->scan.type();
    const bool is_reply = type.empty() || type == "tool_result" || type == "tool_error";
    const bool no_frame =
        type.empty() && excess_->bytes > options_->max_message_bytes && !excess_->scan.in_object();
    if (!is_reply || no_frame || excess_->bytes / kMostExcess > options_->max_message_bytes)
        return false;
    if (!excess_->told && !type.empty() && !excess_->scan.id().empty()) {
        excess_->told = true;
        refuse_reply(excess_->scan.id());
    }
    const bool told = excess_->told;
    if (last) excess_.reset();
    return told || !last;
}

void DeviceSession::refuse_reply(std::string_view id) {
    if (!require(core::Role::kDevice, "answer calls")) return;
    if (is_of_other(id)) return answer_other(id, {.kind = WordToOther::Kind::kTooLong});
    acknowledge(id);
    const auto tag = replies_->tag_of(id);
    if (!tag) return;
    replies_->resolve(*tag,
                      fail(ErrorCode::kOversize,
                           fmt::format("the device's result is larger than the {} bytes that one "
                                       "message may have; ask for less, or have the device "
                                       "upload it; the call may have taken effect",
                                       options_->max_message_bytes)));
}

void DeviceSession::on_question(const json::Root& root, bool regenerate) {
    if (!require_chat()) return;
    const Element frame = root.element();
    ChatQuestion question{.asker = shared_from_this(),
                          .content = {},
                          .regenerate = regenerate,
                          .debug = json::get_bool(frame, "debug").value_or(false),
                          .prefer_source = slug_};
    if (!regenerate) {
        auto attached = parse_attachments(root);
        if (!attached) return error(attached.error().code, attached.error().message);
        const auto content = json::get_string(frame, "content");
        if (attached->empty() && (!content || content->empty()))
            return error("EMPTY_CONTENT", "a message needs a string `content` that is not empty");
        question.content = content.value_or("");
        question.pictures = std::move(attached->pictures);
        question.files = std::move(attached->files);
    }
    if (const auto parent = json::get_string(frame, "traceparent");
        parent && core::parse_traceparent(*parent))
        question.traceparent = *parent;
    if (extensions_.has(Extension::kDetachedTurns)) {
        question.detached = hub_.detached_turns().take(principal_->id);
        question.credential_id = principal_->credential_id;
    }
    chat_->ask(std::move(question));
}

/// Answers an agent's question in this chat; only its owner can connect to it.
void DeviceSession::on_response(Element frame, std::string_view text) {
    if (!require(core::Role::kCaller, "answer questions")) return;
    const auto member = [&](std::string_view name) {
        return std::string(json::get_string(frame, name).value_or("").substr(0, kMaxReplyId));
    };
    Chat::QuestionResponse response{.request_id = member("request_id"),
                                    .turn_id = member("turn_id"),
                                    .tool_call_id = member("tool_call_id"),
                                    .frame = std::string(text)};
    auto tell = [self = shared_from_this(), id = response.request_id](std::string_view status,
                                                                      std::string_view why) {
        std::string ack;
        write_ask_user_ack(ack, id, status, why);
        self->send_frame(std::move(ack));
    };
    chat_->respond(std::move(response), std::move(tell));
}

/// Handles a decision on a call that this chat's user was asked about.
void DeviceSession::on_approval_decision(Element frame) {
    core::Approvals* const approvals = hub_.services().approvals;
    auto word = parse_approval_decision(frame);
    const auto refuse = [&](std::string_view code, std::string_view message) {
        // it would not know the other frame
        if (!extensions_.has(Extension::kApprovals)) return error(code, message);
        write([&](std::string& out) {
            write_approval_refused(out, word ? std::string_view(word->id) : std::string_view(),
                                   code, message);
        });
    };
    if (!word) return refuse("INVALID_ARGS", word.error().message);
    const auto request = approvals != nullptr ? approvals->find(word->id) : std::nullopt;
    const bool own = request && request->question->front == "chat" &&
                     request->question->subject.session == chat_->id() &&
                     request->question->subject.principal == principal_->id;
    if (!own) return refuse("NOT_FOUND", "no call of this chat waits for that approval");
    if (!may_approve())
        return refuse("FORBIDDEN",
                      "only an operator decides about this; see approvals.in_chat in the gateway's "
                      "configuration");
    word->decision.by = principal_->id;
    const bool knows_refusals = extensions_.has(Extension::kApprovals);
    hub_.services().store_pool.post(
        [approvals, knows_refusals, self = shared_from_this(), word = std::move(*word)] {
            const auto decided = approvals->decide(word.id, word.decision);
            if (decided) return;
            std::string refused;
            if (knows_refusals)
                write_approval_refused(refused, word.id, token_of(decided.error().code),
                                       decided.error().message);
            else
                write_error(refused, token_of(decided.error().code), decided.error().message);
            self->send_frame(std::move(refused));
        });
}

void DeviceSession::on_abort() {
    if (!require_chat()) return;
    auto acknowledge = [self = shared_from_this()](bool aborted) {
        std::string frame;
        write_abort_ack(frame, aborted);
        self->send_frame(std::move(frame));
    };
    chat_->abort(std::move(acknowledge), connection_);
}

}  // namespace crab::clawseed
