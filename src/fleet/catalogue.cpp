#include "fleet/catalogue.hpp"

#include "base/log.hpp"
#include "fleet/link_tools.hpp"
#include "fleet/remote_host.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace crab::fleet {
namespace {

/// Of connections of other nodes, in this node's registry; no other owners have these numbers.
constexpr std::uint64_t kFirstOwner = std::uint64_t{1} << 61;

}  // namespace

Catalogue::Catalogue(Uses uses)
    : uses_(std::move(uses)),
      wake_(std::make_shared<RemoteWaiter>(uses_.home, uses_.timers)),
      tasks_(uses_.home) {}

void Catalogue::start() {
    watch_ = uses_.registry.changes().watch([wake = wake_] { wake->wake(); });
    tasks_.spawn("devices of the fleet", keep());
}

void Catalogue::stop(std::function<void()> done) {
    watch_ = {};
    tasks_.stop([this, then = std::move(done)] {
        for (const auto& [key, remote] : std::exchange(remote_, {}))
            uses_.registry.remove_owner(remote.owner);
        then();
    });
}

bool Catalogue::is_here(const ForwardHead& head) const {
    const auto own = own_.find(head.connection);
    return own != own_.end() && head.epoch != 0 && own->second.link.epoch == head.epoch &&
           !uses_.registry.owned_by(ConnectionId{head.connection}).empty();
}

Task<void> Catalogue::keep() {
    const TaskChain& chain = co_await this_chain();
    Waiter gather(uses_.timers);
    while (!chain.cancelled()) {
        co_await pass();
        co_await wake_->wait(uses_.clock.steady_now() + kEvery);
        // Tools come one by one.
        co_await gather.wait(uses_.clock.steady_now() + kGather);
    }
}

Task<void> Catalogue::pass() {
    if (look_at_own()) claim_due_ = read_due_ = true;
    if (uses_.self() != claimed_as_) claim_due_ = true;
    if (claim_due_ && !co_await claim()) co_return;
    co_await read_others();
}

/// Whether something is otherwise than it was claimed.
bool Catalogue::look_at_own() {
    std::map<std::uint64_t, Own> now;
    bool changed = false;
    for (const ConnectionId connection : uses_.devices()) {
        const auto number = static_cast<std::uint64_t>(connection);
        std::vector<core::ToolRef> tools = uses_.registry.owned_by(connection);
        if (tools.empty()) continue;
        Own& one = now[number];
        const auto before = own_.find(number);
        if (before != own_.end() && before->second.tools == tools) {
            one = std::move(before->second);
            continue;
        }
        changed = true;
        const core::ToolSource& source = tools.front()->source;
        one.owner = source.owner;
        one.link = {.connection = number,
                    .epoch = before == own_.end() ? 0 : before->second.link.epoch,
                    .source = source.name,
                    .tools = link_tools_to_wire(tools)};
        one.tools = std::move(tools);
    }
    changed = changed || now.size() != own_.size();
    own_ = std::move(now);
    return changed;
}

Task<bool> Catalogue::claim() {
    const NodeName self = uses_.self();
    std::vector<Link> changed;
    std::vector<std::uint64_t> kept;
    for (auto& [connection, own] : own_) {
        own.written = own.written && self == claimed_as_;
        if (own.written)
            kept.push_back(connection);
        else
            changed.push_back(own.link);
    }
    LinkTable& table = uses_.table;
    counts_.claims.add();
    const auto epochs = co_await uses_.pool.run(
        [&table, self, changed, kept] { return table.claim(self, changed, kept); });
    if (!epochs) {
        if (epochs.error().code == ErrorCode::kNotFound) claimed_as_ = {};  // all, the next time
        counts_.failures.add();
        log::warn("the devices of this node were not written down for the fleet",
                  {{"reason", epochs.error().message}});
        co_return false;
    }
    for (std::size_t i = 0; i < changed.size(); ++i) {
        const auto own = own_.find(changed[i].connection);
        if (own == own_.end()) continue;
        own->second.link.epoch = (*epochs)[i];
        own->second.written = true;
    }
    claimed_as_ = self;
    claim_due_ = false;
    co_return true;
}

/// While the database is away, what was read last counts.
Task<void> Catalogue::read_others() {
    LinkTable& table = uses_.table;
    auto version = co_await uses_.pool.run([&table] { return table.version(); });
    if (!version) {
        counts_.failures.add();
        co_return;
    }
    if (*version == version_ && !read_due_) co_return;
    const std::uint16_t number = uses_.self().number;
    auto links = co_await uses_.pool.run([&table, number] { return table.read(number); });
    if (!links) {
        counts_.failures.add();
        co_return;
    }
    counts_.reads.add();
    const auto all = std::make_shared<Read>(Read{.links = std::move(*links), .tools = {}});
    co_await parse_tools(all);
    take(*all);
    version_ = std::move(*version);
    read_due_ = false;
    known_ = true;
}

bool Catalogue::is_registered(const Link& link) const {
    const auto known = remote_.find(key_of(link));
    return known != remote_.end() && known->second.tools == link.tools;
}

/// In the pool: their schemas are compiled, which takes long for many.
Task<void> Catalogue::parse_tools(std::shared_ptr<Read> read) {
    read->tools.resize(read->links.size());
    std::vector<std::size_t> unknown;
    for (std::size_t i = 0; i < read->links.size(); ++i)
        if (!is_registered(read->links[i])) unknown.push_back(i);
    if (unknown.empty()) co_return;
    co_await uses_.pool.run([read, unknown] {
        for (const std::size_t i : unknown) {
            const Link& link = read->links[i];
            auto tools = parse_link_tools(link.tools);
            if (tools)
                read->tools[i] = std::move(*tools);
            else
                log::warn("a device of another node was not understood",
                          {{"device", link.source}, {"reason", tools.error().message}});
        }
        return true;
    });
}

/// Nothing for one without tools, and for what is not understood.
std::optional<Catalogue::Seen> Catalogue::look_at(const Link& link, Tools& tools) const {
    if (is_registered(link))
        return Seen{.link = &link, .principal = remote_.at(key_of(link)).principal, .tools = {}};
    if (tools.empty()) return std::nullopt;
    std::string principal = tools.front()->source.owner;
    return Seen{.link = &link, .principal = std::move(principal), .tools = std::move(tools)};
}

/// Whether another node's link may have its name here: the device is not here, or was here before.
bool Catalogue::may_take(const Seen& seen) const {
    return std::ranges::all_of(own_, [&](const auto& one) {
        const Own& own = one.second;
        if (own.link.source != seen.link->source) return true;
        return own.owner == seen.principal && own.link.epoch != 0 &&
               own.link.epoch < seen.link->epoch;
    });
}

/// Links by ascending epoch.
void Catalogue::take(Read& read) {
    std::map<std::string, Seen> newest;  // by name
    for (std::size_t i = 0; i < read.links.size(); ++i) {
        const Link& link = read.links[i];
        auto seen = look_at(link, read.tools[i]);
        if (!seen) continue;
        Seen& best = newest[link.source];
        const bool others = best.link != nullptr && best.principal != seen->principal;
        if (others) counts_.names_taken.add();
        if (!others && may_take(*seen)) best = std::move(*seen);
    }
    std::map<Key, Remote> before = std::exchange(remote_, {});
    for (auto& [name, best] : newest) {
        if (best.link == nullptr) continue;
        if (auto known = before.extract(key_of(*best.link))) remote_.insert(std::move(known));
    }
    for (const auto& [key, gone] : before) uses_.registry.remove_owner(gone.owner);
    for (auto& [name, best] : newest)
        if (best.link != nullptr && !best.tools.empty()) register_tools(best);
}

void Catalogue::register_tools(Seen& seen) {
    const Link& link = *seen.link;
    Remote& remote = remote_[key_of(link)];
    if (remote.owner == ConnectionId{}) remote.owner = ConnectionId{kFirstOwner + last_owner_++};
    const auto host = std::make_shared<RemoteHost>(
        Route{.place = {.node = link.process.node, .loop = 0, .boot = link.process.boot},
              .connection = link.connection,
              .epoch = link.epoch,
              .tool = {}});
    std::vector<core::ToolRef> tools;
    for (auto& tool : seen.tools) {
        if (uses_.registry.is_reserved(tool->unique_name)) continue;
        if (uses_.registry.is_reserved(tool->spec.name)) tool->unique_name_only = true;
        tool->source.connection = remote.owner;
        tool->host = host;
        tools.push_back(std::move(tool));
    }
    uses_.registry.replace(remote.owner, tools);
    remote.tools = link.tools;
    remote.principal = seen.principal;
}

}  // namespace crab::fleet
