#include "adapters/rtp/pairing/pairing_remote.hpp"

#include "base/scope_exit.hpp"

#include <algorithm>

namespace crab::rtp {

/// Begins its handshake when the upgrade is done.
class PairingRemote::Link final : public PairingLink, public std::enable_shared_from_this<Link> {
public:
    Link(net::EventLoop& loop, PairingRemote& remote) : PairingLink(loop), remote_(remote) {}
    void on_open(net::WebSocketSession& session) override {
        PairingLink::on_open(session);
        remote_.tasks_.spawn("pairing with a gateway", remote_.run(shared_from_this()));
    }

private:
    PairingRemote& remote_;
};

std::optional<net::Upgrade> PairingRemote::upgrade(const net::HttpRequest& request,
                                                   const net::WebSocketOffer& offer) {
    if (!owns(request.path())) return std::nullopt;
    if (request.find("origin"))
        return net::Refusal{
            .status = 403,
            .body = R"({"error":"browsers do not pair: no Origin","code":"FORBIDDEN"})"};
    static_cast<void>(offer);  // a broken one is refused by the HTTP layer
    return net::AcceptUpgrade{.handler = std::make_shared<Link>(loop_, *this),
                              .proven = false,
                              .options = PairingLink::options()};
}

/// A gateway that has sent its last message may pair again at once, while this side still stores
/// the end.
Task<bool> PairingRemote::take_turn() {
    if (running_ && turn_.waiting()) co_return false;
    if (running_) (void)co_await turn_.wait(loop_.clock().steady_now() + options_.longest_turn);
    if (running_) co_return false;
    co_return running_ = true;
}

Task<void> PairingRemote::run(std::shared_ptr<PairingLink> link) {
    const SteadyTime began = loop_.clock().steady_now();
    const Deadline deadline = began + trust::kPairingTimeout;
    std::string first;
    const PairingLink::Event event =
        co_await link->next(first, std::min<Deadline>(deadline, began + options_.longest_silence));
    if (event == PairingLink::Event::kDeadline) link->send(trust::RemotePairing::silent());
    if (event != PairingLink::Event::kText) co_return;
    auto judge = [key = options_.identity().gateway_key, text = first] {
        return trust::RemotePairing::is_begun_by(key, text);
    };
    const bool proven = co_await pool_.run(std::move(judge));
    if (proven && !co_await take_turn()) co_return link->send(trust::RemotePairing::busy());
    const ScopeExit over([this, proven] {
        if (!proven) return;  // its machine ends with the first message, and touches nothing
        running_ = false;
        if (turn_.waiting()) turn_.wake();
    });
    const auto machine = std::make_shared<trust::RemotePairing>(options_.identity(), deadline);
    auto answer = [machine, text = std::move(first)] { return machine->on_message(text); };
    const auto step = co_await pool_.run(std::move(answer));
    const auto end = co_await drive_pairing(std::move(link), pool_, machine, step, deadline);
    if (options_.on_end) options_.on_end(end);
}

}  // namespace crab::rtp
