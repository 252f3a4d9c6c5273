#include "core/events/event_filter.hpp"

#include "base/glob.hpp"

#include <fmt/format.h>

namespace crab::core {

Result<EventTypes> EventTypes::parse(std::string_view globs) {
    EventTypes types;
    if (globs.empty()) return types;
    types.bits_.reset();
    for (bool more = true; more;) {
        const std::size_t comma = globs.find(',');
        const Glob glob{std::string(globs.substr(0, comma))};
        bool found = false;
        for (const EventType type : all_event_types()) {
            if (!glob.matches(name_of(type))) continue;
            types.bits_.set(static_cast<std::size_t>(type));
            found = true;
        }
        if (!found)
            return fail(
                ErrorCode::kInvalidArgs,
                fmt::format(
                    "no event type is called '{}'; write names or globs such as tool.call.*",
                    glob.pattern()));
        more = comma != std::string_view::npos;
        globs.remove_prefix(more ? comma + 1 : globs.size());
    }
    return types;
}

}  // namespace crab::core
