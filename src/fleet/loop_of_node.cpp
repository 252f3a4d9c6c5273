#include "fleet/loop_of_node.hpp"

#include <utility>

namespace crab::fleet {

LoopOfNode::LoopOfNode(const Uses& uses)
    : mail(uses.keys, uses.self),
      beats(uses.clock, uses.incarnation),
      forwarder({.mail = mail,
                 .beats = beats,
                 .directory = uses.directory,
                 .here = uses.here,
                 .running = uses.running,
                 .ids = uses.ids,
                 .clock = uses.clock,
                 .timers = uses.timers}),
      owner({.mail = mail,
             .beats = beats,
             .calls = uses.here,
             .is_here = uses.is_here,
             .clock = uses.clock,
             .home = uses.home,
             .timers = uses.timers}),
      moved({.mail = mail, .beats = beats, .clock = uses.clock, .timers = uses.timers}),
      letters({.mail = mail,
               .beats = beats,
               .owner = owner,
               .forwarder = forwarder,
               .moved = moved,
               .on_hint = uses.on_hint,
               .clock = uses.clock,
               .home = uses.home,
               .timers = uses.timers}) {}

void LoopOfNode::stop(std::function<void()> done) {
    letters.stop([this, then = std::move(done)]() mutable { owner.stop(std::move(then)); });
}

}  // namespace crab::fleet
