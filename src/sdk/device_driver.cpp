#include "sdk/device_driver.hpp"

#include "base/ascii.hpp"
#include "net/codec/url.hpp"
#include "sdk/answer_bytes.hpp"
#include "sdk/private_file.hpp"

#include <utility>

#include <unistd.h>

#include <fmt/format.h>

namespace crab::sdk {
namespace {

std::string host_name() {
    char name[256] = {};
    return ::gethostname(name, sizeof name - 1) == 0 ? name : "device";
}

}  // namespace

/// Hears the WebSocket until the driver is gone.
class DeviceDriver::Socket final : public net::WebSocketHandler {
public:
    explicit Socket(DeviceDriver& driver) : driver_(&driver) {}
    void forget() { driver_ = nullptr; }

    void on_open(net::WebSocketSession& session) override {
        if (driver_ == nullptr) return session.close(1001, "too late");
        driver_->session_ = session.shared_from_this();
        driver_->link_.on_open();
    }
    void on_text(net::WebSocketSession&, std::span<char> text) override {
        if (driver_ != nullptr) driver_->link_.on_text({text.data(), text.size()});
    }
    void on_closed(net::WebSocketSession&, const net::CloseInfo& info) override {
        if (driver_ == nullptr) return;
        driver_->session_.reset();
        driver_->link_.on_closed(info);
    }

private:
    DeviceDriver* driver_;
};

/// Takes progress and late answers from any thread to the loop, and nowhere once the driver is
/// gone: a handler may have kept its request.
class DeviceDriver::Gate {
public:
    explicit Gate(DeviceDriver& driver) : driver_(&driver) {}
    void close() {
        const std::scoped_lock lock(mutex_);
        driver_ = nullptr;
    }
    void answer(const std::shared_ptr<CallState>& call, ToolAnswer answer,
                const std::optional<UploadTerms>& uploads) {
        Handled handled = checked(call->tool(), std::move(answer));
        const std::scoped_lock lock(mutex_);
        if (driver_ != nullptr) driver_->settle(call, std::move(handled), uploads);
    }
    void progress(const std::string& call_id, ToolProgress progress) {
        const std::scoped_lock lock(mutex_);
        if (driver_ == nullptr) return;
        driver_->loop_.post([link = &driver_->link_, call_id, progress = std::move(progress)] {
            link->progress(call_id, progress);
        });
    }

private:
    std::mutex mutex_;
    DeviceDriver* driver_;
};

DeviceDriver::DeviceDriver(const DeviceOptions& options, const DeviceTools& tools,
                           GatewayAddress address, std::shared_ptr<net::TlsContext> tls)
    : options_(options),
      address_(std::move(address)),
      tls_(std::move(tls)),
      loop_(clock_),
      uploader_(address_, tls_),
      gate_(std::make_shared<Gate>(*this)),
      handlers_(options.parallel_handlers, options.queued_calls),
      link_(link_options(), {.clock = clock_, .timers = loop_.timers(), .random = loop_.ids()},
            tools, *this),
      socket_(std::make_shared<Socket>(*this)),
      tasks_(loop_.executor()) {}

DeviceDriver::~DeviceDriver() {
    gate_->close();
    socket_->forget();
}

DeviceLink::Options DeviceDriver::link_options() const {
    return {.name = options_.name.empty() ? host_name() : options_.name,
            .session_id = options_.session_id,
            .reconnect = options_.reconnect,
            .on_progress = [gate = gate_](const std::string& id, ToolProgress progress) {
                gate->progress(id, std::move(progress));
            }};
}

DeviceEnd DeviceDriver::run() {
    loop_.post([this] { link_.start(); });
    loop_.run();
    return end_.value_or(DeviceEnd{DeviceEnd::Reason::kStopped, "stopped"});
}

void DeviceDriver::stop() {
    loop_.post([this] { link_.stop(); });
}
void DeviceDriver::tools_changed() {
    loop_.post([this] { link_.tools_changed(); });
}

void DeviceDriver::set_presence(const DevicePresence& presence) {
    loop_.post([this, presence] { link_.set_presence(presence); });
}

// --- What the link asks for
// ------------------------------------------------------------------------------------------------

void DeviceDriver::fetch_token(TokenNeed need) { tasks_.spawn("device token", obtain_token(need)); }
void DeviceDriver::dial(const std::string& token, const std::string& session_id) {
    uploader_.set_token(token);
    tasks_.spawn("device dial", connect(token, session_id));
}
void DeviceDriver::send(std::string_view frame) {
    if (session_) session_->send_text(frame);
}
void DeviceDriver::close(std::uint16_t code, std::string_view reason) {
    if (session_) session_->close(code, reason);
}
void DeviceDriver::abort() {
    if (const auto session = session_) session->abort();
}
SteadyTime DeviceDriver::last_heard() const {
    return session_ ? session_->last_heard() : SteadyTime{};
}

bool DeviceDriver::run(std::shared_ptr<CallState> call, std::shared_ptr<const DeviceTool> tool,
                       std::optional<UploadTerms> uploads) {
    if (tool->later) return begin(call, *tool, uploads);
    return handlers_.submit(
        [this, call = std::move(call), tool = std::move(tool), uploads = std::move(uploads)] {
            if (call->cancelled()) return;  // while it was queued; nobody waits any more
            Handled handled = run_handler(tool->handler, call);
            if (uploads && is_large(handled.answer, uploads->inline_bytes))
                return upload(*call, std::move(handled), *uploads);
            finish(call->id(), std::move(handled));
        });
}

/// A call that is answered later; false when too many are in progress, this one counted.
bool DeviceDriver::begin(const std::shared_ptr<CallState>& call, const DeviceTool& tool,
                         const std::optional<UploadTerms>& uploads) {
    if (link_.running_calls() > options_.parallel_handlers + options_.queued_calls) return false;
    const ToolHandler start = [&](ToolRequest request) {
        tool.later(std::move(request), [gate = gate_, call, uploads](ToolAnswer answer) {
            gate->answer(call, std::move(answer), uploads);
        });
        return ToolAnswer("");
    };
    Handled started = run_handler(start, call);
    if (!started.complaint.empty()) finish(call->id(), std::move(started));
    return true;
}

// --- Answers, on any thread
// ------------------------------------------------------------------------------------------------

void DeviceDriver::settle(const std::shared_ptr<CallState>& call, Handled handled,
                          const std::optional<UploadTerms>& uploads) {
    if (!uploads || !is_large(handled.answer, uploads->inline_bytes))
        return finish(call->id(), std::move(handled));
    auto send = [this, call, handled = std::move(handled), terms = *uploads] {
        upload(*call, handled, terms);
    };
    if (!handlers_.submit(std::move(send))) {
        finish(call->id(),
               {ToolAnswer::error("INTERNAL",  // not "busy": the tool has run
                                  "the tool ran, but this device is too busy to upload its result"),
                {}});
    }
}

/// On a thread that may block.
void DeviceDriver::upload(CallState& call, Handled handled, const UploadTerms& uploads) {
    auto uploaded = uploader_.upload(uploads, call, handled.answer);
    if (uploaded) {
        loop_.post([this, id = call.id(), artifact = std::move(*uploaded)] {
            link_.finish_uploaded(id, artifact);
        });
        return;
    }
    handled.complaint =
        fmt::format("{}: the result was not uploaded: {}", call.tool(), uploaded.error().message);
    handled.answer =
        ToolAnswer::error(token_of(uploaded.error().code),
                          "the result could not be uploaded: " + uploaded.error().message);
    finish(call.id(), std::move(handled));
}

void DeviceDriver::finish(const std::string& call_id, Handled handled) {
    loop_.post([this, call_id, handled = std::move(handled)] {
        if (!handled.complaint.empty())
            report({.kind = DeviceEvent::Kind::kNotice, .message = handled.complaint});
        link_.finish(call_id, handled.answer);
    });
}

void DeviceDriver::report(const DeviceEvent& event) {
    if (options_.on_event) options_.on_event(event);
}

void DeviceDriver::ended(DeviceEnd end) {
    end_ = std::move(end);
    loop_.post([this] { tasks_.stop([this] { loop_.stop(); }); });
}

// --- Doing it
// ------------------------------------------------------------------------------------------------

Task<void> DeviceDriver::obtain_token(TokenNeed need) {
    auto find = [this, need] { return find_token(need); };
    auto token = co_await blocking_.run(std::move(find));
    link_.on_token(std::move(token));
}

std::expected<std::string, DeviceEnd> DeviceDriver::find_token(TokenNeed need) {
    if (identity_) return prove_identity();
    if (need == TokenNeed::kRefused) {
        auto fresh = options_.new_token ? options_.new_token() : std::nullopt;
        if (!fresh) return std::unexpected(DeviceEnd{DeviceEnd::Reason::kRefused, {}});
        return *std::move(fresh);
    }
    if (!options_.pair_code.empty()) return pair();
    if (!options_.token.empty() || options_.token_file.empty()) return options_.token;
    auto kept = read_private_file(options_.token_file);
    if (!kept && kept.error().code != ErrorCode::kNotFound)
        return std::unexpected(DeviceEnd{DeviceEnd::Reason::kInvalid, kept.error().message});
    const std::string credential(trim(std::move(kept).value_or(""), kWhiteSpace));
    identity_ = DeviceIdentity::parse(credential);
    return identity_ ? prove_identity() : credential;
}

/// A token for our key; kLost while the gateway cannot be asked.
std::expected<std::string, DeviceEnd> DeviceDriver::prove_identity() {
    auto token = identity_->fetch_token({.address = address_, .tls = tls_});
    if (token) return *std::move(token);
    const bool refused = token.error().code == ErrorCode::kUnauthenticated ||
                         token.error().code == ErrorCode::kForbidden;
    return std::unexpected(DeviceEnd{
        refused ? DeviceEnd::Reason::kRefused : DeviceEnd::Reason::kLost, token.error().message});
}

std::expected<std::string, DeviceEnd> DeviceDriver::pair() {
    const crypto::PrivateKey key = crypto::PrivateKey::generate_ed25519();
    if (options_.before_pairing) options_.before_pairing(key.public_key().der);
    auto paired = pair_with_code({.address = address_, .tls = tls_}, options_.pair_code, key);
    if (!paired)
        return std::unexpected(DeviceEnd{DeviceEnd::Reason::kRefused, paired.error().message});
    if (!paired->identity) {
        keep(paired->token);
        return std::move(paired->token);
    }
    identity_ = std::move(paired->identity);
    keep(identity_->to_text().reveal());
    return prove_identity();
}

void DeviceDriver::keep(std::string_view credential) {
    if (options_.token_file.empty()) return;
    const auto kept = write_private_file(options_.token_file, fmt::format("{}\n", credential));
    if (kept) return;
    loop_.post([this, why = kept.error().message] {
        report(
            {.kind = DeviceEvent::Kind::kNotice, .message = "the credential is not kept: " + why});
    });
}

Task<Result<std::vector<net::SocketAddress>>> DeviceDriver::addresses() {
    if (const auto plain = net::to_socket_address(address_.endpoint)) co_return std::vector{*plain};
    auto look_up = [endpoint = address_.endpoint] { return net::resolve(endpoint); };
    auto found = co_await blocking_.run(std::move(look_up));
    if (end_) co_return fail(ErrorCode::kCancelled, "the device was stopped");
    co_return found;
}

Task<void> DeviceDriver::connect(std::string token, std::string session_id) {
    auto found = co_await addresses();
    if (!found) {
        link_.on_refused(found.error());
        co_return;
    }
    net::WebSocketTarget target;
    target.server.addresses = *std::move(found);
    target.server.tls = tls_;
    target.server.server_name = address_.endpoint.host;
    target.host = address_.host;
    target.target = address_.prefix + "/ws/chat";
    if (!session_id.empty()) target.target += "?session_id=" + net::percent_encode(session_id);
    if (!token.empty()) target.headers.emplace_back("Authorization", "Bearer " + token);
    target.options.ping_after = kPingAfter;
    const auto link = co_await net::websocket_connect(loop_, std::move(target), socket_,
                                                      clock_.steady_now() + kDialTimeout);
    if (!link) link_.on_refused(link.error());
}

}  // namespace crab::sdk
