#pragma once

#include "runtime/component.hpp"

#include <memory>
#include <string_view>
#include <utility>
#include <vector>

namespace crab::runtime {

/// The components of a process, in the order in which they start; they are destroyed in reverse.
class Components {
public:
    Components() = default;
    Components(const Components&) = delete;
    Components& operator=(const Components&) = delete;
    ~Components() {
        while (!all_.empty()) all_.pop_back();
    }

    /// Appends a T constructed from `needs`; it lives as long as the list.
    template <class T, class... Needs>
    T& add(Needs&&... needs) {
        auto made = std::make_unique<T>(std::forward<Needs>(needs)...);
        T& component = *made;
        all_.push_back(std::move(made));
        return component;
    }

    std::vector<Component*> in_order() const {
        std::vector<Component*> order;
        for (const auto& component : all_) order.push_back(component.get());
        return order;
    }
    std::vector<std::string_view> names() const {
        std::vector<std::string_view> names;
        for (const auto& component : all_) names.push_back(component->name());
        return names;
    }
    /// What every component declares.
    std::vector<ConfigKey> keys() const {
        std::vector<ConfigKey> keys;
        for (const auto& component : all_)
            keys.insert(keys.end(), component->keys().begin(), component->keys().end());
        return keys;
    }

private:
    std::vector<std::unique_ptr<Component>> all_;
};

}  // namespace crab::runtime
