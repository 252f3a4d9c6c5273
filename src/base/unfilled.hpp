#pragma once

#include <cstddef>
#include <string>

namespace crab {

/// Makes `text` `size` bytes long without writing those that are new: the caller writes them at
/// once. resize() would fill them first, which costs more than many a text that follows.
inline void resize_unfilled(std::string& text, std::size_t size) {
    text.resize_and_overwrite(size, [](char*, std::size_t room) { return room; });
}

}  // namespace crab
