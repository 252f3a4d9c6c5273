#pragma once

#include "base/hash.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace crab::core {

/// An immutable hash map from names to V with cheap changed copies: set() and erase() share all but
/// one path of the tree (three levels of 32 children, then a bucket) with the original, so that
/// changing one entry among 100 000 costs about a microsecond. V is cheap to copy (a shared_ptr).
/// Copying the map is one reference count. Thread-safe as a value.
template <class V>
class PersistentMap {
public:
    const V* find(std::string_view key) const {
        const std::size_t hash = hash_text(key);
        if (!root_) return nullptr;
        const auto& middle = (*root_)[hash % kFanOut];
        if (!middle) return nullptr;
        const auto& leaf = (*middle)[hash / kFanOut % kFanOut];
        if (!leaf) return nullptr;
        const Bucket& bucket = (*leaf)[hash / kFanOut / kFanOut % kFanOut];
        for (std::size_t i = 0; i < bucket.size; ++i) {
            const Item& item = bucket.items[static_cast<std::ptrdiff_t>(i)];
            if (item.hash == hash && item.key == key) return &item.value;
        }
        return nullptr;
    }

    PersistentMap set(std::string_view key, V value) const {
        return change(key, [&](std::vector<Item>& bucket, std::size_t hash) {
            for (Item& item : bucket) {
                if (item.hash == hash && item.key == key) {
                    item.value = std::move(value);
                    return;
                }
            }
            bucket.push_back({hash, std::string(key), std::move(value)});
        });
    }

    PersistentMap erase(std::string_view key) const {
        return change(key, [&](std::vector<Item>& bucket, std::size_t) {
            std::erase_if(bucket, [&](const Item& item) { return item.key == key; });
        });
    }

private:
    static constexpr std::size_t kFanOut = 32;
    struct Item {
        std::size_t hash = 0;
        std::string key;
        V value;
    };
    /// Its items are contiguous, so that a lookup costs one cache miss.
    struct Bucket {
        std::shared_ptr<const Item[]> items;
        std::size_t size = 0;
    };
    template <class Child>
    using Level = std::array<std::shared_ptr<const Child>, kFanOut>;
    using Leaf = std::array<Bucket, kFanOut>;
    using Middle = Level<Leaf>;
    using Root = Level<Middle>;

    template <class T>
    static std::shared_ptr<T> copy_of(const std::shared_ptr<const T>& original) {
        return original ? std::make_shared<T>(*original) : std::make_shared<T>();
    }

    static Bucket packed(std::vector<Item> items) {
        if (items.empty()) return {};
        auto made = std::make_shared<Item[]>(items.size());
        std::ranges::move(items, made.get());
        return {std::move(made), items.size()};
    }

    template <class F>
    PersistentMap change(std::string_view key, F edit) const {
        const std::size_t hash = hash_text(key);
        auto root = copy_of<Root>(root_);
        auto& middle_slot = (*root)[hash % kFanOut];
        auto middle = copy_of<Middle>(middle_slot);
        auto& leaf_slot = (*middle)[hash / kFanOut % kFanOut];
        auto leaf = copy_of<Leaf>(leaf_slot);
        Bucket& bucket = (*leaf)[hash / kFanOut / kFanOut % kFanOut];
        std::vector<Item> items(bucket.items.get(), bucket.items.get() + bucket.size);
        edit(items, hash);
        bucket = packed(std::move(items));
        leaf_slot = std::move(leaf);
        middle_slot = std::move(middle);
        PersistentMap changed;
        changed.root_ = std::move(root);
        return changed;
    }

    std::shared_ptr<const Root> root_;
};

}  // namespace crab::core
