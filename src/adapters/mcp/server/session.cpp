#include "adapters/mcp/server/session.hpp"

#include "base/task/spawn.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace crab::mcp {
namespace {

void cancel_soon(std::shared_ptr<RunningRequest> request) {
    const Executor home = request->home;
    run_soon(home, [request = std::move(request)] {
        request->cancelled = true;
        if (request->signal != nullptr) request->signal->emit();
    });
}

}  // namespace

bool Session::complete(Revision revision, const ClientCapabilities& capabilities,
                       ClientIdentity client) {
    const std::scoped_lock lock(mutex_);
    if (complete_) return false;
    facts_.revision = revision;
    facts_.capabilities = capabilities;
    facts_.client = std::move(client);
    complete_ = true;  // after what others may read then
    return true;
}

void Session::set_log_level(std::string level) {
    const std::scoped_lock lock(mutex_);
    log_level_ = std::move(level);
}

std::string Session::log_level() const {
    const std::scoped_lock lock(mutex_);
    return log_level_;
}

Result<std::shared_ptr<RunningRequest>> Session::begin(const RequestId& id, const Executor& home) {
    const std::scoped_lock lock(mutex_);
    if (ended_) return fail(ErrorCode::kCancelled, "the session has ended");
    if (running_.contains(id))
        return fail(ErrorCode::kConflict, "a request with this id still runs in this session");
    if (running_.size() >= kMostRequests)
        return fail(ErrorCode::kRateLimited, "too many requests run in this session");
    auto made = std::make_shared<RunningRequest>(home);
    running_.emplace(id, made);
    return made;
}

bool Session::runs(const RequestId& id) const {
    const std::scoped_lock lock(mutex_);
    return running_.contains(id);
}

void Session::finish(const RequestId& id) {
    const std::scoped_lock lock(mutex_);
    running_.erase(id);
}

void Session::cancel(const RequestId& id) {
    const std::scoped_lock lock(mutex_);
    if (const auto found = running_.find(id); found != running_.end()) cancel_soon(found->second);
}

void AskedClient::answer(Result<std::string> answer) {
    {
        const std::scoped_lock lock(mutex_);
        if (answer_) return;
        answer_ = std::move(answer);
    }
    waiter_->wake();
}

std::optional<Result<std::string>> AskedClient::take() {
    const std::scoped_lock lock(mutex_);
    return answer_;
}

std::shared_ptr<AskedClient> Session::ask(std::shared_ptr<RemoteWaiter> waiter) {
    const std::scoped_lock lock(mutex_);
    if (ended_) return nullptr;
    auto made = std::make_shared<AskedClient>(RequestId(fmt::format("crab-{}", ++last_asked_)),
                                              std::move(waiter));
    asked_.emplace(made->id, made);
    return made;
}

void Session::forget(const AskedClient& asked) {
    const std::scoped_lock lock(mutex_);
    asked_.erase(asked.id);
}

void Session::take_response(const RequestId& id, Result<std::string> answer) {
    std::shared_ptr<AskedClient> asked;
    {
        const std::scoped_lock lock(mutex_);
        const auto found = asked_.find(id);
        if (found == asked_.end()) return;
        asked = found->second;
    }
    asked->answer(std::move(answer));
}

bool Session::watch(const std::string& uri, Watched watched) {
    // handles end without the lock: they tell others
    const std::scoped_lock lock(mutex_);
    if (ended_ || (watches_.size() >= kMostWatches && !watches_.contains(uri))) return false;
    std::swap(watches_[uri], watched);
    return true;
}

void Session::unwatch(const std::string& uri) {
    Watched over;
    const std::scoped_lock lock(mutex_);
    const auto found = watches_.find(uri);
    if (found == watches_.end()) return;
    std::swap(found->second, over);
    watches_.erase(found);
}

std::shared_ptr<SessionStream> Session::open_stream() {
    const std::scoped_lock lock(mutex_);
    if (ended_) return nullptr;
    forget_old_streams();
    auto made = std::make_shared<SessionStream>(++last_stream_, replies_);
    streams_.emplace(last_stream_, made);
    return made;
}

std::shared_ptr<SessionStream> Session::find_stream(std::uint64_t number) {
    const std::scoped_lock lock(mutex_);
    forget_old_streams();
    const auto found = streams_.find(number);
    return found == streams_.end() ? nullptr : found->second;
}

void Session::make_room_for(std::size_t bytes) {
    const auto is_over = [](const auto& each) { return each.second->closed_at().has_value(); };
    const std::scoped_lock lock(mutex_);
    HeldBytes room(replies_);
    while (!room.grow_to(bytes + SessionStream::kPerEvent)) {
        const auto oldest = std::ranges::find_if(streams_, is_over);
        if (oldest == streams_.end()) return;
        streams_.erase(oldest);
    }
}

void Session::sweep() {
    const std::scoped_lock lock(mutex_);
    forget_old_streams();
}

void Session::forget_old_streams() {
    const SteadyTime now = clock_.steady_now();
    std::erase_if(streams_, [&](const auto& each) {
        const auto closed = each.second->closed_at();
        return closed && now - *closed >= kStreamsKept;
    });
    for (auto each = streams_.begin(); each != streams_.end() && streams_.size() >= kMostStreams;)
        each = each->second->closed_at() ? streams_.erase(each) : std::next(each);
}

void Session::end() {
    std::map<std::uint64_t, std::shared_ptr<SessionStream>> streams;
    decltype(watches_) watches;
    {
        const std::scoped_lock lock(mutex_);
        if (std::exchange(ended_, true)) return;
        for (const auto& [id, request] : running_) cancel_soon(request);
        for (const auto& [id, asked] : asked_) asked->wake();
        streams = streams_;
        watches.swap(watches_);
    }
    const SteadyTime now = clock_.steady_now();
    for (const auto& [number, stream] : streams) stream->close(now);
    events_->close(now);
}

bool Session::ended() const {
    const std::scoped_lock lock(mutex_);
    return ended_;
}

std::optional<SteadyTime> Session::idle_since() const {
    return uses_ == 0 ? std::optional(used_at_.load()) : std::nullopt;
}

Session::Use::Use(std::shared_ptr<Session> session) : session_(std::move(session)) {
    if (session_) ++session_->uses_;
}

Session::Use::~Use() {
    if (!session_) return;
    session_->used_at_ = session_->clock_.steady_now();
    --session_->uses_;
}

}  // namespace crab::mcp
