#include "adapters/clawseed/pending_replies.hpp"

#include <algorithm>
#include <utility>

namespace crab::clawseed {
namespace {

constexpr Milliseconds kProgressEvery{100};
constexpr std::uint64_t kGenerationMask = (std::uint64_t{1} << 30) - 1;

std::uint64_t make_tag(std::uint32_t slot, std::uint32_t generation) {
    return (std::uint64_t{generation & kGenerationMask} << 32) | slot;
}

}  // namespace

std::uint64_t PendingReplies::add(PendingReply& reply) {
    const std::scoped_lock lock(mutex_);
    std::uint32_t index = 0;
    if (free_.empty()) {
        index = static_cast<std::uint32_t>(slots_.size());
        // A random start, so that ids of different tables differ.
        slots_.push_back({.reply = nullptr,
                          .generation = static_cast<std::uint32_t>(reply.home.ids().random())});
    } else {
        index = free_.back();
        free_.pop_back();
    }
    slots_[index].reply = &reply;
    ++used_;
    const std::uint64_t tag = make_tag(index, slots_[index].generation);
    reply.tag = tag;
    reply.id = reply.home.ids().uuid_v7(tag);
    return tag;
}

bool PendingReplies::add(PendingReply& reply, const UuidText& id) {
    const std::uint64_t tag = add(reply);
    const std::scoped_lock lock(mutex_);
    if (!named_.emplace(id.view(), tag).second) {
        release(tag);
        return false;
    }
    reply.id = id;
    reply.is_named = true;
    named_count_ = named_.size();
    return true;
}

std::optional<std::uint64_t> PendingReplies::tag_of(std::string_view request_id) const {
    if (named_count_.load() == 0) return uuid_tag(request_id);
    const std::scoped_lock lock(mutex_);
    const PendingReply* const reply = find(request_id);
    return reply != nullptr ? std::optional(reply->tag) : std::nullopt;
}

bool PendingReplies::is_named(std::string_view request_id) const {
    if (named_count_.load() == 0) return false;
    const std::scoped_lock lock(mutex_);
    return named_.contains(request_id);
}

void PendingReplies::acknowledge_later(std::string_view request_id,
                                       std::function<void()> acknowledge) {
    const std::scoped_lock lock(mutex_);
    PendingReply* const reply = find(request_id);
    if (reply != nullptr && reply->is_named && !reply->answer)
        reply->acknowledge = std::move(acknowledge);
}

PendingReply* PendingReplies::find(std::uint64_t tag) const {
    const auto index = static_cast<std::uint32_t>(tag);
    if (index >= slots_.size()) return nullptr;
    const Slot& slot = slots_[index];
    return make_tag(index, slot.generation) == tag ? slot.reply : nullptr;
}

PendingReply* PendingReplies::find(std::string_view request_id) const {
    const auto named = named_.find(request_id);
    const auto tag = named != named_.end() ? named->second : uuid_tag(request_id);
    PendingReply* const reply = tag ? find(*tag) : nullptr;
    return reply != nullptr && reply->id.view() == request_id ? reply : nullptr;
}

void PendingReplies::remove(std::uint64_t tag) {
    std::vector<std::string> unnamed;
    {
        const std::scoped_lock lock(mutex_);
        unnamed = release(tag);
    }
    if (!unnamed.empty() && discard_) discard_(std::move(unnamed));
}

std::vector<std::string> PendingReplies::release(std::uint64_t tag) {
    PendingReply* const reply = find(tag);
    if (reply == nullptr) return {};
    std::vector<std::string> unnamed;
    for (core::Artifact& artifact : reply->artifacts) unnamed.push_back(std::move(artifact.id));
    if (reply->is_named) {
        named_.erase(named_.find(reply->id.view()));
        named_count_ = named_.size();
    }
    const auto index = static_cast<std::uint32_t>(tag);
    slots_[index].reply = nullptr;
    ++slots_[index].generation;
    free_.push_back(index);
    --used_;
    return unnamed;
}

std::optional<PendingReplies::WaitingCall> PendingReplies::find_call(
    std::string_view request_id) const {
    const std::scoped_lock lock(mutex_);
    const PendingReply* const reply = find(request_id);
    if (reply == nullptr || reply->answer || reply->call == nullptr) return std::nullopt;
    const core::Call& call = reply->call->call();
    return WaitingCall{.tenant = std::string(call.tenant),
                       .caller = reply->call->principal()->id,
                       .call_id = std::string(call.id),
                       .tool = reply->call->tool().unique_name,
                       .artifacts = reply->artifacts.size()};
}

bool PendingReplies::attach(std::string_view request_id, core::Artifact artifact) {
    const std::scoped_lock lock(mutex_);
    PendingReply* const reply = find(request_id);
    if (reply == nullptr || reply->answer) return false;
    reply->artifacts.push_back(std::move(artifact));
    return true;
}

core::Outcome PendingReplies::claim_artifact(std::uint64_t tag, std::string_view artifact_id) {
    const std::scoped_lock lock(mutex_);
    PendingReply* const reply = find(tag);
    if (reply != nullptr) {
        const auto named = std::ranges::find(reply->artifacts, artifact_id, &core::Artifact::id);
        if (named != reply->artifacts.end()) {
            core::ToolResult result = core::to_reference(*named);
            reply->artifacts.erase(named);
            return result;
        }
    }
    return fail(ErrorCode::kInternal,
                "the device answered with an artifact that it did not upload for this call; the "
                "call may have taken effect");
}

/// Resumes the call on its own loop: immediately if this is it, else by a post that checks whether
/// it still waits.
void PendingReplies::wake(std::uint64_t tag, net::EventLoop& home) {
    if (home.in_this_thread()) {
        PendingReply* reply = nullptr;
        {
            const std::scoped_lock lock(mutex_);
            reply = find(tag);
        }
        // only this thread removes it, so it still exists
        if (reply != nullptr) reply->waiter.wake();
        return;
    }
    home.post([self = shared_from_this(), tag, &home] { self->wake(tag, home); });
}

bool PendingReplies::resolve(std::uint64_t tag, core::Outcome outcome) {
    net::EventLoop* home = nullptr;
    PendingReply* reply = nullptr;
    {
        const std::scoped_lock lock(mutex_);
        reply = find(tag);
        if (reply == nullptr || reply->answer) return false;
        reply->answer = std::move(outcome);
        home = &reply->home;
    }
    if (home->in_this_thread()) {
        reply->waiter.wake();  // only this thread removes it, so it still exists
    } else {
        wake(tag, *home);
    }
    return true;
}

void PendingReplies::accept(std::uint64_t tag) {
    const std::scoped_lock lock(mutex_);
    if (PendingReply* reply = find(tag)) reply->accepted = true;
}

void PendingReplies::progress(std::uint64_t tag, core::Progress progress, SteadyTime now) {
    net::EventLoop* home = nullptr;
    {
        const std::scoped_lock lock(mutex_);
        PendingReply* reply = find(tag);
        if (reply == nullptr || !reply->sink.wants_progress() ||
            now - reply->last_progress < kProgressEvery)
            return;
        reply->last_progress = now;
        home = &reply->home;
    }
    auto tell = [self = shared_from_this(), tag, news = std::move(progress)] {
        PendingReply* reply = nullptr;
        {
            const std::scoped_lock lock(self->mutex_);
            reply = self->find(tag);
        }
        if (reply != nullptr) reply->sink.on_progress(news);
    };
    if (home->in_this_thread()) {
        tell();
    } else {
        home->post(std::move(tell));
    }
}

void PendingReplies::sent(std::uint64_t tag, ConnectionId connection, std::uint64_t starts_at,
                          std::string_view instance) {
    const std::scoped_lock lock(mutex_);
    if (PendingReply* reply = find(tag)) {
        reply->sent_on = connection;
        reply->starts_at = starts_at;
        reply->instance = instance;
    }
}

bool PendingReplies::is_unanswered(const PendingReply* reply, std::string_view instance) {
    return reply != nullptr && !reply->answer && reply->call != nullptr && !instance.empty() &&
           reply->instance == instance && reply->call->right_to_send().holds();
}

PendingReplies::UnansweredCall PendingReplies::to_send_again(const PendingReply& reply) {
    return {.tag = reply.tag,
            .id = reply.id,
            .tool = reply.call->tool().spec.name,
            .args = std::string(reply.call->args()),
            .principal = reply.call->principal()->id,
            .agent = std::string(reply.call->call().claimed_agent),
            .traceparent = std::string(reply.call->call().traceparent),
            .deadline = reply.call->deadline(),
            .right = reply.call->right_to_send()};
}

std::vector<PendingReplies::UnansweredCall> PendingReplies::unanswered(std::string_view instance) {
    std::vector<UnansweredCall> found;
    const std::scoped_lock lock(mutex_);
    for (const Slot& slot : slots_) {
        if (!is_unanswered(slot.reply, instance)) continue;
        slot.reply->maybe_seen = true;
        found.push_back(to_send_again(*slot.reply));
    }
    return found;
}

void PendingReplies::set_held_elsewhere(std::string_view request_id, bool held, SteadyTime now) {
    std::uint64_t tag = 0;
    net::EventLoop* home = nullptr;
    {
        const std::scoped_lock lock(mutex_);
        PendingReply* const reply = find(request_id);
        if (reply == nullptr || reply->answer || reply->held_elsewhere == held) return;
        reply->held_elsewhere = held;
        if (held && reply->broken_at) reply->link_ended = true;
        reply->broken_at = held || !reply->link_ended ? std::nullopt : std::optional(now);
        tag = reply->tag;
        home = &reply->home;
    }
    wake(tag, *home);
}

bool PendingReplies::waits_for(std::string_view request_id) const {
    const std::scoped_lock lock(mutex_);
    const PendingReply* const reply = find(request_id);
    return reply != nullptr && !reply->answer;
}

bool PendingReplies::resolve(std::string_view request_id, core::Outcome outcome) {
    std::uint64_t tag = 0;
    {
        const std::scoped_lock lock(mutex_);
        const PendingReply* const reply = find(request_id);
        if (reply == nullptr) return false;
        tag = reply->tag;  // never another's
    }
    return resolve(tag, std::move(outcome));
}

std::vector<PendingReplies::UnansweredCall> PendingReplies::resume(
    std::string_view instance, ConnectionId connection,
    const std::shared_ptr<DeviceHost>& carrier) {
    std::vector<UnansweredCall> unanswered;
    std::vector<net::EventLoop*> homes;
    {
        const std::scoped_lock lock(mutex_);
        for (std::uint32_t index = 0; index < slots_.size(); ++index) {
            PendingReply* reply = slots_[index].reply;
            if (!is_unanswered(reply, instance) || reply->sent_on == connection) continue;
            reply->sent_on = connection;
            reply->starts_at = 0;
            reply->maybe_seen = true;
            reply->broken_at.reset();
            reply->held_elsewhere = reply->link_ended = false;
            reply->accepted = false;
            reply->carrier = carrier;
            unanswered.push_back(to_send_again(*reply));
            homes.push_back(&reply->home);
        }
    }
    for (std::size_t i = 0; i < homes.size(); ++i) wake(unanswered[i].tag, *homes[i]);
    return unanswered;
}

void PendingReplies::connection_ended(ConnectionId connection, std::uint64_t written, LinkEnd end,
                                      SteadyTime now) {
    std::vector<std::pair<std::uint64_t, net::EventLoop*>> touched;
    {
        const std::scoped_lock lock(mutex_);
        for (std::uint32_t index = 0; index < slots_.size(); ++index) {
            PendingReply* reply = slots_[index].reply;
            if (reply == nullptr || reply->sent_on != connection || reply->answer) continue;
            if (reply->held_elsewhere) {
                reply->link_ended = true;
                continue;
            }
            if (reply->starts_at >= written && !reply->maybe_seen) {
                reply->answer = fail(ErrorCode::kUnavailable,
                                     "the device's connection ended before the call was sent; call "
                                     "again when it is back");
            } else if (end == LinkEnd::kGoodbye) {
                reply->answer = fail(ErrorCode::kOutcomeUnknown,
                                     "the device said goodbye while the call ran; it may or may "
                                     "not have taken effect");
            } else {
                reply->broken_at = now;
            }
            touched.emplace_back(make_tag(index, slots_[index].generation), &reply->home);
        }
    }
    for (const auto& [tag, home] : touched) wake(tag, *home);
}

PendingReplies::Update PendingReplies::take_update(PendingReply& reply) {
    Update news;
    std::vector<std::string> unnamed;
    {
        const std::scoped_lock lock(mutex_);
        news = {.answered = reply.answer.has_value(),
                .broken_at = reply.broken_at,
                .accepted = reply.accepted,
                .carrier = reply.carrier};
        if (news.answered) unnamed = release(reply.tag);
    }
    if (!unnamed.empty() && discard_) discard_(std::move(unnamed));
    return news;
}

std::size_t PendingReplies::size() const {
    const std::scoped_lock lock(mutex_);
    return used_;
}

}  // namespace crab::clawseed
