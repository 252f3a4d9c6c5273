#include "adapters/mcp/upstreams/session_pool.hpp"

#include "base/scope_exit.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace crab::mcp {

/// The opening is a task of the pool: whoever asked for it may leave, and has a deadline.
Task<Result<SessionPool::SlotRef>> SessionPool::find(Opening opening, SessionKey key,
                                                     Deadline deadline) {
    if (closed_) co_return fail(ErrorCode::kUnavailable, "the MCP server is being stopped");
    auto found = slots_.find(key);
    if (found != slots_.end() && found->second->session && !found->second->session->is_open()) {
        drop(found);
        found = slots_.end();
    }
    if (found == slots_.end()) {
        if (!make_room(key.principal))
            co_return fail(ErrorCode::kRateLimited,
                           "too many callers have a session with this MCP server");
        const auto slot = std::make_shared<Slot>(*this);
        if (limits_.one_call_at_a_time) slot->gate = std::make_shared<core::ToolGate>(1);
        slot->last_used = clock_.steady_now();
        slot->connecting = true;
        found = slots_.emplace(key, slot).first;
        tasks_.spawn("opening of a session", open(std::move(opening), key, slot));
        if (slot->failure) co_return fail(*slot->failure);
    }
    const SlotRef slot = found->second;
    if (!slot->connecting) co_return slot;
    if (auto opened = co_await wait_for(slot, deadline); !opened)
        co_return fail(std::move(opened.error()));
    co_return slot;
}

Task<Result<SessionPool::Lease>> SessionPool::get(Opening opening, SessionKey key,
                                                  Deadline deadline) {
    if (limits_.one_call_at_a_time) key.place = free_place(key);
    auto found = co_await find(std::move(opening), std::move(key), deadline);
    if (!found) co_return fail(std::move(found.error()));
    const SlotRef slot = std::move(*found);
    core::ToolGate::Permit permit;
    if (slot->gate) {
        ++slot->calls;  // or it could be closed for being idle
        auto entered = co_await slot->gate->enter(timers_, deadline);
        --slot->calls;
        if (!entered) co_return fail(std::move(entered.error()));
        permit = std::move(*entered);
    }
    co_return Lease(slot, std::move(permit), clock_);
}

Task<void> SessionPool::open(Opening opening, SessionKey key, SlotRef slot) {
    Result<std::shared_ptr<UpstreamSession>> session =
        fail(ErrorCode::kUnavailable, "no session with the MCP server could be opened");
    const ScopeExit ended([&] { settle(opening, key, *slot, session); });  // after exceptions, too
    session = co_await opening.connector.connect(opening.options, opening.answers);
}

void SessionPool::settle(const Opening& opening, const SessionKey& key, Slot& slot,
                         Result<std::shared_ptr<UpstreamSession>>& session) {
    slot.connecting = false;
    const auto found = slots_.find(key);
    const bool kept = found != slots_.end() && found->second.get() == &slot;
    if (!kept) {
        slot.failure = fail(ErrorCode::kUnavailable, "the MCP server is being stopped").error();
        if (session) tasks_.spawn("end of a session", close_one(std::move(*session)));
    } else if (!session) {
        slot.failure = session.error();
        slots_.erase(found);
    } else {
        slot.session = std::move(*session);
        keep(opening, key, slot);
    }
    while (!slot.waiting.empty()) {  // each goes on before wake() returns, and may end another
        Waiter* const waiter = slot.waiting.front();
        slot.waiting.pop_front();
        waiter->wake();
    }
}

/// Follows a session while nobody's call runs in it.
void SessionPool::keep(const Opening& opening, const SessionKey& key, Slot& slot) {
    slot.session->set_listener(&slot);
    const auto drop_it = [this, key, weak = std::weak_ptr(slot.session)] {
        const auto found = slots_.find(key);
        if (found != slots_.end() && found->second->session == weak.lock()) drop(found);
    };
    pings_.start(slot.session, opening.options.child.has_value(), drop_it);
}

Task<Result<void>> SessionPool::wait_for(SlotRef slot, Deadline deadline) {
    Waiter waiter(timers_);
    const auto place = slot->waiting.insert(slot->waiting.end(), &waiter);
    const WaitEnd end = co_await waiter.wait(deadline);
    if (end != WaitEnd::kWoken) slot->waiting.erase(place);
    if (end == WaitEnd::kCancelled) co_return fail(ErrorCode::kCancelled, "cancelled");
    if (end == WaitEnd::kExpired)
        co_return fail(ErrorCode::kTimeout,
                       "the deadline passed while a session with the MCP server was opened; the "
                       "call was not started");
    if (slot->failure) co_return fail(*slot->failure);
    co_return Result<void>();
}

void SessionPool::Slot::on_notification(std::string_view method, std::string_view) {
    if (!method.ends_with("/list_changed")) return;
    change = ++pool.changes_;
    pool.lists_changed_();
}

std::shared_ptr<UpstreamSession> SessionPool::lister() const {
    const Slot* latest = nullptr;
    for (const auto& [key, slot] : slots_) {
        if (key.principal != slots_.begin()->first.principal) return nullptr;
        const bool counts = slot->change > 0 && slot->session && slot->session->is_open();
        if (counts && (latest == nullptr || slot->change > latest->change)) latest = slot.get();
    }
    return latest != nullptr ? latest->session : nullptr;
}

unsigned SessionPool::free_place(SessionKey key) const {
    unsigned best = 0;
    std::size_t fewest = std::numeric_limits<std::size_t>::max();
    for (key.place = 0; key.place < limits_.most_of_a_key; ++key.place) {
        const auto found = slots_.find(key);
        const std::size_t calls = found == slots_.end() ? 0 : found->second->calls;
        if (calls == 0 && (found == slots_.end() || !found->second->connecting)) return key.place;
        if (calls >= fewest) continue;
        fewest = calls;
        best = key.place;
    }
    return best;
}

/// Nobody's clients crowd out the sessions of others, whose state would be lost.
bool SessionPool::make_room(const std::string& principal) {
    const auto is_its = [&](const auto& slot) { return slot.first.principal == principal; };
    const auto own = static_cast<std::size_t>(std::ranges::count_if(slots_, is_its));
    const SteadyTime now = clock_.steady_now();
    if (own >= limits_.of_principal) return close_unused(&principal, now);
    if (slots_.size() < limits_.most) return true;
    return close_unused(&principal, now) || close_unused(nullptr, now - limits_.warm);
}

bool SessionPool::close_unused(const std::string* principal, SteadyTime before) {
    auto oldest = slots_.end();
    for (auto each = slots_.begin(); each != slots_.end(); ++each) {
        const Slot& slot = *each->second;
        if (slot.calls > 0 || slot.connecting || slot.last_used > before) continue;
        if (principal != nullptr && each->first.principal != *principal) continue;
        if (oldest == slots_.end() || slot.last_used < oldest->second->last_used) oldest = each;
    }
    if (oldest == slots_.end()) return false;
    drop(oldest);
    return true;
}

void SessionPool::drop(std::map<SessionKey, SlotRef>::iterator slot) {
    if (auto session = slot->second->session)
        tasks_.spawn("end of a session", close_one(std::move(session)));
    slots_.erase(slot);
}

void SessionPool::close_idle() {
    const SteadyTime before = clock_.steady_now() - limits_.idle;
    for (auto each = slots_.begin(); each != slots_.end();) {
        const auto next = std::next(each);
        const Slot& slot = *each->second;
        if (slot.calls == 0 && !slot.connecting && slot.last_used <= before) drop(each);
        each = next;
    }
}

Task<void> SessionPool::close_all() {
    closed_ = true;
    while (!slots_.empty()) drop(slots_.begin());
    const auto begin = [&](std::coroutine_handle<> asking, TaskChain& chain) {
        tasks_.stop(
            [asking, home = chain.executor()] { asio::post(home, [asking] { asking.resume(); }); });
    };
    co_await suspend(begin);
    co_await pings_.stop();
}

Task<void> SessionPool::close_one(std::shared_ptr<UpstreamSession> session) {
    session->set_listener(nullptr);
    co_await session->close();
}

}  // namespace crab::mcp
