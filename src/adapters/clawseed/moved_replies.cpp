#include "adapters/clawseed/moved_replies.hpp"

#include <algorithm>
#include <utility>

namespace crab::clawseed {

bool MovedReplies::ask(const RequestOfOther& request, TellOther tell, SteadyTime now) {
    const auto known = asked_.find(request.id);
    const bool refused = may_be_forgotten(request.id) ||
                         (known == asked_.end() && (request.asked_before || !has_room(now)));
    if (refused) {
        tell({.kind = WordToOther::Kind::kGone});
        return false;
    }
    unknown_.erase(request.id);
    tell({.kind = WordToOther::Kind::kLinked});
    const bool is_new = known == asked_.end();
    asked_.insert_or_assign(request.id, Asked{.tell = std::move(tell), .last = now});
    return is_new;
}

void MovedReplies::progress(std::string_view id, std::string_view frame, SteadyTime now) {
    const auto asked = asked_.find(id);
    if (asked == asked_.end() || frame.size() > kLongestProgress ||
        now - asked->second.progress < kProgressEvery)
        return;
    asked->second.progress = now;
    asked->second.tell({.kind = WordToOther::Kind::kProgress, .frame = std::string(frame)});
}

bool MovedReplies::may_be_forgotten(std::string_view id) const {
    return forgets_ || given_up_.contains(id) || std::ranges::find(heard_, id) != heard_.end();
}

bool MovedReplies::has_room(SteadyTime now) {
    if (asked_.size() == kMostAsked)
        std::erase_if(asked_,
                      [&](const auto& entry) { return now - entry.second.last > kAskedFor; });
    return asked_.size() < kMostAsked;
}

bool MovedReplies::answer(std::string_view id, WordToOther word, SteadyTime now) {
    if (const auto asked = asked_.find(id); asked != asked_.end()) {
        asked->second.tell(std::move(word));
        return false;
    }
    if (std::ranges::find(heard_, id) != heard_.end()) return true;
    const auto first = unknown_.find(id);
    if (first == unknown_.end()) {
        if (unknown_.size() == kMostUnknown) return give_up(id);
        unknown_.emplace(id, now);
        return false;
    }
    if (now - first->second < kGiveUpAfter) return false;
    unknown_.erase(first);
    return give_up(id);
}

bool MovedReplies::heard(std::string_view id) {
    const auto asked = asked_.find(id);
    if (asked == asked_.end()) return false;
    note_heard(id);
    asked_.erase(asked);
    return true;
}

void MovedReplies::settled(std::string_view id) {
    if (const auto unknown = unknown_.find(id); unknown != unknown_.end()) unknown_.erase(unknown);
    note_heard(id);
}

void MovedReplies::note_heard(std::string_view id) {
    if (heard_.size() == kMostHeard) heard_.pop_front();
    heard_.emplace_back(id);
}

bool MovedReplies::give_up(std::string_view id) {
    if (given_up_.size() == kMostGivenUp)
        forgets_ = true;
    else
        given_up_.emplace(id);
    return true;
}

}  // namespace crab::clawseed
