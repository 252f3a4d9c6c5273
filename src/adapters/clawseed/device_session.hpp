#pragma once

#include "adapters/clawseed/chat.hpp"
#include "adapters/clawseed/device_host.hpp"
#include "adapters/clawseed/frame_scan.hpp"
#include "adapters/clawseed/hub.hpp"
#include "adapters/clawseed/moved_replies.hpp"
#include "json/parser.hpp"
#include "net/websocket/websocket_session.hpp"

#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace crab::clawseed {

/// One connection of a device or chat client: takes its frames, registers its tools, carries its
/// calls and its chat. Lives on the event loop of its connection. Source:
/// docs/protocols/clawseed.md, sections 2 to 7.
class DeviceSession final : public net::WebSocketHandler,
                            public FrameTarget,
                            public DeviceLink,
                            private TimerNode,
                            public std::enable_shared_from_this<DeviceSession> {
public:
    /// Whose connection it is, and until when its credential is good; nothing: until revoked.
    struct Caller {
        ConnectionId connection;
        core::PrincipalRef principal;
        std::optional<SystemTime> expires_at{};
    };
    /// `parser` is the loop's, shared by its sessions.
    DeviceSession(Hub& hub, net::EventLoop& loop, json::Parser& parser, Caller caller,
                  Hub::ChatOpening chat);
    ~DeviceSession() override;

    void on_open(net::WebSocketSession& socket) override;
    void on_text(net::WebSocketSession& socket, std::span<char> text) override;
    bool on_excess(net::WebSocketSession& socket, std::string_view piece, bool last) override;
    void on_closed(net::WebSocketSession& socket, const net::CloseInfo& info) override;

    // FrameTarget: from any loop.
    void send_frame(std::string frame) override;
    ConnectionId connection() const override { return connection_; }
    bool takes_approvals() const override { return takes_approvals_.load(); }
    bool takes_questions() const override { return takes_questions_.load(); }
    bool takes_call_ids() const override { return takes_call_ids_.load(); }
    void close_from_anywhere(std::uint16_t code, std::string reason);
    /// Registers held-back tools by these names; from any loop.
    void release_tools(std::vector<std::string> names);
    /// As in Hub; from any loop.
    void ask_for_other(RequestOfOther request, TellOther tell);
    void heard_by_other(std::string request_id);
    void cancel_for_other(std::string request_id);

    // DeviceLink: on the loop.
    bool send_request(std::string_view frame, std::uint64_t& starts_at) override;
    void send(std::string_view frame) override;
    void check_alive() override;
    SteadyTime last_heard() const override;
    void drop_dead_link() override;
    bool may_be_forgotten(std::string_view id) const override {
        return moved_.may_be_forgotten(id);
    }

private:
    using Element = json::Element;
    void handle(std::string_view text, bool first);
    bool is_urgent(std::string_view text);
    void enqueue(std::string_view text);
    void go_on();
    void on_unreadable(std::string_view text, std::string_view reason);
    void on_connect(Element frame, bool first);
    void on_register(std::string_view text);
    void finish_registration(Registration registration);
    void on_unregister(Element frame);
    void on_get_registered();
    void on_presence(Element frame);
    void on_reply(const json::Root& root, bool is_error);
    void refuse_reply(std::string_view id);
    bool is_of_other(std::string_view id) const;
    void answer_other(std::string_view id, WordToOther word);
    void acknowledge(std::string_view id);
    void acknowledge_when_kept(std::string id);
    void on_question(const json::Root& root, bool regenerate);
    void on_response(Element frame, std::string_view text);
    void on_abort();
    void on_approval_decision(Element frame);
    bool may_approve() const {
        return principal_->roles.has(core::Role::kOperator) || options_->owners_approve;
    }
    bool require(core::Role role, std::string_view what);
    bool require_chat();
    void tell_link(std::string_view what, std::initializer_list<log::Field> fields) const;
    void error(std::string_view code, std::string_view message);
    template <class F>
    void write(F&& frame);
    void hold_new_tools(Registration& registration);
    void register_tools(Registration& registration);
    void note_refused(const Registration& registration);
    void tools_changed(const std::string& slug);
    std::string own_slug();
    void on_expired() override;

    Hub& hub_;
    net::EventLoop& loop_;
    json::Parser& parser_;
    const ConnectionId connection_;
    const core::PrincipalRef principal_;
    const std::shared_ptr<Chat> chat_;
    Chat::Ref chat_ref_;
    const std::shared_ptr<PendingReplies> replies_;
    const core::ChatSession opened_;
    const bool resumed_;
    const std::optional<SystemTime> expires_at_;
    const std::shared_ptr<const Options> options_;
    std::shared_ptr<DeviceHost> host_;
    net::WebSocketSession* socket_ = nullptr;
    std::string device_name_;
    /// In a fleet, of a client that lets its calls go on: which process it is; else empty
    std::string instance_;
    MovedReplies moved_;
    std::string slug_;
    std::size_t tools_ = 0;
    std::vector<std::string> told_ambiguous_;          ///< plain names, each logged once
    /// New tools of a known device, until an operator approves them
    std::vector<std::shared_ptr<core::Tool>> held_;
    std::map<std::string, Rejected> refused_;  ///< rejected tools, by name
    Extensions extensions_;
    /// A tool list is being compiled on a worker thread: frames that depend on it wait
    bool reading_ = false;
    bool paused_ = false;  ///< too many wait
    std::deque<std::string> waiting_;  ///< frames, in order
    std::size_t waiting_bytes_ = 0;
    std::size_t waiting_questions_ = 0;
    /// An oversized frame while it is being received.
    struct OversizedFrame {
        FrameScan scan;
        std::size_t bytes = 0;
        bool told = false;  ///< the call that it answers has been failed
    };
    std::unique_ptr<OversizedFrame> excess_;
    std::atomic<bool> takes_approvals_{false};
    std::atomic<bool> takes_call_ids_{false};
    std::atomic<bool> takes_questions_{true};  ///< default for clients that list no capabilities
    bool seen_text_ = false;
};

}  // namespace crab::clawseed
