#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

namespace crab::core {

/// An immutable sorted set of names, or map from names to V, with cheap changed copies: a treap
/// whose priorities are hashes of the names, so that its shape depends on its names alone. set(),
/// insert() and erase() copy one path, about log2(n) nodes; V is cheap to copy. Thread-safe as a
/// value.
template <class V = std::monostate>
class PersistentOrder {
    static constexpr bool kIsSet = std::is_same_v<V, std::monostate>;

public:
    PersistentOrder() = default;
    bool empty() const { return !root_; }
    /// The name, when there is exactly one.
    std::optional<std::string_view> only() const {
        if (!root_ || root_->left || root_->right) return std::nullopt;
        return root_->name;
    }
    PersistentOrder insert(std::string_view name) const
        requires kIsSet
    {
        return PersistentOrder(set_at(root_, name, priority(name), {}));
    }
    PersistentOrder set(std::string_view name, const V& value) const {
        return PersistentOrder(set_at(root_, name, priority(name), value));
    }
    PersistentOrder erase(std::string_view name) const {
        return PersistentOrder(erase_at(root_, name));
    }

    /// Calls `visit(name)`, of a map `visit(name, value)`, in ascending order for the names greater
    /// than `after`, until it returns false.
    template <class F>
    void for_each_after(std::string_view after, F&& visit) const {
        walk(root_.get(), after, visit);
    }

private:
    struct Node;
    using NodeRef = std::shared_ptr<const Node>;
    struct Node {
        std::string name;
        std::size_t priority;
        V value;
        NodeRef left, right;
    };

    explicit PersistentOrder(NodeRef root) : root_(std::move(root)) {}

    static std::size_t priority(std::string_view name) {
        return std::hash<std::string_view>{}(name) * 0x9e3779b97f4a7c15ULL;
    }
    static NodeRef make(const Node& like, NodeRef left, NodeRef right) {
        return std::make_shared<const Node>(
            Node{like.name, like.priority, like.value, std::move(left), std::move(right)});
    }

    static NodeRef set_at(const NodeRef& node, std::string_view name, std::size_t prio,
                          const V& value) {
        if (!node)
            return std::make_shared<const Node>(
                Node{std::string(name), prio, value, nullptr, nullptr});
        if (name == node->name) {
            if constexpr (kIsSet) return node;
            return std::make_shared<const Node>(
                Node{node->name, prio, value, node->left, node->right});
        }
        if (name < node->name) {
            NodeRef left = set_at(node->left, name, prio, value);
            if (left->priority > node->priority)
                return make(*left, left->left, make(*node, left->right, node->right));
            return make(*node, std::move(left), node->right);
        }
        NodeRef right = set_at(node->right, name, prio, value);
        if (right->priority > node->priority)
            return make(*right, make(*node, node->left, right->left), right->right);
        return make(*node, node->left, std::move(right));
    }

    static NodeRef erase_at(const NodeRef& node, std::string_view name) {
        if (!node) return nullptr;
        if (name < node->name) return make(*node, erase_at(node->left, name), node->right);
        if (name > node->name) return make(*node, node->left, erase_at(node->right, name));
        return merge(node->left, node->right);
    }

    static NodeRef merge(const NodeRef& left, const NodeRef& right) {
        if (!left) return right;
        if (!right) return left;
        if (left->priority > right->priority)
            return make(*left, left->left, merge(left->right, right));
        return make(*right, merge(left, right->left), right->right);
    }

    template <class F>
    static bool call(F& visit, const Node& node) {
        if constexpr (kIsSet) {
            return visit(std::string_view(node.name));
        } else {
            return visit(std::string_view(node.name), node.value);
        }
    }

    template <class F>
    static bool walk(const Node* node, std::string_view after, F& visit) {
        if (node == nullptr) return true;
        if (node->name > after) {
            if (!walk(node->left.get(), after, visit) || !call(visit, *node)) return false;
        }
        return walk(node->right.get(), after, visit);
    }

    NodeRef root_;
};

}  // namespace crab::core
