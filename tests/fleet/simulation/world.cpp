#include "world.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace crab::fleet::simulation {
namespace {

using std::chrono::microseconds;
using std::chrono::seconds;

constexpr SteadyTime kNever = SteadyTime::max();

/// Whether an error says that nothing was run.
bool says_nothing_run(const core::Outcome& outcome) {
    using enum ErrorCode;
    constexpr std::array kSaysLess{kTimeout, kCancelled, kOutcomeUnknown, kAlreadyInProgress,
                                   kConflict};
    return std::ranges::find(kSaysLess, outcome.error().code) == kSaysLess.end();
}

}  // namespace

World::World(const Plan& plan)
    : plan_(plan),
      random_(clock_, plan.seed),
      keys_(bus::FleetKeys::parse(std::string(64, '5'), "simulation").value()),
      network_(clock_, plan.seed + 1) {
    database_.without = plan.without;
    for (int number = 1; number <= plan.nodes; ++number)
        start_node(static_cast<std::uint16_t>(number));
    for (int i = 0; i < plan.devices; ++i) {
        devices_.push_back(std::make_unique<Device>());
        devices_.back()->slug = fmt::format("dev{}", i);
        if (!plan.long_work && (plan.seed + static_cast<std::uint64_t>(i)) % 3 == 0) continue;
        devices_.back()->process = static_cast<std::uint64_t>(i) + 1;
        answer_again(*devices_.back());
    }
}

World::~World() = default;

void World::after(std::chrono::nanoseconds wait, std::function<void()> act) {
    agenda_.emplace(now() + wait, std::move(act));
}

void World::committed(const std::string& key, const Node& by) {
    // An id that a gateway has made names nothing that a caller asked for.
    if (kinds_.contains(key)) note(What::kCommit, key, 0, std::to_string(by.number()));
}

void World::adopted(const std::string& key, const Node& by) {
    ++counts_.adopted;
    if (kinds_.contains(key)) note(What::kAdopt, key, 0, std::to_string(by.number()));
}

void World::unstored(const std::string& key, const std::string& result) {
    if (kinds_.contains(key)) note(What::kUnstored, key, 0, result);
}

void World::note(What what, std::string key, std::uint64_t attempt, std::string value,
                 std::string request) {
    history_.push_back({.at = now(),
                        .what = what,
                        .key = std::move(key),
                        .attempt = attempt,
                        .value = std::move(value),
                        .request = std::move(request)});
}

void World::start_node(std::uint16_t number) {
    nodes_.push_back(std::make_unique<Node>(*this, number, ++boots_));
    run_node(*nodes_.back());
}

Node* World::some_node() {
    std::vector<Node*> running;
    for (const auto& node : nodes_)
        if (node->runs()) running.push_back(node.get());
    return running.empty() ? nullptr : running[below(running.size())];
}

void World::on_node(Node& node, std::function<void()> act) {
    if (!node.alive) return;
    if (node.paused) {
        held_[&node].push_back(std::move(act));
        return;
    }
    act();
    run_node(node);
}

void World::run_node(Node& node) {
    if (!node.runs()) return;
    node.settle();
    if (std::exchange(node.database_due, true)) return;
    after(microseconds(200 + below(8'000)), [this, &node] { let_database_answer(node); });
}

// A statement that was sent before a process stood still is written all the same.
void World::let_database_answer(Node& node) {
    node.database_due = false;
    if (!node.alive) return;
    if (node.paused && below(2) == 0) {
        node.database_due = true;
        held_[&node].push_back([this, &node] { let_database_answer(node); });
        return;
    }
    if (!node.run_database()) return;
    may_pause(node);
    after(microseconds(below(200)), [this, &node] { on_node(node, [] {}); });
}

void World::may_pause(Node& node) {
    if (troubled_ && node.runs() && below(100) == 0) pause(node, seconds(1 + below(25)));
}

SteadyTime World::next_event(SteadyTime end) {
    SteadyTime next = end;
    if (!agenda_.empty()) next = std::min(next, agenda_.begin()->first);
    if (const auto due = network_.next_due()) next = std::min(next, *due);
    for (const auto& node : nodes_)
        if (node->runs()) next = std::min(next, node->loop.timers.next_wakeup().value_or(kNever));
    return std::max(next, now());
}

void World::pass_to(SteadyTime time) {
    const auto by = time - now();
    clock_.advance(by);
    for (const auto& node : nodes_)
        if (node->runs()) node->loop.clock.advance(by);
}

bool World::run_due() {
    if (!agenda_.empty() && agenda_.begin()->first <= now()) {
        const auto act = std::move(agenda_.begin()->second);
        agenda_.erase(agenda_.begin());
        act();
        return true;
    }
    if (!network_.deliver_one()) return false;
    for (std::size_t i = 0; i < nodes_.size(); ++i) run_node(*nodes_[i]);
    return true;
}

void World::pass_until(SteadyTime end) {
    while (now() < end) {
        const SteadyTime next = next_event(end);
        // A wheel's ticks are behind its deadlines, so time goes on a little in any case.
        pass_to(std::max(next, now() + microseconds(10)));
        while (run_due()) continue;
        for (std::size_t i = 0; i < nodes_.size(); ++i) {
            Node& node = *nodes_[i];
            if (!node.runs()) continue;
            const auto wakeup = node.loop.timers.next_wakeup();
            if (wakeup && *wakeup <= now()) run_node(node);
        }
    }
}

// Devices

void World::deliver(const std::shared_ptr<Link>& link, const Request& request) {
    Device& device = *link->device;
    if (device.link != link) return;  // the other end of it is gone
    if (device.kept.contains(request.id)) return answer(device, request.id);
    if (!device.seen.insert(request.id).second) return;
    ++counts_.starts;
    note(What::kStart, request.key, request.attempt, device.slug, request.id);
    // Some work for longer than it takes to fence a node off and to take over from it.
    const std::uint64_t kind = below(plan_.long_work ? 4 : 20);
    const auto takes = kind == 0   ? Milliseconds(10'000 + below(40'000))
                       : kind <= 2 ? Milliseconds(1'000 + below(7'000))
                                   : Milliseconds(1 + below(300));
    after(takes, [this, link, request, &device] {
        const std::string value = fmt::format("{} run {}", device.slug, ++device.runs);
        note(What::kEnd, request.key, request.attempt, value, request.id);
        if (device.process != 0) {
            device.kept.emplace(request.id, value);
            return answer(device, request.id);
        }
        if (device.link != link) return;  // there is nobody to tell
        after(Milliseconds(1 + below(3)), [reply = request.reply, value] { reply(value); });
    });
}

/// On the link that the device has now.
void World::answer(Device& device, const std::string& id) {
    if (device.link == nullptr) return;
    const auto send = [this, link = device.link, node = device.node, id,
                       value = device.kept.at(id)] {
        on_node(*node, [node, link, id, value] { node->on_answer(link, id, value); });
    };
    after(Milliseconds(1 + below(3)), send);
}

void World::answer_again(Device& device) {
    for (const auto& [id, value] : device.kept) answer(device, id);
    after(seconds(5), [this, &device] { answer_again(device); });
}

void World::acknowledge(const std::shared_ptr<Link>& link, const std::string& id) {
    after(Milliseconds(1), [link, id] {
        Device& device = *link->device;
        if (device.link != link || device.kept.erase(id) == 0) return;
        device.seen.erase(id);  // it would run it again
    });
}

void World::move(Device& device, bool clean) {
    Node* const to = some_node();
    if (to == nullptr || to->wire.cut) return;
    Node* const from = device.node;
    const std::uint64_t before = device.link ? device.link->connection : 0;
    const std::uint64_t connection = ++connections_, epoch = ++database_.last_epoch;
    note(What::kFault, {}, 0,
         fmt::format("{} moves to {}{}", device.slug, to->number(), clean ? "" : ", unnoticed"));
    to->connect(device, connection, epoch);
    for (const auto& [id, value] : device.kept) answer(device, id);
    after(Milliseconds(20), [this, to, connection, epoch, slug = device.slug] {
        if (to->alive && to->links.contains(connection))
            database_.links.push_back(
                {.node = to->name(), .connection = connection, .epoch = epoch, .slug = slug});
    });
    if (from == nullptr || before == 0) return;
    const auto unnoticed = clean ? Milliseconds(2) : Milliseconds(1'000 + below(20'000));
    after(unnoticed, [this, from, before] { on_node(*from, [=] { from->close(before); }); });
}

// Callers

void World::schedule_calls() {
    for (int i = 0; i < plan_.calls; ++i) {
        const bool idempotent = below(2) == 0;
        const std::size_t device = below(devices_.size());
        const auto name = static_cast<Wish::Name>(below(8) < 5 ? 0 : 1 + below(2));
        const Wish wish{.key = fmt::format("k{}", i),
                        .tool = fmt::format("dev{}__{}", device, idempotent ? "set" : "act"),
                        .name = name,
                        .patience = seconds(5 + below(60)),
                        .repeats = name == Wish::Name::kNone ? 0 : static_cast<int>(below(6))};
        kinds_[wish.key] = {.idempotent = idempotent, .recorded = name != Wish::Name::kNone};
        const auto at = Milliseconds(
            1'000 + below(static_cast<std::uint64_t>(Milliseconds(plan_.troubled).count())));
        after(at, [this, wish] { invoke(wish); });
        // Some are asked for at two places at once.
        if (name != Wish::Name::kNone && below(4) == 0)
            after(at + Milliseconds(below(50)), [this, wish] { invoke(wish); });
    }
}

void World::invoke(Wish wish) {
    Node* const node = some_node();
    if (node == nullptr) return maybe_repeat(std::move(wish));
    const std::uint64_t attempt = ++attempts_;
    ++counts_.calls;
    note(What::kInvoke, wish.key, attempt, fmt::format("{} at {}", wish.tool, node->number()));
    const auto open = std::make_shared<OpenCall>();
    open->wish = wish;
    open->node = node;
    open_.emplace(attempt, open);
    spawn(
        node->loop.executor(), call(*node, std::move(wish), attempt),
        [this, attempt](const std::exception_ptr&, std::optional<core::CallEnd> end) {
            if (end) answered(attempt, *end);
        },
        &open->signal);
    run_node(*node);
}

Task<core::CallEnd> World::call(Node& node, Wish wish, std::uint64_t attempt) {
    const std::string args = fmt::format(R"({{"key":"{}"}})", wish.key);
    const std::string trace = std::to_string(attempt);
    const core::PrincipalRef principal = core::principal_of("caller/ann");
    core::FrameSink sink;
    core::Call asked;
    asked.tool = wish.tool;
    asked.args = args;
    asked.context.trace_id = trace;
    if (wish.name == Wish::Name::kKey) asked.idempotency_key = wish.key;
    if (wish.name == Wish::Name::kId) asked.id = wish.key;
    asked.caller_deadline = node.loop.clock.steady_now() + wish.patience;
    co_return co_await node.forwarder->run(core::AuthenticatedCall(asked, principal), sink);
}

void World::answered(std::uint64_t attempt, const core::CallEnd& end) {
    const auto open = open_.find(attempt);
    if (open == open_.end()) return;  // its process died before
    Wish wish = open->second->wish;
    open_.erase(open);
    const core::Outcome& outcome = *end.outcome;
    if (outcome) {
        ++counts_.ok;
        note(What::kOk, wish.key, attempt, outcome->content);
        // Whoever has a result may ask for it again.
        if (below(3) == 0) maybe_repeat(std::move(wish));
        return;
    }
    const bool nothing = says_nothing_run(outcome);
    ++(nothing ? counts_.failed : counts_.unknown);
    note(nothing ? What::kFail : What::kUnknown, wish.key, attempt,
         fmt::format("{}: {}", token_of(outcome.error().code), outcome.error().message));
    maybe_repeat(std::move(wish));
}

void World::lost(std::uint64_t attempt, const std::string& why) {
    const auto open = open_.extract(attempt);
    ++counts_.unknown;
    note(What::kUnknown, open.mapped()->wish.key, attempt, why);
    maybe_repeat(open.mapped()->wish);
    orphans_.push_back(open.mapped());
}

void World::maybe_repeat(Wish wish) {
    if (wish.repeats == 0) return;
    --wish.repeats;
    after(Milliseconds(50 + below(12'000)), [this, wish] { invoke(wish); });
}

// Faults

void World::schedule_faults() {
    const auto span = static_cast<std::uint64_t>(Milliseconds(plan_.troubled).count());
    for (int i = 0; i < plan_.faults; ++i)
        after(Milliseconds(below(span)), [this] { one_fault(); });
    for (const auto& device : devices_) {
        move(*device, true);
        for (int i = 0; i < 4; ++i)
            after(Milliseconds(below(span)), [this, &device] { move(*device, below(2) == 0); });
    }
}

void World::one_fault() {
    Node* const node = some_node();
    if (node == nullptr) return;
    ++counts_.faults;
    switch (below(7)) {
        case 0: return kill(*node);
        case 1: return pause(*node, seconds(3));
        case 2: return pause(*node, seconds(below(2) == 0 ? 10 : 60));
        case 3: return cut_database(*node, seconds(1 + below(30)));
        case 4:
            note(What::kFault, {}, 0, fmt::format("an answer to {} is lost", node->number()));
            node->wire.answer_lost = true;
            return;
        case 5: return trouble_messages();
        default: {
            const auto other = static_cast<std::uint16_t>(1 + below(plan_.nodes));
            note(What::kFault, {}, 0, fmt::format("cut {} to {}", node->number(), other));
            network_.cut(node->number(), other);
            after(seconds(1 + below(30)), [this] { network_.heal(); });
        }
    }
}

void World::trouble_messages() {
    note(What::kFault, {}, 0, "messages are lost, doubled and late");
    network_.set_faults({.lost = static_cast<std::uint32_t>(below(400)),
                         .doubled = static_cast<std::uint32_t>(below(300)),
                         .late = static_cast<std::uint32_t>(below(300)),
                         .most_late = Milliseconds(1'000 + below(60'000)),
                         .in_order = below(2) == 0});
    if (below(3) == 0) network_.stop();
    after(seconds(1 + below(60)), [this] {
        network_.set_faults({});
        network_.go_on();
    });
}

void World::pause(Node& node, seconds time) {
    note(What::kFault, {}, 0, fmt::format("{} stands still for {}", node.number(), time.count()));
    node.paused = true;
    network_.pause(node.number());
    after(time, [this, &node] {
        if (!node.alive || !node.paused) return;
        node.loop.clock.advance(now() - node.loop.clock.steady_now());
        node.paused = false;
        network_.resume(node.number());
        for (const auto& act : std::exchange(held_[&node], {})) on_node(node, act);
        run_node(node);
    });
}

void World::kill(Node& node) {
    note(What::kFault, {}, 0, fmt::format("kill {}", node.number()));
    node.die();
    network_.resume(node.number());
    std::vector<std::uint64_t> its;
    for (const auto& [attempt, open] : open_)
        if (open->node == &node) its.push_back(attempt);
    for (const std::uint64_t attempt : its) lost(attempt, "the process died");
    for (const auto& device : devices_) {
        if (device->node != &node) continue;
        device->link = nullptr;
        device->node = nullptr;
        after(Milliseconds(500 + below(4'000)), [this, &device] {
            if (device->link == nullptr) move(*device, true);
        });
    }
    after(Milliseconds(500 + below(15'000)),
          [this, number = node.number()] { start_node(number); });
}

void World::cut_database(Node& node, seconds time) {
    note(What::kFault, {}, 0,
         fmt::format("the database is away from {} for {}", node.number(), time.count()));
    node.wire.cut = true;
    after(time, [&node] {
        if (node.alive) node.wire.cut = false;
    });
}

void World::heal() {
    troubled_ = false;
    network_.set_faults({});
    network_.heal();
    network_.go_on();
    for (const auto& node : nodes_)
        if (node->alive) node->wire = {};
}

// The end: every caller has had time for an answer. Then all processes end in order, for what they
// still run refers to them.
void World::finish() {
    const auto open = std::exchange(open_, {});
    for (const auto& [attempt, one] : open) one->signal.emit();
    for (const auto& orphan : orphans_) orphan->signal.emit();
    for (const auto& node : nodes_) {
        node->alive = false;
        node->stop();
        for (int i = 0; i < 200; ++i) {
            node->run_database();
            node->loop.clock.advance(seconds(1));
            node->settle();
        }
        counts_.forwarded += node->forwarder->counts().forwarded.value();
        counts_.resumed += node->moved_answers();
        counts_.contradictions += node->forwarder->counts().contradictions.value();
    }
}

std::vector<std::string> World::run() {
    schedule_calls();
    schedule_faults();
    const SteadyTime begun = now();
    pass_until(begun + plan_.troubled);
    heal();
    pass_until(begun + plan_.troubled + seconds(240));
    std::vector<std::string> broken = check_history(history_, kinds_);
    finish();
    for (const auto& node : nodes_)
        if (!node->stopped()) broken.push_back(fmt::format("{} did not stop", node->number()));
    if (counts_.contradictions != 0)
        broken.emplace_back("a process ran what it had said it would not begin");
    return broken;
}

}  // namespace crab::fleet::simulation
