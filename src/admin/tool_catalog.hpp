#pragma once

#include "admin/presence.hpp"
#include "core/pipeline/pipeline.hpp"

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace crab::admin {

/// All tools that an operator should know of, by name: those that can be called, and those of
/// connected devices that cannot, with the reason. An index that is made anew when a tool comes,
/// goes or is judged otherwise, and somebody asks: a page then costs the page. Used on one event
/// loop.
class ToolCatalog {
public:
    struct Sources {
        core::Pipeline& pipeline;
        std::function<std::vector<Presence>()> presence;
        /// Tools of a device that need approval; may be empty.
        std::function<std::vector<std::string>(std::string_view device)> waiting_tools;
    };
    struct Row {
        std::string name;
        std::string qualified_name, source;
        std::string_view state;  ///< `offered`, `ambiguous`, `held_back`, `rejected`
        std::string reason;  ///< for all but `offered`
        std::weak_ptr<const core::Tool> tool;  ///< nothing for those that are not offered
        std::string words;  ///< in lower case, that searches look at
    };
    /// Which rows are wanted; empty: any. `text`: every word of it must be in the name, the title
    /// or the description's start; a word with `*` or `?` is a pattern of names.
    struct Question {
        std::string text, source, state;
        friend bool operator==(const Question&, const Question&) = default;
    };
    static constexpr std::size_t kLongestText = 256;

    explicit ToolCatalog(Sources sources) : sources_(std::move(sources)) {}

    /// Looks whether anything has changed for this principal; before the functions below.
    void refresh(const core::Principal& principal);
    /// Grows with each change that refresh() has seen.
    std::uint64_t generation() const { return generation_; }
    /// The places of the rows that match, in order of their names; valid until the next call.
    std::span<const std::uint32_t> find(const Question& question);
    const Row& row(std::uint32_t place) const { return rows_[place]; }
    /// The first row of that name, or of that qualified one; null: there is none.
    const Row* find_name(std::string_view name) const;

private:
    /// A tool that is not offered.
    struct Missing {
        std::string name, device;
        std::string_view state;
        std::string reason;
        friend bool operator==(const Missing&, const Missing&) = default;
    };
    struct Answered {
        Question question;
        std::vector<std::uint32_t> places;
    };
    std::vector<Missing> missing() const;
    void build(const core::Principal& principal);
    void add(const core::RegistrySnapshot::Listed& listed);
    void add(const Missing& missing);

    Sources sources_;
    std::uint64_t generation_ = 0, registry_ = 0;
    std::string key_;  ///< of the principal's list
    std::vector<Missing> missing_;
    std::vector<Row> rows_;
    std::deque<Answered> answered_;  ///< the latest questions, newest first
};

}  // namespace crab::admin
