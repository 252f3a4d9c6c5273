#include "cli/chat_link.hpp"

#include "base/clock.hpp"
#include "base/descriptor.hpp"
#include "base/task/spawn.hpp"
#include "net/codec/url.hpp"
#include "net/http/dialer.hpp"
#include "net/loop/event_loop.hpp"
#include "net/loop/loop_thread.hpp"

#include <array>
#include <condition_variable>
#include <csignal>
#include <deque>
#include <future>
#include <mutex>
#include <optional>

#include <fmt/format.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

namespace crab::cli {
namespace {

constexpr std::chrono::seconds kConnect{15};

/// What comes, for another thread.
class Inbox final : public net::WebSocketHandler {
public:
    void on_open(net::WebSocketSession& socket) override { session = socket.shared_from_this(); }
    void on_text(net::WebSocketSession&, std::span<char> text) override {
        auto frame = json::Value::parse({text.data(), text.size()},
                                        {.max_bytes = std::size_t{16} << 20, .max_depth = 128});
        if (!frame) return;
        const std::scoped_lock lock(mutex_);
        frames_.push_back(std::move(*frame));
        announce();
    }
    void on_closed(net::WebSocketSession&, const net::CloseInfo& info) override {
        session = nullptr;
        const std::scoped_lock lock(mutex_);
        gone_ = fmt::format("the gateway ended the connection ({}{}{})", info.code,
                            info.reason.empty() ? "" : ", ", info.reason);
        announce();
    }
    std::optional<json::Value> next() {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return !frames_.empty() || gone_; });
        if (frames_.empty()) return std::nullopt;
        json::Value frame = std::move(frames_.front());
        frames_.pop_front();
        return frame;
    }
    bool before_input() {
        for (;;) {
            {
                const std::scoped_lock lock(mutex_);
                if (!frames_.empty() || gone_) return true;
                std::uint64_t announced = 0;
                (void)!::read(wakeup_.get(), &announced, sizeof(announced));
            }
            std::array<pollfd, 2> both{{{.fd = wakeup_.get(), .events = POLLIN, .revents = 0},
                                        {.fd = STDIN_FILENO, .events = POLLIN, .revents = 0}}};
            if (::poll(both.data(), both.size(), -1) > 0 && both[1].revents != 0 &&
                (both[0].revents & POLLIN) == 0)
                return false;
        }
    }
    std::string why_gone() {
        const std::scoped_lock lock(mutex_);
        return gone_.value_or("");
    }

    std::shared_ptr<net::WebSocketSession> session;   ///< on the loop only

private:
    /// Under the mutex: there is something for next() and before_input().
    void announce() {
        changed_.notify_one();
        const std::uint64_t one = 1;
        (void)!::write(wakeup_.get(), &one, sizeof(one));
    }

    std::mutex mutex_;
    std::condition_variable changed_;
    const Descriptor wakeup_{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
    std::deque<json::Value> frames_;
    std::optional<std::string> gone_;
};

Task<Result<void>> connect(net::EventLoop& loop, net::WebSocketTarget target,
                           std::shared_ptr<Inbox> inbox) {
    auto link = co_await net::websocket_connect(loop, std::move(target), inbox,
                                                loop.clock().steady_now() + kConnect);
    if (!link) co_return fail(std::move(link.error()));
    co_return Result<void>();
}

}  // namespace

struct ChatLink::State {
    RealClock clock;
    net::EventLoop loop{clock};
    std::shared_ptr<Inbox> inbox = std::make_shared<Inbox>();
    std::optional<net::LoopThread> thread;

    /// Signals are for the thread that waits at the terminal.
    void start() {
        sigset_t all, before;
        sigfillset(&all);
        ::pthread_sigmask(SIG_BLOCK, &all, &before);
        thread.emplace(loop);
        ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    }
    ~State() {
        loop.post([this] {
            if (inbox->session) inbox->session->close(1000, "");
            // The close frame leaves at the end of the iteration.
            loop.post([this] { loop.stop(); });
        });
        if (thread) thread->join();
    }
};

ChatLink::ChatLink(std::unique_ptr<State> state) : state_(std::move(state)) {}
ChatLink::~ChatLink() = default;

Result<std::unique_ptr<ChatLink>> ChatLink::open(const GatewayEndpoint& place,
                                                 const std::string& session_id,
                                                 const std::string& agent) {
    auto addresses = net::resolve(place.endpoint);
    if (!addresses)
        return fail(ErrorCode::kUnavailable, fmt::format("cannot find the gateway at {}: {}",
                                                         place.text, addresses.error().message));
    net::WebSocketTarget target;
    target.server = {
        .addresses = std::move(*addresses), .tls = place.tls, .server_name = place.server_name};
    target.host = place.host;
    target.target = place.prefix + "/ws/chat";
    if (!session_id.empty()) target.target += "?session_id=" + net::percent_encode(session_id);
    if (!agent.empty())
        target.target +=
            (session_id.empty() ? "?persona=" : "&persona=") + net::percent_encode(agent);
    if (!place.token.reveal().empty())
        target.headers.emplace_back("Authorization", "Bearer " + place.token.reveal());
    target.subprotocols = {"clawseed.v1"};
    const auto refusal = target.refusal = std::make_shared<std::string>();
    auto state = std::make_unique<State>();
    std::promise<Result<void>> connected;
    state->loop.post([&] {
        const auto on_end = [&connected](const std::exception_ptr&,
                                         std::optional<Result<void>> result) {
            connected.set_value(result
                                    ? std::move(*result)
                                    : fail(ErrorCode::kInternal, "connecting failed unexpectedly"));
        };
        spawn(state->loop.executor(), connect(state->loop, std::move(target), state->inbox),
              on_end);
    });
    state->start();
    if (auto result = connected.get_future().get(); !result) {
        Error error = std::move(result.error());
        const auto said = json::Value::parse(*refusal);
        if (const json::Value* const why = said ? said->find("error") : nullptr;
            why != nullptr && why->as_string())
            error.message = *why->as_string();
        if (error.code == ErrorCode::kUnavailable)
            error.message =
                fmt::format("cannot reach the gateway at {}: {}", place.text, error.message);
        return fail(std::move(error));
    }
    return std::unique_ptr<ChatLink>(new ChatLink(std::move(state)));
}

void ChatLink::send(std::string frame) {
    state_->loop.post([inbox = state_->inbox, text = std::move(frame)] {
        if (inbox->session) inbox->session->send_text(text);
    });
}

std::optional<json::Value> ChatLink::next() { return state_->inbox->next(); }
bool ChatLink::frame_before_input() { return state_->inbox->before_input(); }
std::string ChatLink::why_gone() const { return state_->inbox->why_gone(); }

}  // namespace crab::cli
