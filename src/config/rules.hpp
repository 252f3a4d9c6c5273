#pragma once

#include "config/problems.hpp"
#include "config/yaml_document.hpp"

#include <string>
#include <utility>

namespace crab::config {

/// What the schema cannot express, with the place of what breaks it. One problem for each value.
class Rules {
public:
    Rules(const YamlDocument& document, Problems& problems)
        : document_(document), problems_(problems) {}

    void expect(bool holds, const std::string& pointer, std::string message) {
        if (!holds && !has_problem_at(problems_, pointer))
            problems_.push_back({document_.line_of(pointer), pointer, std::move(message)});
    }
    const YamlDocument& document() const { return document_; }

private:
    const YamlDocument& document_;
    Problems& problems_;
};

}  // namespace crab::config
