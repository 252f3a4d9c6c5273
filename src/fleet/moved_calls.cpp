#include "fleet/moved_calls.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

namespace crab::fleet {
namespace {

// Between one MOVED and the next.
constexpr std::array<Milliseconds, 3> kTellAgain{Milliseconds(500), Milliseconds(1'500),
                                                 Milliseconds(6'000)};

std::uint32_t ms_left(Deadline deadline, SteadyTime now) {
    if (deadline == kNoDeadline) return 0;
    const auto left = std::chrono::ceil<Milliseconds>(deadline - now).count();
    return static_cast<std::uint32_t>(std::clamp<std::int64_t>(left, 1, UINT32_MAX));
}

}  // namespace

void MovedCalls::announce(const Moved& moved) {
    say(moved);
    if (told_.size() == kMostTold) return;
    told_.push_back({.moved = moved, .next = now() + kTellAgain[0]});
    wake_at(told_.back().next);
}

void MovedCalls::say(const Moved& moved) {
    (void)uses_.mail.publish(bus::Topic::kAll, {.kind = bus::Kind::kMoved}, to_wire(moved));
}

void MovedCalls::tell(const bus::Place& asker, Reply reply) {
    constexpr std::size_t kFieldHeads = 64;
    if (reply.frame.size() + reply.id.size() + kFieldHeads > bus::kMostBody) {
        reply.frame.clear();
        reply.says = Reply::Says::kTooLong;
    }
    (void)uses_.mail.send(asker, {.kind = bus::Kind::kReply}, to_wire(reply));
}

void MovedCalls::on_moved(const bus::Envelope& envelope, std::string_view body) {
    const auto moved = parse_moved(body);
    if (!moved) return counts_.unreadable.add();
    if (uses_.waiting == nullptr) return;
    for (Waiting::Out& out : uses_.waiting->unanswered(moved->device)) {
        const std::string id = out.request.id;
        if (asked_.size() == kMostAsked && !asked_.contains(id)) return;
        Asked& asked = asked_[id];
        asked.device = moved->device;
        asked.out = std::move(out);
        const auto same = [&](const Link& link) {
            return link.place == envelope.from && link.connection == moved->connection;
        };
        if (std::ranges::any_of(asked.links, same)) continue;
        if (asked.links.size() == kMostLinks) asked.links.erase(asked.links.begin());
        asked.links.push_back(
            {.place = envelope.from, .connection = moved->connection, .heard = now()});
        counts_.asked.add();
        ask(asked, asked.links.back());
    }
    if (asked_.empty()) return;
    if (next_ask_ <= now()) next_ask_ = now() + kAskEvery;
    wake_at(next_ask_);
}

void MovedCalls::ask(const Asked& asked, const Link& link) {
    const auto beat = uses_.beats.newest_of(process_of(link.place));
    if (!beat || (!link.has_it && !asked.out.right.holds())) return;
    Resume resume{.device = asked.device,
                  .connection = link.connection,
                  .beat = *beat,
                  .request = asked.out.request};
    if (link.has_it) resume.request = {.id = asked.out.request.id};
    const std::uint8_t flags = link.has_it ? kAskedBefore : 0;
    (void)uses_.mail.send(
        link.place,
        {.kind = bus::Kind::kResume, .flags = flags, .ms_left = ms_left(asked.out.deadline, now())},
        to_wire(resume));
}

void MovedCalls::on_resume(const bus::Envelope& envelope, std::string_view body) {
    auto resume = parse_resume(body);
    if (!resume) return counts_.unreadable.add();
    if (uses_.links == nullptr) return;
    // What it starts may be long over for its asker.
    if (!uses_.beats.is_fresh(resume->beat)) return counts_.stale.add();
    const Deadline deadline =
        envelope.ms_left == 0 ? kNoDeadline : now() + Milliseconds(envelope.ms_left);
    uses_.links->on_resume(envelope.from, envelope.flags, std::move(*resume), deadline);
}

void MovedCalls::on_reply(const bus::Envelope& envelope, std::string_view body) {
    auto reply = parse_reply(body);
    if (!reply) return counts_.unreadable.add();
    if (uses_.waiting == nullptr) return;
    const bool is_answer =
        reply->says == Reply::Says::kAnswer || reply->says == Reply::Says::kTooLong;
    const auto found = asked_.find(reply->id);
    if (found == asked_.end()) {  // it was answered before, or waits no more
        if (is_answer && !is_being_recorded(reply->id))
            send_word(kHaveAnswer, envelope.from, reply->id, reply->connection);
        return;
    }
    Asked& asked = found->second;
    const auto link = std::ranges::find_if(asked.links, [&](const Link& one) {
        return one.place == envelope.from && one.connection == reply->connection;
    });
    if (link == asked.links.end()) return counts_.foreign.add();
    if (is_answer) return on_answer(envelope.from, std::move(*reply));
    if (reply->says == Reply::Says::kProgress) {
        link->heard = now();
        return uses_.waiting->progress(asked.device, reply->id, reply->frame);
    }
    if (reply->says == Reply::Says::kLinked) {
        link->has_it = true;
        link->heard = now();
        return uses_.waiting->set_held(asked.device, reply->id, true);
    }
    asked.links.erase(link);
    if (!asked.links.empty()) return;
    lose(asked);
    asked_.erase(found);
}

void MovedCalls::on_answer(const bus::Place& place, Reply reply) {
    counts_.answered.add();
    const Asked over = std::move(asked_.extract(reply.id).mapped());
    if (recording_.size() < kMostAsked) recording_.emplace(reply.id, now());
    std::optional<std::string> frame;
    if (reply.says == Reply::Says::kAnswer) frame = std::move(reply.frame);
    uses_.waiting->answer(over.device, reply.id, std::move(frame),
                          [this, place, id = reply.id, connection = reply.connection] {
                              recording_.erase(id);
                              send_word(kHaveAnswer, place, id, connection);
                          });
}

bool MovedCalls::is_being_recorded(std::string_view id) {
    std::erase_if(recording_,
                  [&](const auto& entry) { return now() - entry.second >= kKeptWithin; });
    return recording_.contains(id);
}

/// That the device may forget its answer, or may stop.
void MovedCalls::send_word(std::uint8_t flag, const bus::Place& place, const std::string& id,
                           std::uint64_t connection) {
    const auto beat = uses_.beats.newest_of(process_of(place));
    if (!beat) return;
    const Resume word{.device = {.principal = "-", .chat = "-", .instance = "-"},
                      .connection = connection,
                      .beat = *beat,
                      .request = {.id = id}};
    (void)uses_.mail.send(place, {.kind = bus::Kind::kResume, .flags = flag}, to_wire(word));
}

void MovedCalls::lose(Asked& asked) {
    counts_.lost.add();
    uses_.waiting->set_held(asked.device, asked.out.request.id, false);
}

/// False: it waits no more, or no node has the link.
bool MovedCalls::ask_again(Asked& asked) {
    const std::string& id = asked.out.request.id;
    if (!uses_.waiting->waits(asked.device, id)) {
        if (!recording_.contains(id))
            for (const Link& link : asked.links)
                if (link.has_it) send_word(kGivenUp, link.place, id, link.connection);
        return false;
    }
    std::erase_if(asked.links, [&](const Link& link) { return now() - link.heard >= kSilent; });
    if (asked.links.empty()) {
        lose(asked);
        return false;
    }
    for (const Link& link : asked.links) ask(asked, link);
    return true;
}

void MovedCalls::wake_at(SteadyTime time) {
    if (!armed() || time < next_wake_) {
        next_wake_ = time;
        uses_.timers.arm(*this, time);
    }
}

void MovedCalls::on_expired() {
    if (!asked_.empty() && now() >= next_ask_) {
        for (auto at = asked_.begin(); at != asked_.end();)
            at = ask_again(at->second) ? std::next(at) : asked_.erase(at);
        next_ask_ = now() + kAskEvery;
    }
    std::erase_if(told_, [&](Told& told) {
        if (now() < told.next) return false;
        say(told.moved);
        if (told.times == kTellAgain.size()) return true;
        told.next = now() + kTellAgain.at(told.times++);
        return false;
    });
    if (!asked_.empty()) wake_at(next_ask_);
    for (const Told& told : told_) wake_at(told.next);
}

}  // namespace crab::fleet
