#pragma once

#include "adapters/clawseed/other_nodes.hpp"

#include <cstddef>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <string_view>

namespace crab::clawseed {

/// Of one link: requests that wait at other nodes, and answers to what this node does not know. An
/// answer is acknowledged when its asker has it: a device forgets what was acknowledged, and would
/// run it again if it were asked again. Used on the link's loop.
/// Source: docs/protocols/fleet.md, section 5, "The device moves".
class MovedReplies {
public:
    static constexpr std::size_t kMostAsked = 1'024, kMostUnknown = 1'024, kMostGivenUp = 4'096;
    static constexpr std::size_t kMostHeard = 256;
    /// Who asks does so every second (fleet::MovedCalls::kAskEvery)
    static constexpr std::chrono::seconds kAskedFor{20};
    static constexpr Milliseconds kProgressEvery{100};
    static constexpr std::size_t kLongestProgress = 16'384;
    /// Until an answer that nobody asks for is acknowledged: no call waits so long for a device
    static constexpr std::chrono::seconds kGiveUpAfter{60};

    /// Says by `tell` whether the link takes the request. True: send it to the device.
    bool ask(const RequestOfOther& request, TellOther tell, SteadyTime now);
    /// An answer that no call of this node waits for; without a frame if it cannot be handed on.
    /// True: acknowledge it now.
    bool answer(std::string_view id, WordToOther word, SteadyTime now);
    /// The device works on what another node has asked for.
    void progress(std::string_view id, std::string_view frame, SteadyTime now);
    bool is_asked(std::string_view id) const { return asked_.contains(id); }
    /// Its asker has the answer. True: acknowledge it.
    bool heard(std::string_view id);
    /// A call of this node has the answer, and it is recorded: said again, it is acknowledged.
    void settled(std::string_view id);
    /// Whether its answer was acknowledged on this link: the device need not know it any more.
    bool may_be_forgotten(std::string_view id) const;

private:
    struct Asked {
        TellOther tell;
        SteadyTime last;
        SteadyTime progress{};  ///< when it was told last
    };
    bool has_room(SteadyTime now);
    bool give_up(std::string_view id);
    void note_heard(std::string_view id);

    std::map<std::string, Asked, std::less<>> asked_;
    /// Answers that nobody has asked for yet, and when each came first; the device has them
    std::map<std::string, SteadyTime, std::less<>> unknown_;
    /// Acknowledged without anybody having them: the device must not get these again
    std::set<std::string, std::less<>> given_up_;
    /// Whose askers have the answers, the last ones: said again, these are acknowledged at once
    std::deque<std::string> heard_;
    bool forgets_ = false;  ///< there were too many, so nothing is taken any more
};

}  // namespace crab::clawseed
