#include "adapters/mcp/server/resource_links.hpp"

#include "adapters/mcp/wire/name_limit.hpp"

#include <utility>

namespace crab::mcp {

void ResourceLinks::forget(Its& its, InOrder::iterator link) {
    const std::size_t bytes = link->bytes();
    its.bytes -= bytes;
    bytes_ -= bytes;
    its.by_uri.erase(link->uri);
    its.links.erase(link);
}

void ResourceLinks::forget_first() {
    bytes_ -= principals_.front().bytes;
    by_name_.erase(principals_.front().principal);
    principals_.pop_front();
}

ResourceLinks::Its& ResourceLinks::of(const std::string& principal) {
    if (const auto known = by_name_.find(principal); known != by_name_.end()) {
        principals_.splice(principals_.end(), principals_, known->second);
        return principals_.back();
    }
    if (principals_.size() >= limits_.principals) forget_first();
    principals_.push_back({.principal = principal});
    by_name_.emplace(principals_.back().principal, std::prev(principals_.end()));
    return principals_.back();
}

void ResourceLinks::remember(const std::string& principal, const std::string& uri,
                             const std::string& source) {
    if (uri.size() > kMostNameBytes) return;  // nobody can ask for it
    const std::scoped_lock lock(mutex_);
    Its& its = of(principal);
    if (const auto known = its.by_uri.find(uri); known != its.by_uri.end())
        forget(its, known->second);
    its.links.push_back({uri, source, clock_.steady_now()});
    its.by_uri.emplace(its.links.back().uri, std::prev(its.links.end()));
    its.bytes += its.links.back().bytes();
    bytes_ += its.links.back().bytes();
    while (its.links.size() > limits_.per_principal || its.bytes > limits_.bytes_per_principal)
        forget(its, its.links.begin());
    while (bytes_ > limits_.bytes && principals_.size() > 1) forget_first();
}

std::string ResourceLinks::source_of(const std::string& principal, std::string_view uri) const {
    const std::scoped_lock lock(mutex_);
    const auto its = by_name_.find(principal);
    if (its == by_name_.end()) return {};
    const auto link = its->second->by_uri.find(uri);
    if (link == its->second->by_uri.end()) return {};
    const bool is_old = clock_.steady_now() - link->second->at >= kKept;
    return is_old ? std::string() : link->second->source;
}

std::size_t ResourceLinks::bytes() const {
    const std::scoped_lock lock(mutex_);
    return bytes_;
}

}  // namespace crab::mcp
