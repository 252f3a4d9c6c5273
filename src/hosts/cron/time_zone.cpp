#include "hosts/cron/time_zone.hpp"

namespace crab::cron {

using std::chrono::seconds;

ZoneSpan TimeZone::span_from(std::chrono::sys_seconds time) const {
    ZoneSpan span{.offset = seconds(zone_.lookup(time).offset)};
    cctz::time_zone::civil_transition change;
    // A change is told by the readings of the clock around it; where these repeat, the earlier
    // meaning of the later reading is not the change.
    if (zone_.next_transition(time, &change)) {
        const auto reading = zone_.lookup(change.to);
        span.end =
            reading.kind == cctz::time_zone::civil_lookup::REPEATED ? reading.trans : reading.pre;
    }
    return span;
}

}  // namespace crab::cron
