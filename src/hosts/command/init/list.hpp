#pragma once

#include <cstddef>
#include <cstdlib>
#include <type_traits>

namespace crab::sandbox {

/// A growing array. Unlike std::vector it needs nothing of C++ that has to be linked, so the static
/// program stays small; without memory the process ends.
template <typename T>
class List {
    static_assert(std::is_trivially_copyable_v<T>);

public:
    List() = default;
    ~List() { std::free(items_); }
    List(const List&) = delete;
    List& operator=(const List&) = delete;

    void add(const T& item) {
        items_ = static_cast<T*>(std::realloc(items_, (size_ + 1) * sizeof(T)));
        if (items_ == nullptr) std::abort();
        items_[size_++] = item;
    }

    const T* begin() const { return items_; }
    const T* end() const { return items_ + size_; }

private:
    T* items_ = nullptr;
    std::size_t size_ = 0;
};

}  // namespace crab::sandbox
