#pragma once

#include "adapters/clawseed/moved_replies.hpp"
#include "base/task/test_loop.hpp"
#include "bus/local/local_network.hpp"
#include "bus/local/mortal_bus.hpp"
#include "core/call/test_tools.hpp"
#include "core/pipeline/pipeline.hpp"
#include "database.hpp"
#include "fleet/lease.hpp"
#include "fleet/letters.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace crab::fleet::simulation {

class World;
struct Device;

/// A link as its node sees it.
struct Link {
    std::uint64_t connection = 0, epoch = 0;
    Device* device = nullptr;
    bool open = true;
    clawseed::MovedReplies moved{};  ///< what waits for this device at other nodes
};

/// A call that waits for a device which lets calls go on.
struct WaitingCall {
    explicit WaitingCall(TimerWheel& timers) : waiter(timers) {}
    Waiter waiter;
    std::shared_ptr<Link> link;  ///< that the request went to last
    DeviceRequest request{};
    Deadline deadline = kNoDeadline;
    core::RightToSend right{};
    bool written = false;
    bool maybe_seen = false;  ///< written before, or by another node
    bool held = false;  ///< by a link at another node
    std::optional<std::string> value{};
    std::function<void()> kept{};  ///< the device need not keep the answer
};

/// The links of the database, as this node read them at most two seconds ago.
class DirectorySimulated final : public Directory {
public:
    DirectorySimulated(World& world, Wire& wire, BlockingPool& pool, const Clock& clock)
        : world_(world), wire_(wire), pool_(pool), clock_(clock) {}
    Task<std::optional<Route>> find(const core::Call& call,
                                    const core::Principal& principal) override;

private:
    World& world_;
    Wire& wire_;
    BlockingPool& pool_;
    const Clock& clock_;
    std::vector<LinkRow> view_;
    std::optional<SteadyTime> read_at_;
};

/// One process of a gateway: its call layer as it is, under a clock of its own. What is around it
/// is simulated.
class Node final : private MovedCalls::Waiting, private MovedCalls::Links {
public:
    Node(World& world, std::uint16_t number, std::uint32_t boot);
    ~Node();

    std::uint16_t number() const { return place_.node; }
    const bus::Place& place() const { return place_; }
    NodeName name() const { return lease->name(); }
    bool runs() const { return alive && !paused; }

    /// Runs what can run now, up to where it waits for something outside.
    void settle();
    /// The database has answered; what follows from it is the next settle().
    bool run_database() { return pool.run_here(); }
    /// kill -9: from now on nothing of it is seen outside.
    void die();
    void connect(Device& device, std::uint64_t connection, std::uint64_t epoch);
    void on_answer(const std::shared_ptr<Link>& link, const std::string& id,
                   const std::string& value);
    std::shared_ptr<WaitingCall> find_waiting(std::string_view id) const;
    std::uint64_t moved_answers() const { return moved_->counts().answered.value(); }
    /// This side has seen the end of the link.
    void close(std::uint64_t connection);
    /// For the end of the world.
    void stop();
    bool stopped() const { return stopped_ == 3; }

    bool alive = true, paused = false;
    bool database_due = false;  ///< an event is under way that lets the database answer
    Wire wire;
    TestLoop loop;
    BlockingPool pool{0};
    std::map<std::uint64_t, std::shared_ptr<Link>> links;
    std::map<std::string, std::weak_ptr<WaitingCall>> waiting;  ///< by request
    std::unique_ptr<Lease> lease;
    std::unique_ptr<core::Pipeline> pipeline;
    std::unique_ptr<Owner> owner;
    std::unique_ptr<Forwarder> forwarder;

private:
    void make_calls();
    void resume(const std::shared_ptr<Link>& link);

    // MovedCalls::Waiting
    std::vector<Out> unanswered(const DeviceProcess& device) override;
    bool waits(const DeviceProcess& device, std::string_view id) override;
    void set_held(const DeviceProcess& device, std::string_view id, bool held) override;
    void answer(const DeviceProcess& device, std::string_view id, std::optional<std::string> frame,
                std::function<void()> kept) override;
    void progress(const DeviceProcess&, std::string_view, const std::string&) override {}
    // MovedCalls::Links
    void on_resume(const bus::Place& asker, std::uint8_t flags, Resume resume,
                   Deadline deadline) override;

    World& world_;
    const bus::Place place_;
    IdSource ids_;
    core::Registry registry_;
    Published<core::CallRules> rules_;
    core::Ledger ledger_{loop.clock, {}};
    core::EarlyCancels early_cancels_;
    BlockingPool audit_pool_{1};  ///< of its own, for nothing waits for what it writes
    core::AuditLog audit_{std::make_shared<core::AuditStoreMemory>(), audit_pool_, loop.clock};
    NodeTableSimulated table_;
    std::unique_ptr<LedgerStoreSimulated> store_;
    std::unique_ptr<core::LedgerJournal> journal_;
    bus::MailBox mail_;
    bus::local::MortalBus bus_;
    std::optional<Beats> beats_;  ///< once the incarnation is known
    DirectorySimulated directory_;
    std::unique_ptr<MovedCalls> moved_;
    std::unique_ptr<Letters> letters_;
    int stopped_ = 0;
};

}  // namespace crab::fleet::simulation
