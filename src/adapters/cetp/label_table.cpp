#include "adapters/cetp/label_table.hpp"

#include "adapters/cetp/names.hpp"

#include <fmt/format.h>

namespace crab::cetp {

LabelTable::LabelTable(const Entries& kept, Entries fixed) : fixed_(std::move(fixed)) {
    for (const auto& [id, label] : fixed_) taken_.insert(label);
    for (const auto& [id, label] : kept) {
        if (taken_.insert(label).second) entries_.emplace(id, label);
    }
}

std::string LabelTable::find(std::string_view provider_id) const {
    for (const Entries* entries : {&fixed_, &entries_}) {
        if (const auto found = entries->find(provider_id); found != entries->end())
            return found->second;
    }
    return "";
}

const std::string& LabelTable::label_for(const std::string& provider_id,
                                         std::string_view suggested) {
    if (const auto found = fixed_.find(provider_id); found != fixed_.end()) return found->second;
    if (const auto found = entries_.find(provider_id); found != entries_.end())
        return found->second;
    const std::string wanted = label_of(suggested.empty() ? provider_id : suggested);
    std::string label = wanted;
    for (int i = 2; !taken_.insert(label).second; ++i) label = fmt::format("{}_{}", wanted, i);
    return entries_.emplace(provider_id, std::move(label)).first->second;
}

}  // namespace crab::cetp
