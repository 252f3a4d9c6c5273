#pragma once

#include "json/bits.hpp"
#include "json/element.hpp"
#include "json/schema/schema_program.hpp"
#include "json/schema/schema_violation.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace crab::json {

/// The violation for a value whose validation exceeded the budget.
SchemaViolation too_costly(const SchemaProgram& program);

/// One run of a program over one instance; made for it and used once.
class SchemaValidation {
public:
    /// With `violations` it continues after the first one, up to `max_violations`; otherwise it
    /// stops there.
    SchemaValidation(const SchemaProgram& program, std::vector<SchemaViolation>* violations,
                     std::size_t max_violations)
        : program_(program),
          violations_(violations),
          max_violations_(max_violations),
          budget_(kBudget) {}

    /// Budget of a run, in steps of about 50 ns: a schema applied to a value, a member visited.
    static constexpr std::uint64_t kBudget = 100'000;

    bool run(Element instance);
    /// Whether run() exceeded its budget.
    bool exhausted() const { return exhausted_; }

private:
    /// How an instance was reached from its parent: a member's name, or an item's index when `key`
    /// has no data.
    struct Path {
        const Path* parent;
        std::string_view key;
        std::size_t index;
    };
    /// Which members or items of one instance were evaluated (2020-12 core, section 7.7.1); only
    /// kept where `unevaluated…` asks.
    struct Evaluated {
        explicit Evaluated(std::size_t size) : bits(size) {}
        void merge(const Evaluated& other) {
            all = all || other.all;
            bits.merge(other.bits);
        }
        bool has(std::size_t index) const { return all || bits.test(index); }
        bool all = false;
        Bits bits;
    };
    struct Level;

    bool check(NodeId id, Element value, const Path* path, Evaluated* seen);
    bool check_rules(NodeId id, const SchemaNode& node, Element value, const Path* path,
                     Evaluated* seen);
    bool check_unevaluated(NodeId id, const SchemaNode& node, Element value, const Path* path,
                           Evaluated* seen);
    bool check_values(NodeId id, const ValueRules& rules, Element value, const Path* path);
    bool check_number(NodeId id, const NumberRules& rules, Element value, const Path* path);
    bool check_string(NodeId id, const StringRules& rules, std::string_view text, const Path* path);
    bool check_array(NodeId id, const ArrayRules& rules, Array array, const Path* path,
                     Evaluated* seen);
    bool check_matches(NodeId id, const ArrayRules& rules, std::size_t matches, const Path* path);
    bool check_object(NodeId id, const ObjectRules& rules, Element value, const Path* path,
                      Evaluated* seen);
    bool check_size(NodeId id, const ObjectRules& rules, std::size_t size, const Path* path);
    bool check_names(NodeId id, const ObjectRules& rules, const Bits& present, Element value,
                     const Path* path, Evaluated* seen);
    bool check_in_place(NodeId id, const InPlaceRules& rules, Element value, const Path* path,
                        Evaluated* seen);
    bool check_one_of(NodeId id, const InPlaceRules& rules, Element value, const Path* path,
                      Evaluated* seen);
    bool check_dynamic(const DynamicReference& reference, Element value, const Path* path,
                       Evaluated* seen);
    /// Whether the schema accepts the value, without noting violations; what it evaluated is kept
    /// only if so.
    bool accepts(NodeId id, Element value, const Path* path, Evaluated* seen);
    bool has_repeated_item(Array array);

    /// Notes a violation when they are collected; always false, so that a check can return it.
    template <class Say>
    bool violated(NodeId id, const char* rule, const Path* path, Say say);
    void note(NodeId id, const char* rule, const Path* path, std::string text);
    /// Whether to continue after a violation. Never after the budget is exhausted, because results
    /// are then unreliable.
    bool keep_going() const {
        return violations_ && !exhausted_ && violations_->size() < max_violations_;
    }
    /// Takes `steps` from the budget; false, and exhausted from now on, when it is used up.
    bool spend(std::uint64_t steps) {
        if (steps <= budget_) {
            budget_ -= steps;
            return true;
        }
        return extend(steps);
    }
    bool extend(std::uint64_t steps);
    /// Whether the pattern occurs in `text`; false as well when that costs too much to find out.
    bool finds(const Pattern& pattern, std::string_view text);
    /// Why the schema refuses the value, in one clause.
    std::string reason(NodeId id, Element value, const Path* path);

    const SchemaProgram& program_;
    std::vector<SchemaViolation>* violations_;
    std::size_t max_violations_;
    // the resources entered, outermost first; only for programs with dynamic references
    std::vector<std::uint32_t> scope_;
    std::uint32_t depth_ = 0;
    std::uint64_t budget_;
    Element instance_;
    bool extended_ = false;  // the budget was extended for the size of the instance
    bool exhausted_ = false;
};

}  // namespace crab::json
