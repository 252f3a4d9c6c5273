#include "node.hpp"

#include "base/scope_exit.hpp"
#include "core/call/tool_host.hpp"
#include "world.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace crab::fleet::simulation {
namespace {

core::ToolSpec spec_of(bool idempotent) {
    core::ToolSpec spec;
    spec.side_effects = true;
    spec.idempotent = idempotent;
    return spec;
}

std::string key_of(std::string_view args) {
    const std::size_t begin = args.find(":\"") + 2;
    return std::string(args.substr(begin, args.rfind('"') - begin));
}

std::uint64_t number_of(std::string_view text) {
    std::uint64_t value = 0;
    for (const char c : text) value = value * 10 + static_cast<std::uint64_t>(c - '0');
    return value;
}

DeviceProcess process_of(const Device& device) {
    return {.principal = device.slug, .chat = "chat", .instance = device.slug};
}

World::Request request_of(const DeviceRequest& request) {
    return {.id = request.id,
            .key = key_of(request.args),
            .tool = request.tool,
            .attempt = number_of(request.traceparent),
            .reply = {}};
}

/// The node's side of a device: writes requests to its link and waits for what comes back.
class LinkHost final : public core::ToolHost {
public:
    LinkHost(World& world, Node& node, std::shared_ptr<Link> link)
        : world_(world), node_(node), link_(std::move(link)) {}

    Task<core::Outcome> run(core::AdmittedCall call, core::FrameSink& sink) override;
    std::uint64_t process() const override { return link_->device->process; }

private:
    Task<core::Outcome> run_named(const core::AdmittedCall& call);
    struct Asked {
        explicit Asked(TimerWheel& timers) : waiter(timers) {}
        Waiter waiter;
        bool written = false;
        std::optional<std::string> value;
    };

    World& world_;
    Node& node_;
    const std::shared_ptr<Link> link_;
};

/// As a device that lets its calls go on gets them: under the id of their record.
Task<core::Outcome> LinkHost::run_named(const core::AdmittedCall& call) {
    constexpr std::chrono::seconds kGrace{15};
    core::HostRequest& named = *call.host_request();
    const std::string id(named.id.view());
    if (node_.find_waiting(id)) co_return fail(ErrorCode::kOutcomeUnknown, "it is out already");
    if (named.adopted && link_->moved.may_be_forgotten(id))
        co_return fail(ErrorCode::kOutcomeUnknown, "the device need not know it any more");
    const auto asked = std::make_shared<WaitingCall>(node_.loop.timers);
    asked->link = link_;
    asked->request = {.id = id,
                      .tool = call.tool().spec.name,
                      .args = std::string(call.args()),
                      .traceparent = std::string(call.call().context.trace_id)};
    asked->deadline = call.deadline();
    asked->right = call.right_to_send();
    asked->maybe_seen = named.adopted;
    node_.waiting[id] = asked;
    const ScopeExit forget([&] { node_.waiting.erase(id); });
    world_.may_pause(node_);
    const std::weak_ptr<WaitingCall> waiting = asked;
    world_.after(std::chrono::microseconds(100), [this, waiting] {
        world_.on_node(node_, [this, waiting] {
            const auto one = waiting.lock();
            if (!one || one->link != link_ || !link_->open) return;
            one->written = true;
            world_.deliver(link_, request_of(one->request));
        });
    });
    std::optional<SteadyTime> broken;
    while (true) {
        const SteadyTime look = node_.loop.clock.steady_now() + std::chrono::seconds(1);
        const WaitEnd end = co_await asked->waiter.wait(std::min(look, call.deadline()));
        const SteadyTime now = node_.loop.clock.steady_now();
        if (asked->value) {
            named.when_kept = std::move(asked->kept);
            core::ToolResult result;
            result.content = *asked->value;
            co_return result;
        }
        if (asked->link->open || asked->held)
            broken.reset();
        else if (!broken)
            broken = now;
        if (broken && !asked->written && !asked->maybe_seen)
            co_return fail(ErrorCode::kUnavailable, "the device's link was closed");
        if (broken && now >= *broken + kGrace)
            co_return fail(ErrorCode::kOutcomeUnknown, "the device's link broke");
        if (end == WaitEnd::kCancelled) co_return fail(ErrorCode::kCancelled, "cancelled");
        if (now >= call.deadline())
            co_return fail(ErrorCode::kTimeout, "no answer before the deadline");
    }
}

Task<core::Outcome> LinkHost::run(core::AdmittedCall call, core::FrameSink&) {
    if (call.host_request() != nullptr) co_return co_await run_named(call);
    const auto asked = std::make_shared<Asked>(node_.loop.timers);
    const std::weak_ptr<Asked> waiting = asked;
    const World::Request request{
        .id = fmt::format("{}.{}.{}", node_.place().boot, link_->connection, world_.below(1 << 30)),
        .key = key_of(call.args()),
        .tool = call.tool().spec.name,
        .attempt = number_of(call.call().context.trace_id),
        .reply = [this, waiting](std::string value) {
            world_.on_node(node_, [waiting, value = std::move(value)] {
                const auto one = waiting.lock();
                if (!one) return;
                one->value = value;
                one->waiter.wake();
            });
        }};
    // Between the look at the lease and this write the process may stand still for long.
    world_.may_pause(node_);
    world_.after(std::chrono::microseconds(100), [this, waiting, request] {
        world_.on_node(node_, [this, waiting, request] {
            const auto one = waiting.lock();
            if (!one || !link_->open) return;
            one->written = true;
            world_.deliver(link_, request);
        });
    });
    constexpr std::chrono::seconds kGrace{1};
    while (true) {
        const SteadyTime look = node_.loop.clock.steady_now() + kGrace;
        const WaitEnd end = co_await asked->waiter.wait(std::min(look, call.deadline()));
        if (asked->value) {
            core::ToolResult result;
            result.content = *asked->value;
            co_return result;
        }
        if (!link_->open && !asked->written)
            co_return fail(ErrorCode::kUnavailable, "the device's link was closed");
        if (!link_->open) co_return fail(ErrorCode::kOutcomeUnknown, "the device's link broke");
        if (end == WaitEnd::kCancelled && !asked->written)
            co_return fail(ErrorCode::kCancelled, "cancelled before it was written");
        if (end == WaitEnd::kCancelled) co_return fail(ErrorCode::kCancelled, "cancelled");
        if (node_.loop.clock.steady_now() >= call.deadline())
            co_return fail(ErrorCode::kTimeout, "no answer before the deadline");
    }
}

}  // namespace

Task<std::optional<Route>> DirectorySimulated::find(const core::Call& call,
                                                    const core::Principal&) {
    constexpr std::chrono::seconds kFresh{2};
    const std::string wanted(call.tool);
    if (!read_at_ || *read_at_ + kFresh <= clock_.steady_now()) {
        World& world = world_;
        Wire& wire = wire_;
        const SteadyTime asked = clock_.steady_now();
        auto read = co_await pool_.run([&world, &wire]() -> std::optional<std::vector<LinkRow>> {
            if (wire.cut) return std::nullopt;
            return world.database().routes();
        });
        if (read) {
            view_ = std::move(*read);
            read_at_ = asked;
        }
    }
    const std::string slug = wanted.substr(0, wanted.find("__"));
    const auto row = std::ranges::find(view_, slug, &LinkRow::slug);
    if (row == view_.end()) co_return std::nullopt;
    const NodeRow* const node = world_.database().find(row->node);
    if (node == nullptr) co_return std::nullopt;
    co_return Route{.place = {.node = row->node.number, .loop = 0, .boot = node->boot},
                    .connection = row->connection,
                    .epoch = row->epoch,
                    .tool = wanted};
}

Node::Node(World& world, std::uint16_t number, std::uint32_t boot)
    : world_(world),
      place_{.node = number, .loop = 0, .boot = boot},
      ids_(loop.clock, world.below(UINT64_MAX)),
      rules_(std::make_shared<const core::CallRules>(core::CallRules{
          .policy = core::policy_of(),
          .hooks = {},
          .rates = std::make_shared<core::RateLimits>(std::vector<core::RateRule>{})})),
      table_(world.database(), wire),
      mail_(world.keys(), place_),
      bus_(world.network().connect(place_, mail_)),
      directory_(world, wire, pool, loop.clock) {
    loop.clock.advance(world.now() - loop.clock.steady_now());
    const NodeName begun = table_.begin(number, boot).value();
    beats_.emplace(loop.clock, begun.incarnation);
    lease = std::make_unique<Lease>(
        Lease::Uses{.table = table_,
                    .pool = pool,
                    .clock = loop.clock,
                    .home = loop.executor(),
                    .timers = loop.timers,
                    .of_timers = loop.clock},
        begun, boot, loop.clock.steady_now(), [this] {
            for (LinkRow& row : world_.database().links)
                if (row.node.number == place_.node && links.contains(row.connection))
                    row.node = lease->name();
        });
    store_ = std::make_unique<LedgerStoreSimulated>(LedgerStoreSimulated::Uses{
        .database = world.database(),
        .wire = wire,
        .self = [this] { return lease->name(); },
        .is_silent = [this](NodeName other) { return lease->is_silent(other); },
        .on_commit = [this](const std::string& key) { world_.committed(key, *this); },
        .on_adopted = [this](const std::string& key) { world_.adopted(key, *this); },
        .on_unstored = [this](const std::string& key,
                              const std::string& result) { world_.unstored(key, result); }});
    journal_ = std::make_unique<core::LedgerJournal>(*store_, pool, loop.clock);
    pipeline = std::make_unique<core::Pipeline>(core::CallServices{.clock = loop.clock,
                                                                   .registry = registry_,
                                                                   .rules = rules_,
                                                                   .ledger = ledger_,
                                                                   .early_cancels = early_cancels_,
                                                                   .audit = audit_,
                                                                   .journal = journal_.get(),
                                                                   .lease = lease.get()},
                                                loop.executor(), loop.timers, ids_);
    make_calls();
    mail_.open(bus_, *letters_);
    lease->start();
    letters_->start();
}

/// What it says to other nodes.
void Node::make_calls() {
    forwarder = std::make_unique<Forwarder>(Forwarder::Uses{.mail = mail_,
                                                            .beats = *beats_,
                                                            .directory = directory_,
                                                            .here = *pipeline,
                                                            .ids = ids_,
                                                            .clock = loop.clock,
                                                            .timers = loop.timers});
    owner = std::make_unique<Owner>(Owner::Uses{.mail = mail_,
                                                .beats = *beats_,
                                                .calls = *pipeline,
                                                .is_here =
                                                    [this](const ForwardHead& head) {
                                                        const auto link =
                                                            links.find(head.connection);
                                                        return link != links.end() &&
                                                               link->second->open &&
                                                               link->second->epoch == head.epoch;
                                                    },
                                                .clock = loop.clock,
                                                .home = loop.executor(),
                                                .timers = loop.timers});
    moved_ = std::make_unique<MovedCalls>(MovedCalls::Uses{
        .mail = mail_, .beats = *beats_, .clock = loop.clock, .timers = loop.timers});
    moved_->open(*this, *this);
    letters_ = std::make_unique<Letters>(Letters::Uses{.mail = mail_,
                                                       .beats = *beats_,
                                                       .owner = *owner,
                                                       .forwarder = *forwarder,
                                                       .moved = *moved_,
                                                       .clock = loop.clock,
                                                       .home = loop.executor(),
                                                       .timers = loop.timers});
}

Node::~Node() { moved_->close(); }

void Node::settle() {
    asio::post(loop.io, [this] { loop.timers.run_expired(); });
    loop.settle();
}

void Node::die() {
    alive = false;
    paused = false;
    wire.cut = true;
    bus_.die();
    for (auto& [connection, link] : links) link->open = false;
}

void Node::connect(Device& device, std::uint64_t connection, std::uint64_t epoch) {
    const auto link =
        std::make_shared<Link>(Link{.connection = connection, .epoch = epoch, .device = &device});
    links.emplace(connection, link);
    std::vector<core::ToolRef> tools;
    for (const bool idempotent : {false, true}) {
        auto tool = core::tool_of(idempotent ? "set" : "act", device.slug, ConnectionId{connection},
                                  {}, spec_of(idempotent));
        tool->host = std::make_shared<LinkHost>(world_, *this, link);
        tools.push_back(std::move(tool));
    }
    registry_.change(ConnectionId{connection}, tools, {});
    device.link = link;
    device.node = this;
    if (device.process == 0) return;
    resume(link);
    moved_->announce({.device = process_of(device), .connection = connection});
}

/// What the device has not answered here goes to its new link.
void Node::resume(const std::shared_ptr<Link>& link) {
    for (const auto& [id, call] : waiting) {
        const auto asked = call.lock();
        if (!asked || asked->value || asked->link->device != link->device ||
            !(asked->written || asked->maybe_seen) || !asked->right.holds())
            continue;
        asked->link = link;
        asked->maybe_seen = true;
        asked->held = false;
        world_.deliver(link, request_of(asked->request));
    }
}

std::shared_ptr<WaitingCall> Node::find_waiting(std::string_view id) const {
    const auto found = waiting.find(std::string(id));
    return found != waiting.end() ? found->second.lock() : nullptr;
}

void Node::on_answer(const std::shared_ptr<Link>& link, const std::string& id,
                     const std::string& value) {
    if (!link->open) return;
    if (world_.database().without.kept) world_.acknowledge(link, id);
    const auto asked = find_waiting(id);
    if (asked && !asked->value) {
        asked->value = value;
        asked->kept = [this, link, id] {
            link->moved.settled(id);
            world_.acknowledge(link, id);
        };
        return asked->waiter.wake();
    }
    const bool over =
        link->moved.answer(id, {.kind = clawseed::WordToOther::Kind::kAnswer, .frame = value},
                           loop.clock.steady_now());
    if (over) world_.acknowledge(link, id);
}

std::vector<MovedCalls::Waiting::Out> Node::unanswered(const DeviceProcess& device) {
    std::vector<Out> out;
    for (const auto& [id, call] : waiting) {
        const auto asked = call.lock();
        if (!asked || asked->value || asked->link->device->slug != device.instance ||
            !asked->written || !asked->right.holds())
            continue;
        asked->maybe_seen = true;
        out.push_back(
            {.request = asked->request, .deadline = asked->deadline, .right = asked->right});
    }
    return out;
}

bool Node::waits(const DeviceProcess&, std::string_view id) {
    const auto asked = find_waiting(id);
    return asked && !asked->value;
}

void Node::set_held(const DeviceProcess&, std::string_view id, bool held) {
    const auto asked = find_waiting(id);
    if (!asked) return;
    asked->held = held;
    asked->waiter.wake();
}

void Node::answer(const DeviceProcess&, std::string_view id, std::optional<std::string> frame,
                  std::function<void()> kept) {
    const auto asked = find_waiting(id);
    if (!asked || asked->value) return kept();
    asked->value = frame.value();
    asked->kept = std::move(kept);
    asked->waiter.wake();
}

void Node::on_resume(const bus::Place& asker, std::uint8_t flags, Resume resume, Deadline) {
    const auto found = links.find(resume.connection);
    const bool is_here = found != links.end() && found->second->open;
    const std::string& id = resume.request.id;
    if ((flags & kHaveAnswer) != 0) {
        if (is_here && found->second->moved.heard(id)) world_.acknowledge(found->second, id);
        return;
    }
    auto tell = [this, asker, id, connection = resume.connection](clawseed::WordToOther word) {
        using Kind = clawseed::WordToOther::Kind;
        using Says = Reply::Says;
        const Says says = word.kind == Kind::kLinked   ? Says::kLinked
                          : word.kind == Kind::kAnswer ? Says::kAnswer
                                                       : Says::kGone;
        moved_->tell(
            asker,
            {.id = id, .connection = connection, .says = says, .frame = std::move(word.frame)});
    };
    if (!is_here || found->second->device->slug != resume.device.instance)
        return tell({.kind = clawseed::WordToOther::Kind::kGone});
    const clawseed::RequestOfOther request{.id = id, .asked_before = (flags & kAskedBefore) != 0};
    if (found->second->moved.ask(request, tell, loop.clock.steady_now()))
        world_.deliver(found->second, request_of(resume.request));
}

void Node::close(std::uint64_t connection) {
    const auto link = links.find(connection);
    if (link == links.end()) return;
    link->second->open = false;
    links.erase(link);
    registry_.remove_owner(ConnectionId{connection});
    if (wire.cut) return;  // the row stays, and whoever follows it is told that the link is gone
    std::erase_if(world_.database().links,
                  [&](const LinkRow& row) { return row.connection == connection; });
}

void Node::stop() {
    const auto done = [this] { ++stopped_; };
    owner->stop(done);
    letters_->stop(done);
    lease->stop(done);
}

}  // namespace crab::fleet::simulation
