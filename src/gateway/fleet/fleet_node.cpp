#include "gateway/fleet/fleet_node.hpp"

#include "base/log.hpp"
#include "gateway/stored/fleet_files.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include <fmt/format.h>

namespace crab::gateway {
namespace {

constexpr std::chrono::seconds kFleetLookEvery{1};

Task<core::CallEnd> refused() {
    co_return core::CallEnd{.outcome = std::make_shared<const core::Outcome>(fail(
                                ErrorCode::kUnavailable,
                                "this node is cut off from its fleet, and nothing was run now: "
                                "use another one, or repeat later"))};
}

}  // namespace

Task<core::CallEnd> FleetGate::run(core::AuthenticatedCall call, core::FrameSink& sink,
                                   core::WhileRunning repeats) {
    return tokens_.is_cut_off() ? refused() : behind_.run(call, sink, repeats);
}

FleetNode::Part::Part(FleetNode& side, std::size_t place, net::EventLoop& loop,
                      core::Pipeline& pipeline)
    : directory({.registry = side.uses_.context.registry.published(),
                 .rules = side.uses_.rules.rules(),
                 .known = side.catalogue_->known(),
                 .clock = loop.clock(),
                 .timers = loop.timers()}),
      node({.keys = side.uses_.membership.keys(),
            .self = side.place_of(place),
            .incarnation = side.uses_.membership.self().incarnation,
            .directory = directory,
            .here = pipeline,
            .running = &pipeline.running(),
            // The catalogue is the first loop's, and so are forwards.
            .is_here =
                [&side, place](const fleet::ForwardHead& head) {
                    return place == 0 && !side.draining_ && side.catalogue_->is_here(head);
                },
            .on_hint =
                [&side, place](std::string_view body) {
                    if (place == 0) side.on_hint(body);
                },
            .ids = loop.ids(),
            .clock = loop.clock(),
            .home = loop.executor(),
            .timers = loop.timers()}),
      link(loop, side.nats_, side.place_of(place), node.mail),
      gate(node.forwarder, side.uses_.credentials.tokens()) {
    node.open(link);
}

Result<void> FleetNode::read_nats(const config::FleetOptions& options) {
    constexpr std::string_view kScheme = "nats://";
    constexpr std::size_t kMostUserBytes = 16'384;
    nats_.fleet = options.name;
    nats_.name = fmt::format("crab {}", options.node_name);
    for (const std::string& url : options.nats->urls) {
        const auto endpoint = net::parse_endpoint(std::string_view(url).substr(kScheme.size()));
        if (!endpoint)
            return fail(ErrorCode::kInvalidArgs,
                        fmt::format("fleet.nats.urls: {}: {}", url, endpoint.error().message));
        const auto addresses = net::resolve(*endpoint);
        if (!addresses)
            return fail(ErrorCode::kUnavailable,
                        fmt::format("fleet.nats.urls: {}: {}", url, addresses.error().message));
        nats_.servers.insert(nats_.servers.end(), addresses->begin(), addresses->end());
    }
    if (options.nats->user_file.empty()) return {};
    auto user = read_fleet_file(options.nats->user_file, "fleet.nats.user_file", kMostUserBytes);
    if (!user) return fail(std::move(user.error()));
    user->erase(user->find_last_not_of(" \t\r\n") + 1);
    const std::size_t colon = user->find(':');
    if (colon == std::string::npos || colon == 0)
        return fail(ErrorCode::kInvalidArgs, "fleet.nats.user_file: it has to hold name:password");
    nats_.user = user->substr(0, colon);
    nats_.password = Secret<std::string>(user->substr(colon + 1));
    return {};
}

bus::Place FleetNode::place_of(std::size_t loop) const {
    return {.node = uses_.membership.self().number,
            .loop = static_cast<std::uint8_t>(loop),
            .boot = uses_.membership.boot()};
}

Result<void> FleetNode::start() {
    constexpr std::size_t kMostLoops = 64;
    if (!uses_.membership.exists()) return {};
    if (auto read = read_nats(*uses_.context.config.fleet); !read) return read;
    if (uses_.loops.group().size() > kMostLoops)
        return fail(ErrorCode::kInvalidArgs, "fleet.nats: gateway.threads may be 64 at most");
    pool_.emplace(2);
    net::EventLoop& first = uses_.loops.first();
    uses_.membership.make_lease(first.executor(), first.timers(), first.clock());
    catalogue_.emplace(fleet::Catalogue::Uses{.table = uses_.membership.links(),
                                              .pool = *pool_,
                                              .registry = uses_.context.registry,
                                              .self = [this] { return uses_.membership.self(); },
                                              .devices =
                                                  [this] {
                                                      std::vector<ConnectionId> connections;
                                                      if (draining_) return connections;
                                                      for (const auto& device :
                                                           uses_.hub().connected())
                                                          connections.push_back(device.connection);
                                                      return connections;
                                                  },
                                              .clock = first.clock(),
                                              .home = first.executor(),
                                              .timers = first.timers()});
    tasks_.emplace(first.executor());
    return {};
}

CallPath::RunnerOf FleetNode::runner() {
    if (!catalogue_) return {};
    return [this](std::size_t place, net::EventLoop& loop,
                  core::Pipeline& pipeline) -> core::CallRunner& {
        parts_.push_back(std::make_unique<Part>(*this, place, loop, pipeline));
        return parts_.back()->gate;
    };
}

void FleetNode::begin() {
    const auto loops = uses_.loops.all();
    for (std::size_t i = 0; i < parts_.size(); ++i)
        loops[i]->post([&part = *parts_[i]] { part.link.start(); });
    if (!parts_.empty()) uses_.loops.first().post([this] { begin_first(); });
}

void FleetNode::begin_first() {
    parts_.front()->node.start();
    uses_.membership.lease()->start();
    catalogue_->start();
    begin_trust();
    moved_.emplace(uses_.hub(), parts_.front()->node.moved, uses_.loops.first());
    tasks_->spawn("the bus of the fleet", look_around());
    tasks_->spawn("the bell of events", ring_for_events());
    log::info("a node of a fleet", {{"fleet", nats_.fleet},
                                    {"node", uses_.membership.self().number},
                                    {"incarnation", uses_.membership.self().incarnation}});
}

/// What is granted and revoked here is told to other nodes, and the other way round.
void FleetNode::begin_trust() {
    trust_.emplace(FleetTrust::Uses{
                       .tokens = uses_.credentials.tokens(),
                       .codes = uses_.credentials.codes(),
                       .changes = uses_.membership.changes(),
                       .loop = uses_.loops.first(),
                       .pool = *pool_,
                       .stale = uses_.context.config.fleet->trust_stale,
                       .say =
                           [this](const fleet::Hint& hint) {
                               (void)parts_.front()->node.mail.publish(bus::Topic::kAll,
                                                                       {.kind = bus::Kind::kHint},
                                                                       fleet::to_wire(hint));
                           },
                       .hears_others = [this] { return parts_.front()->node.beats.living() > 0; }},
                   uses_.shared());
    tasks_->spawn("trust of the fleet", trust_->run());
    uses_.membership.on_trust_changed([this] { trust_->changed_here(); });
}

void FleetNode::on_hint(std::string_view body) {
    const auto hint = fleet::parse_hint(body);
    if (hint && hint->events)
        uses_.events.ring();
    else if (trust_)
        trust_->on_hint(body);
}

/// Tells other nodes that this one has appended events, so that they need not wait for their next
/// look.
Task<void> FleetNode::ring_for_events() {
    constexpr Milliseconds kTogether{20};
    const TaskChain& chain = co_await this_chain();
    net::EventLoop& loop = uses_.loops.first();
    core::EventOutbox& outbox = uses_.events.outbox();
    const auto notifier = std::make_shared<core::EventNotifier>(loop.executor(), loop.timers());
    outbox.add(notifier);
    Waiter pause(loop.timers());
    const std::string bell = fleet::to_wire(fleet::Hint{.revoked = {}, .events = true});
    for (std::uint64_t told = outbox.accepted(); !chain.cancelled();) {
        const core::EventPosition last = outbox.last();
        if (outbox.accepted() == told) {
            co_await outbox.sleep(*notifier, last, kNoDeadline);
            continue;
        }
        told = outbox.accepted();
        (void)parts_.front()->node.mail.publish(bus::Topic::kAll, {.kind = bus::Kind::kHint}, bell);
        co_await pause.wait(loop.clock().steady_now() + kTogether);
    }
}

/// Whether the bus is there.
Task<void> FleetNode::look_around() {
    const TaskChain& chain = co_await this_chain();
    net::EventLoop& loop = uses_.loops.first();
    Waiter pause(loop.timers());
    while (!chain.cancelled()) {
        connected_ = parts_.front()->link.connected();
        heard_ = parts_.front()->node.beats.living();
        co_await pause.wait(loop.clock().steady_now() + kFleetLookEvery);
    }
}

Health FleetNode::health() const {
    if (parts_.empty()) return {};
    if (uses_.credentials.tokens().is_cut_off())
        return {.ok = false,
                .reason =
                    "this node is cut off from the database and from other nodes, so it does not "
                    "know who was revoked and serves nobody: see the database and NATS"};
    const fleet::Lease* lease = uses_.membership.lease();
    if (lease == nullptr || !lease->holds(lease->incarnation()))
        return {.ok = false,
                .reason =
                    "the lease of this node has lapsed, so calls with effects are refused: "
                    "see the database"};
    if (!connected_)
        return {.ok = false,
                .reason = "no NATS server is connected, so tools of other nodes are not reached"};
    return {};
}

void FleetNode::add_metrics(core::MetricsPage& page) {
    if (!parts_.empty()) page.add([this](std::string& out) { append_metrics(out); });
}

void FleetNode::append_metrics(std::string& out) const {
    std::uint64_t forwarded = 0, doubt = 0, forged = 0;
    for (const auto& part : parts_) {
        forwarded += part->node.forwarder.counts().forwarded.value();
        doubt += part->node.forwarder.counts().in_doubt.value();
        forged += part->node.mail.counts().forged.value();
    }
    using core::append_metric;
    append_metric(out, "crab_fleet_forwarded_calls_total", "counter",
                  "Calls that were handed to another node.", static_cast<double>(forwarded));
    append_metric(out, "crab_fleet_calls_in_doubt_total", "counter",
                  "Times that a node to which a call was handed was not heard of.",
                  static_cast<double>(doubt));
    append_metric(out, "crab_fleet_calls_for_others_total", "counter",
                  "Calls of other nodes that were begun here.",
                  static_cast<double>(parts_.front()->node.owner.counts().begun.value()));
    append_metric(out, "crab_fleet_moved_calls_answered_total", "counter",
                  "Calls here whose device came back at another node and answered there.",
                  static_cast<double>(parts_.front()->node.moved.counts().answered.value()));
    append_metric(out, "crab_fleet_forged_messages_total", "counter",
                  "Messages that no node of the fleet has signed.", static_cast<double>(forged));
    append_metric(out, "crab_fleet_nodes_heard", "gauge",
                  "Other nodes that were heard in the last seconds, and can be called.",
                  static_cast<double>(heard_));
    append_metric(out, "crab_fleet_bus_connected", "gauge", "1 while a NATS server is connected.",
                  connected_ ? 1 : 0);
    const fleet::Lease* lease = uses_.membership.lease();
    append_metric(out, "crab_fleet_cut_off", "gauge",
                  "1 while this node does not know who was revoked, and serves nobody.",
                  uses_.credentials.tokens().is_cut_off() ? 1 : 0);
    append_metric(out, "crab_fleet_lease_holds", "gauge",
                  "1 while this node may begin calls with effects.",
                  lease != nullptr && lease->holds(lease->incarnation()) ? 1 : 0);
}

// Its devices are offered at no other node any more, and what comes for them is refused.
void FleetNode::drain() {
    if (parts_.empty()) return;
    draining_ = true;
    catalogue_->look_now();
}

void FleetNode::end_waiting(Deadline deadline) {
    if (parts_.empty()) return;
    uses_.loops.finish_on_each(deadline, [this](std::size_t i, const std::function<void()>& done) {
        parts_[i]->node.forwarder.stop_waiting();
        done();
    });
}

/// Other nodes have heard how the calls ended that this one ran for them, or `deadline` has passed.
void FleetNode::wait_heard(Deadline deadline) {
    const auto heard = [](const auto& part) { return part->node.owner.unheard() == 0; };
    while (!std::ranges::all_of(parts_, heard) && uses_.context.clock.steady_now() < deadline)
        std::this_thread::sleep_for(Milliseconds(10));
}

void FleetNode::stop_first(std::function<void()> done) {
    uses_.membership.on_trust_changed({});
    if (moved_) moved_->stop();
    tasks_->stop([this, then = std::move(done)]() mutable {
        catalogue_->stop([this, then = std::move(then)]() mutable {
            uses_.membership.lease()->stop(std::move(then));
        });
    });
}

void FleetNode::stop(Deadline deadline) {
    constexpr std::chrono::seconds kHeard{2};
    if (parts_.empty()) return;
    // What still runs for others is cancelled: they hear that too.
    uses_.loops.finish_on_each(deadline, [this](std::size_t i, std::function<void()> done) {
        parts_[i]->node.owner.stop(std::move(done));
    });
    wait_heard(std::min(deadline, uses_.context.clock.steady_now() + kHeard));
    uses_.loops.finish(uses_.loops.first(), deadline,
                       [this](std::function<void()> done) { stop_first(std::move(done)); });
    uses_.loops.finish_on_each(deadline, [this](std::size_t i, const std::function<void()>& done) {
        Part& part = *parts_[i];
        part.node.stop([&part, done] {
            part.link.stop();
            done();
        });
    });
    uses_.membership.end_lease();
}

}  // namespace crab::gateway
