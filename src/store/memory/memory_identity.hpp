#pragma once

#include "base/result.hpp"
#include "crypto/digest.hpp"
#include "hosts/memory/memory_store.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace crab::store {

/// Of tenant, principal and key of a change.
crypto::Sha256Digest memory_key_of(const memory::MemoryWrite& write);

/// What the change does, by which a repeat is told from another use of its key. Ids and times that
/// were made for it do not count.
crypto::Sha256Digest memory_content_of(const memory::MemoryWrite& write);

/// Of a key that was used for another change.
Error memory_key_conflict();
/// Of a scope that has `present` entries and no room for more.
Error memory_scope_full(std::uint64_t present);

/// A list of texts as one column.
std::string memory_list_to_json(const std::vector<std::string>& texts);
std::vector<std::string> memory_list_from_json(std::string_view text);

}  // namespace crab::store
