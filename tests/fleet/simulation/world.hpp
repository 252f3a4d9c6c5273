#pragma once

#include "history.hpp"
#include "node.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace crab::fleet::simulation {

/// A device that runs tools: `act`, which is not idempotent, and `set`, which is. It has one link
/// at a time that it believes in, and never runs a request twice.
struct Device {
    std::string slug;
    /// With tool_call_resume another number for each: it says its answers again until they are
    /// acknowledged, and then forgets them and their requests; else 0
    std::uint64_t process = 0;
    std::map<std::string, std::string> kept;  ///< such answers
    std::shared_ptr<Link> link;  ///< null: it has none
    Node* node = nullptr;
    std::set<std::string> seen;
    int runs = 0;
};

/// What a run of the simulation does. All of it follows from the seed.
struct Plan {
    std::uint64_t seed = 1;
    int nodes = 3, devices = 2, calls = 30;
    std::chrono::seconds troubled{120};  ///< faults and calls; after that all is healed
    int faults = 12;
    bool long_work = false;  ///< devices work for seconds, and all let their calls go on
    Database::Without without;
};

/// Two to five gateways' call layers in one process, their database, their bus and their devices,
/// under simulated clocks. Source: docs/protocols/fleet.md, section 9.
class World {
public:
    explicit World(const Plan& plan);
    ~World();

    /// Runs to the end and returns what was broken, a sentence each.
    std::vector<std::string> run();

    const History& history() const { return history_; }
    const bus::local::LocalNetwork::Counts& messages() const { return network_.counts(); }
    struct Counts {
        std::uint64_t calls = 0, ok = 0, failed = 0, unknown = 0, faults = 0, starts = 0,
                      forwarded = 0, contradictions = 0, adopted = 0, resumed = 0;
    };
    const Counts& counts() const { return counts_; }

    // For the nodes.
    Database& database() { return database_; }
    bus::local::LocalNetwork& network() { return network_; }
    const bus::FleetKeys& keys() const { return keys_; }
    SteadyTime now() const { return clock_.steady_now(); }
    std::uint64_t below(std::uint64_t limit) { return random_.random() % limit; }
    void after(std::chrono::nanoseconds wait, std::function<void()> act);
    void note(What what, std::string key, std::uint64_t attempt, std::string value,
              std::string request = {});
    void committed(const std::string& key, const Node& by);
    /// A request that the node has written to the link: the device gets it, or nobody.
    struct Request {
        std::string id, key, tool;
        std::uint64_t attempt = 0;
        std::function<void(std::string value)> reply;
    };
    void deliver(const std::shared_ptr<Link>& link, const Request& request);
    /// The node has said on the link that the device need not keep this answer.
    void acknowledge(const std::shared_ptr<Link>& link, const std::string& id);
    void adopted(const std::string& key, const Node& by);
    void unstored(const std::string& key, const std::string& result);
    /// Does this on the node's loop when it runs, and never if it dies before.
    void on_node(Node& node, std::function<void()> act);
    /// A moment at which it hurts if the process stands still: sometimes it does.
    void may_pause(Node& node);

private:
    void start_node(std::uint16_t number);
    Node* some_node();
    void run_node(Node& node);
    void let_database_answer(Node& node);
    void pass_until(SteadyTime end);
    void pass_to(SteadyTime time);
    SteadyTime next_event(SteadyTime end);
    bool run_due();

    void answer(Device& device, const std::string& id);
    void answer_again(Device& device);

    void schedule_calls();
    /// What a caller wants, over all its attempts.
    struct Wish {
        std::string key, tool;
        enum class Name : std::uint8_t { kKey, kId, kNone } name = Name::kKey;
        std::chrono::seconds patience{20};
        int repeats = 0;  ///< that are left
    };
    struct OpenCall {
        Wish wish;
        Node* node = nullptr;
        CancelSignal signal;
    };
    void invoke(Wish wish);
    Task<core::CallEnd> call(Node& node, Wish wish, std::uint64_t attempt);
    void answered(std::uint64_t attempt, const core::CallEnd& end);
    void lost(std::uint64_t attempt, const std::string& why);
    void maybe_repeat(Wish wish);

    void schedule_faults();
    void one_fault();
    void pause(Node& node, std::chrono::seconds time);
    void kill(Node& node);
    void move(Device& device, bool clean);
    void cut_database(Node& node, std::chrono::seconds time);
    void trouble_messages();
    void heal();
    void finish();

    const Plan plan_;
    FakeClock clock_;
    IdSource random_;
    const bus::FleetKeys keys_;
    Database database_;
    bus::local::LocalNetwork network_;
    std::vector<std::unique_ptr<Node>> nodes_;  ///< of all lives
    std::vector<std::unique_ptr<Device>> devices_;
    std::multimap<SteadyTime, std::function<void()>> agenda_;
    std::map<Node*, std::vector<std::function<void()>>> held_;  ///< of nodes that stand still
    History history_;
    std::map<std::string, KeyKind> kinds_;
    std::map<std::uint64_t, std::shared_ptr<OpenCall>> open_;  ///< by attempt
    std::vector<std::shared_ptr<OpenCall>> orphans_;  ///< of processes that died
    bool troubled_ = true;
    std::uint64_t attempts_ = 0, connections_ = 0;
    std::uint32_t boots_ = 0;
    Counts counts_;
};

}  // namespace crab::fleet::simulation
