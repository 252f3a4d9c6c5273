#include "adapters/rtp/pairing_remote.hpp"

#include "base/scope_exit.hpp"

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

std::optional<net::Upgrade> PairingRemote::upgrade(const net::HttpRequest& request, const net::WebSocketOffer& offer) {
    if (!owns(request.path())) return std::nullopt;
    if (request.find("origin")) return net::Refusal{.status = 403, .body = R"({"error":"browsers do not pair: no Origin","code":"FORBIDDEN"})"};
    static_cast<void>(offer);  // a broken one is refused by the HTTP layer
    return net::AcceptUpgrade{.handler = std::make_shared<Link>(loop_, *this), .options = PairingLink::options()};
}

/// A gateway that has sent its last message may pair again at once, while this side still stores the end.
Task<bool> PairingRemote::take_turn() {
    if (running_ && turn_.waiting()) co_return false;
    if (running_) (void)co_await turn_.wait(loop_.clock().steady_now() + options_.longest_turn);
    if (running_) co_return false;
    co_return running_ = true;
}

Task<void> PairingRemote::run(std::shared_ptr<PairingLink> link) {
    const Deadline deadline = loop_.clock().steady_now() + trust::kPairingTimeout;
    if (!co_await take_turn()) co_return link->send(trust::RemotePairing::busy());
    const ScopeExit over([this] {
        running_ = false;
        if (turn_.waiting()) turn_.wake();
    });
    const auto machine = std::make_shared<trust::RemotePairing>(options_.identity(), deadline);
    const auto end = co_await drive_pairing(std::move(link), pool_, machine, {}, deadline);
    if (options_.on_end) options_.on_end(end);
}

}  // namespace crab::rtp
