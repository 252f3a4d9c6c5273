#include "bus/local/local_network.hpp"

#include <algorithm>

namespace crab::bus::local {

/// What one loop holds of the network.
class LocalNetwork::End final : public Bus {
public:
    End(LocalNetwork& network, const Place& self, Listener& listener)
        : network_(network), self_(self), listener_(listener) {
        network_.ends_[self_] = this;
    }
    ~End() override { network_.ends_.erase(self_); }

    Result<Receipt> send(const Place& to, std::string message) override {
        return network_.send(self_, to, std::move(message));
    }
    Result<void> publish(Topic, std::string message) override {
        std::vector<Place> others;
        for (const auto& [place, end] : network_.ends_)
            if (place != self_) others.push_back(place);
        for (const Place& other : others) network_.send(self_, other, message);
        return {};
    }
    bool connected() const override { return true; }
    Listener& listener() { return listener_; }

private:
    LocalNetwork& network_;
    const Place self_;
    Listener& listener_;
};

LocalNetwork::~LocalNetwork() = default;

std::unique_ptr<Bus> LocalNetwork::connect(const Place& self, Listener& listener) {
    return std::make_unique<End>(*this, self, listener);
}

bool LocalNetwork::chance(std::uint32_t thousandths) {
    return thousandths != 0 && random_.random() % 1'000 < thousandths;
}

Milliseconds LocalNetwork::between(Milliseconds least, Milliseconds most) {
    const auto span = static_cast<std::uint64_t>((most - least).count()) + 1;
    return least + Milliseconds(static_cast<std::int64_t>(random_.random() % span));
}

Receipt LocalNetwork::send(const Place& from, const Place& to, std::string message) {
    auto sent = std::make_shared<Sent>();
    sent->receipt = Receipt{++receipts_};
    sent->from = from;
    sent->to = to;
    sent->message = std::move(message);
    ++counts_.sent;
    launch(sent, false);
    if (chance(faults_.doubled)) {
        ++counts_.doubled;
        launch(sent, false);
    }
    return sent->receipt;
}

void LocalNetwork::launch(const std::shared_ptr<Sent>& sent, bool bounce) {
    const Place& from = bounce ? sent->to : sent->from;
    const Place& to = bounce ? sent->from : sent->to;
    if (chance(faults_.lost) || is_cut(from.node, to.node)) {
        ++counts_.lost;
        sent->lost = true;
        return;
    }
    SteadyTime due = clock_.steady_now() + between(faults_.least_delay, faults_.most_delay);
    if (chance(faults_.late)) {
        ++counts_.late;
        due += between(Milliseconds(0), faults_.most_late);
    } else if (faults_.in_order) {
        SteadyTime& last = last_[{from, to}];
        due = last = std::max(last, due);
    }
    if (!bounce) ++sent->copies;
    under_way_.emplace(due, Copy{sent, bounce});
}

bool LocalNetwork::waits(const Copy& copy) const {
    return stopped_ || paused_.contains(copy.bounce ? copy.sent->from.node : copy.sent->to.node);
}

std::optional<SteadyTime> LocalNetwork::next_due() const {
    const auto next =
        std::ranges::find_if(under_way_, [&](const auto& one) { return !waits(one.second); });
    if (next == under_way_.end()) return std::nullopt;
    return next->first;
}

bool LocalNetwork::deliver_one() {
    const SteadyTime now = clock_.steady_now();
    for (auto next = under_way_.begin(); next != under_way_.end() && next->first <= now; ++next) {
        if (waits(next->second)) continue;
        const Copy copy = std::move(next->second);
        under_way_.erase(next);
        arrive(copy);
        return true;
    }
    return false;
}

// Only when the fate of every copy is known may anybody say that nobody has got it.
void LocalNetwork::arrive(const Copy& copy) {
    Sent& sent = *copy.sent;
    const auto end = ends_.find(copy.bounce ? sent.from : sent.to);
    if (copy.bounce) {
        ++counts_.nobody;
        if (end != ends_.end()) end->second->listener().on_nobody(sent.receipt);
        return;
    }
    --sent.copies;
    if (end != ends_.end()) {
        sent.reached = true;
        ++counts_.delivered;
        end->second->listener().on_message(sent.message);
    } else if (sent.copies == 0 && !sent.reached && !sent.lost) {
        launch(copy.sent, true);
    }
}

}  // namespace crab::bus::local
