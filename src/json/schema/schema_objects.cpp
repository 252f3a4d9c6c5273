#include "json/schema/schema_objects.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace crab::json {
namespace {

/// Follows the keywords that apply schemas to the same instance. A node that is met again adds
/// nothing, so each is read once.
class Search {
public:
    explicit Search(const SchemaProgram& program)
        : program_(program), state_(program.nodes.size(), State::kUnknown) {}

    bool may(NodeId id) {
        if (state_[id] != State::kUnknown) return state_[id] != State::kNo;
        if (depth_ == kDeepest) return true;
        state_[id] = State::kOpen;
        ++depth_;
        const bool found = look(program_.nodes[id]);
        --depth_;
        state_[id] = found ? State::kYes : State::kNo;
        return found;
    }

private:
    enum class State : std::uint8_t { kUnknown, kOpen, kYes, kNo };

    bool look(const SchemaNode& node) {
        if (node.accepts_all) return true;
        if (node.accepts_none || (node.types & kObject) == 0) return false;
        if (node.values != kNone &&
            std::ranges::none_of(program_.values[node.values].allowed,
                                 [](const Value& value) { return value.as_object() != nullptr; }))
            return false;
        return node.in_place == kNone || look(program_.in_place[node.in_place]);
    }
    bool look(const InPlaceRules& rules) {
        const auto one = [this](NodeId id) { return may(id); };
        if (rules.reference != kNone && !may(rules.reference)) return false;
        if (!std::ranges::all_of(rules.all_of, one)) return false;
        if (!rules.any_of.empty() && std::ranges::none_of(rules.any_of, one)) return false;
        if (!rules.one_of.empty() && std::ranges::none_of(rules.one_of, one)) return false;
        if (rules.none_of != kNone && accepts_all_objects(program_.nodes[rules.none_of]))
            return false;
        if (rules.condition == kNone) return true;
        const bool when = rules.consequence == kNone || may(rules.consequence);
        const bool otherwise = rules.alternative == kNone || may(rules.alternative);
        return (when && may(rules.condition)) ||
               (otherwise && !accepts_all_objects(program_.nodes[rules.condition]));
    }
    /// No is not proven here, yes is.
    static bool accepts_all_objects(const SchemaNode& node) {
        if (node.accepts_all) return true;
        return !node.accepts_none && (node.types & kObject) != 0 && node.values == kNone &&
               node.objects == kNone && node.in_place == kNone;
    }

    static constexpr int kDeepest = 1'000;

    const SchemaProgram& program_;
    std::vector<State> state_;
    int depth_ = 0;
};

}  // namespace

bool may_accept_objects(const SchemaProgram& program) { return Search(program).may(0); }

}  // namespace crab::json
