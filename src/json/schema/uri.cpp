#include "json/schema/uri.hpp"

namespace crab::json {
namespace {

bool is_alpha(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_scheme_byte(char c) {
    return is_alpha(c) || (c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.';
}

// RFC 3986, section 5.2.4, as a stack of segments.
std::string remove_dot_segments(std::string_view path) {
    std::string out;
    const bool rooted = path.starts_with('/');
    if (rooted) path.remove_prefix(1);
    if (rooted) out = "/";
    const std::size_t floor = out.size();
    while (true) {
        const std::size_t slash = path.find('/');
        const std::string_view segment = path.substr(0, slash);
        const bool last = slash == std::string_view::npos;
        if (segment == "..") {
            if (out.size() > floor) out.pop_back();
            const std::size_t parent = out.rfind('/');
            out.resize(parent == std::string::npos ? floor : parent + 1);
        } else if (segment != ".") {
            out += segment;
            if (!last) out += '/';
        }
        if (last) return out;
        path.remove_prefix(slash + 1);
    }
}

std::string merge(const UriParts& base, std::string_view path) {
    if (base.authority && base.path.empty()) return "/" + std::string(path);
    const std::size_t slash = base.path.rfind('/');
    return std::string(slash == std::string_view::npos ? std::string_view()
                                                       : base.path.substr(0, slash + 1)) +
           std::string(path);
}

std::string join(const UriParts& parts, std::string_view path) {
    std::string out;
    if (parts.scheme) out.append(*parts.scheme) += ':';
    if (parts.authority) out.append("//").append(*parts.authority);
    out += path;
    if (parts.query) (out += '?').append(*parts.query);
    if (parts.fragment) (out += '#').append(*parts.fragment);
    return out;
}

}  // namespace

UriParts split_uri(std::string_view uri) {
    UriParts parts;
    if (const auto hash = uri.find('#'); hash != std::string_view::npos) {
        parts.fragment = uri.substr(hash + 1);
        uri = uri.substr(0, hash);
    }
    if (const auto mark = uri.find('?'); mark != std::string_view::npos) {
        parts.query = uri.substr(mark + 1);
        uri = uri.substr(0, mark);
    }
    std::size_t colon = 0;
    while (colon < uri.size() && is_scheme_byte(uri[colon])) ++colon;
    if (colon > 0 && colon < uri.size() && uri[colon] == ':' && is_alpha(uri[0])) {
        parts.scheme = uri.substr(0, colon);
        uri.remove_prefix(colon + 1);
    }
    if (uri.starts_with("//")) {
        uri.remove_prefix(2);
        parts.authority = uri.substr(0, uri.find('/'));
        uri.remove_prefix(parts.authority->size());
    }
    parts.path = uri;
    return parts;
}

std::string resolve_uri(std::string_view base_text, std::string_view reference) {
    if (base_text.empty()) return std::string(reference);
    const UriParts base = split_uri(base_text);
    UriParts target = split_uri(reference);
    if (target.scheme)
        return join(target,
                    target.authority ? remove_dot_segments(target.path) : std::string(target.path));
    target.scheme = base.scheme;
    if (target.authority) return join(target, remove_dot_segments(target.path));
    target.authority = base.authority;
    if (target.path.empty()) {
        if (!target.query) target.query = base.query;
        return join(target, base.path);
    }
    return join(target,
                remove_dot_segments(target.path.starts_with('/') ? std::string(target.path)
                                                                 : merge(base, target.path)));
}

std::string_view without_fragment(std::string_view uri) { return uri.substr(0, uri.find('#')); }

std::string_view fragment_of(std::string_view uri) {
    const std::size_t hash = uri.find('#');
    return hash == std::string_view::npos ? std::string_view() : uri.substr(hash + 1);
}

}  // namespace crab::json
