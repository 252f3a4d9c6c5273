#include "bus/nats/nats_link.hpp"

#include "base/encoding.hpp"
#include "base/log.hpp"
#include "bus/envelope.hpp"
#include "bus/nats/nats_codec.hpp"
#include "crypto/random.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>

#include <fmt/format.h>

namespace crab::bus::nats {
namespace {

constexpr std::uint64_t kOwnMail = 1, kToAll = 2;
constexpr std::size_t kMostPayload = kMostMessage + 4'096;
constexpr int kNobody = 503;

/// Cannot be guessed, so that nobody else can say that a copy has reached nobody.
std::uint64_t new_token() {
    std::array<std::uint8_t, 8> bytes{};
    crypto::fill_random(bytes);
    std::uint64_t token = 0;
    for (const std::uint8_t byte : bytes) token = token << 8 | byte;
    return token;
}

std::optional<std::uint64_t> token_of(std::string_view subject) {
    const std::string_view word = subject.substr(subject.rfind('.') + 1);
    std::uint64_t token = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), token, 16);
    if (error != std::errc() || end != word.data() + word.size()) return std::nullopt;
    return token;
}

}  // namespace

/// The connection's side of it, which may outlive the link by some callbacks.
class NatsLink::Session final : public net::ConnectionHandler {
public:
    explicit Session(NatsLink& link) : link_(&link) {}
    void leave() { link_ = nullptr; }

    std::size_t on_bytes(net::Connection& connection, std::span<char> bytes) override {
        if (link_ == nullptr) return bytes.size();
        return link_->on_bytes(connection, {bytes.data(), bytes.size()});
    }
    void on_closed(net::Connection&, net::CloseReason) override {
        if (link_ != nullptr) link_->on_closed();
    }

private:
    NatsLink* link_;
};

NatsLink::NatsLink(net::EventLoop& loop, Options options, const Place& self, Listener& listener)
    : loop_(loop), options_(std::move(options)), own_(subject_of(self)), listener_(listener) {}

NatsLink::~NatsLink() { stop(); }

std::string NatsLink::subject_of(const Place& place) const {
    return fmt::format("crab.{}.n.{}.{}.{}", options_.fleet, place.node, place.boot, place.loop);
}

std::string NatsLink::subject_of(Topic topic) const {
    return fmt::format("crab.{}.{}", options_.fleet, topic == Topic::kAll ? "all" : "ev");
}

void NatsLink::start() {
    running_ = true;
    dial();
}

void NatsLink::stop() {
    running_ = up_ = false;
    disarm();
    if (session_) std::exchange(session_, nullptr)->leave();
    if (connection_) std::exchange(connection_, nullptr)->close_now(net::CloseReason::kLocal);
}

void NatsLink::dial() {
    const net::SocketAddress& server = options_.servers[next_server_++ % options_.servers.size()];
    greeted_ = asked_ = false;
    session_ = std::make_shared<Session>(*this);
    connection_ = net::Connection::dial(loop_, server, nullptr, {}, limits_, session_);
    loop_.timers().arm(*this, loop_.now() + options_.quiet);
}

void NatsLink::on_closed() {
    if (up_) log::warn("the connection to a NATS server broke", {{"fleet", options_.fleet}});
    counts_.broken.add();
    up_ = false;
    ++failures_;
    session_.reset();
    connection_.reset();
    if (running_) loop_.timers().arm(*this, loop_.now() + kPause.after(failures_));
}

/// Time to connect again, or to ask whether the server is there.
void NatsLink::on_expired() {
    if (!connection_) return dial();
    if (!up_ || asked_) return connection_->close_now(net::CloseReason::kTimeout);
    asked_ = true;
    connection_->out() += kPing;
    connection_->mark_dirty();
    loop_.timers().arm(*this, loop_.now() + options_.quiet);
}

std::size_t NatsLink::on_bytes(net::Connection& connection, std::string_view bytes) {
    asked_ = false;
    std::size_t consumed = 0;
    while (connection_.get() == &connection) {
        const auto read = read_from_server(bytes.substr(consumed), kMostPayload);
        if (!read) {
            log::error("a NATS server said what it may not",
                       {{"fleet", options_.fleet}, {"reason", read.error().message}});
            connection.close_now(net::CloseReason::kLocal);
            break;
        }
        if (read->consumed == 0) break;
        consumed += read->consumed;
        if (!take(connection, read->item)) break;
    }
    if (up_) loop_.timers().arm(*this, loop_.now() + options_.quiet);
    return consumed;
}

/// False: the connection is closed.
bool NatsLink::take(net::Connection& connection, const FromServer& item) {
    switch (item.kind) {
        case FromServer::Kind::kInfo:
            if (std::exchange(greeted_, true)) return true;
            if (requires_tls(item.text)) return refuse_to_greet(connection);
            greet(connection);
            return true;
        case FromServer::Kind::kMessage: on_message(item); return connection.is_open();
        case FromServer::Kind::kPing:
            connection.out() += kPong;
            connection.mark_dirty();
            return true;
        case FromServer::Kind::kPong:
            // The first one answers the ping behind the subscriptions: they stand.
            if (!std::exchange(up_, true)) {
                counts_.connects.add();
                failures_ = 0;
            }
            return true;
        case FromServer::Kind::kOk: return true;
        case FromServer::Kind::kError:
            counts_.errors.add();
            log::error("a NATS server refuses something",
                       {{"fleet", options_.fleet}, {"reason", item.text}});
            return true;  // it closes the connection itself, if it is grave
    }
    return true;
}

/// Its CONNECT would carry the password, and the server wants none that is not encrypted.
bool NatsLink::refuse_to_greet(net::Connection& connection) {
    counts_.errors.add();
    log::error(
        "a NATS server requires TLS, which crab does not speak to it: nothing was sent; take "
        "tls out of the server's listener for the nodes, or put a tunnel between",
        {{"fleet", options_.fleet}});
    connection.close_now(net::CloseReason::kLocal);
    return false;
}

void NatsLink::greet(net::Connection& connection) {
    std::string& out = connection.out();
    out += connect_line(options_.name, options_.user, options_.password.reveal());
    out += subscribe_line(own_ + ".>", kOwnMail);
    out += subscribe_line(subject_of(Topic::kAll), kToAll);
    out += kPing;
    connection.mark_dirty();
}

void NatsLink::on_message(const FromServer& item) {
    if (item.status == kNobody) {
        counts_.nobody.add();
        const auto token = token_of(item.subject);
        if (token && item.subscription == kOwnMail) listener_.on_nobody(Receipt{*token});
        return;
    }
    counts_.messages.add();
    listener_.on_message(item.payload);
}

Result<void> NatsLink::put(std::string_view subject, std::string_view reply,
                           std::string_view payload) {
    if (!up_) return fail(ErrorCode::kUnavailable, "there is no connection to a NATS server");
    if (connection_->queued_bytes() + payload.size() > kMostQueued)
        return fail(ErrorCode::kRateLimited, "too much waits for the NATS server");
    append_publish(connection_->out(), subject, reply, payload);
    connection_->mark_dirty();
    return {};
}

Result<Receipt> NatsLink::send(const Place& to, std::string message) {
    const std::uint64_t token = new_token();
    const auto sent = put(subject_of(to) + ".0", fmt::format("{}.{:x}", own_, token), message);
    if (!sent) return fail(sent.error());
    return Receipt{token};
}

Result<void> NatsLink::publish(Topic topic, std::string message) {
    return put(subject_of(topic), {}, message);
}

}  // namespace crab::bus::nats
