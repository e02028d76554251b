// Owns the little JSON that the header needs: single members of texts that the library or the application wrote, and quoting.
#ifndef WFSTUDIO_JSON_HPP
#define WFSTUDIO_JSON_HPP

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace studio::json {

namespace detail {
inline std::size_t blank(std::string_view text, std::size_t at) { return std::min(text.size(), text.find_first_not_of(" \t\r\n", at)); }

// Where the value ends that begins at `at`. Broken text ends where the text does.
inline std::size_t value_end(std::string_view text, std::size_t at) {
    std::size_t depth = 0;
    for (bool quoted = false; at < text.size(); at++) {
        char one = text[at];
        if (quoted) {
            if (one == '\\') at++;
            else if (one == '"') {
                quoted = false;
                if (depth == 0) return at + 1;
            }
        } else if (one == '"') quoted = true;
        else if (one == '{' || one == '[') depth++;
        else if (one == '}' || one == ']') {
            if (depth == 0) return at;
            if (--depth == 0) return at + 1;
        } else if (depth == 0 && (one == ',' || one == ' ' || one == '\n' || one == '\r' || one == '\t')) return at;
    }
    return text.size();
}

inline void put_utf8(std::string &into, std::uint32_t point) {
    auto put = [&](std::uint32_t byte) { into += static_cast<char>(byte); };
    if (point < 0x80) put(point);
    else if (point < 0x800) put(0xC0 | point >> 6), put(0x80 | (point & 0x3F));
    else if (point < 0x10000) put(0xE0 | point >> 12), put(0x80 | (point >> 6 & 0x3F)), put(0x80 | (point & 0x3F));
    else put(0xF0 | point >> 18), put(0x80 | (point >> 12 & 0x3F)), put(0x80 | (point >> 6 & 0x3F)), put(0x80 | (point & 0x3F));
}

inline std::uint32_t hex(std::string_view text, std::size_t at) {
    std::uint32_t value = 0;
    for (char one : text.substr(std::min(at, text.size()), 4)) {
        value = value << 4 | static_cast<std::uint32_t>(one <= '9' ? one - '0' : (one | 0x20) - 'a' + 10);
    }
    return value;
}
}  // namespace detail

// A JSON string of this text; bytes that are no UTF-8 are the caller's fault and stay.
inline std::string quote(std::string_view text) {
    std::string quoted = "\"";
    for (char one : text) {
        char escaped[8];
        if (one == '"' || one == '\\') (quoted += '\\') += one;
        else if (static_cast<unsigned char>(one) < 0x20) std::snprintf(escaped, sizeof escaped, "\\u%04x", static_cast<unsigned>(one)), quoted += escaped;
        else quoted += one;
    }
    return quoted += '"';
}

// The text of a JSON string; any other value as it stands.
inline std::string text(std::string_view raw) {
    if (raw.size() < 2 || raw.front() != '"') return std::string(raw);
    raw = raw.substr(1, raw.size() - 2);
    std::string plain;
    for (std::size_t at = 0; at < raw.size(); at++) {
        if (raw[at] != '\\' || at + 1 == raw.size()) {
            plain += raw[at];
            continue;
        }
        static constexpr std::string_view codes = "bfnrt", meant = "\b\f\n\r\t";
        char one = raw[++at];
        if (one == 'u') {
            std::uint32_t point = detail::hex(raw, at + 1);
            at += 4;
            if (point >= 0xD800 && point < 0xDC00 && raw.substr(std::min(raw.size(), at + 1), 2) == "\\u") {
                point = 0x10000 + ((point - 0xD800) << 10) + (detail::hex(raw, at + 3) - 0xDC00);
                at += 6;
            }
            detail::put_utf8(plain, point);
        } else {
            std::size_t known = codes.find(one);
            plain += known == std::string_view::npos ? one : meant[known];
        }
    }
    return plain;
}

// The raw values of an array.
inline std::vector<std::string_view> items(std::string_view array) {
    std::vector<std::string_view> found;
    std::size_t at = detail::blank(array, 0);
    if (at >= array.size() || array[at] != '[') return found;
    for (at = detail::blank(array, at + 1); at < array.size() && array[at] != ']';) {
        std::size_t end = detail::value_end(array, at);
        if (end == at) break;
        found.push_back(array.substr(at, end - at));
        at = detail::blank(array, end);
        if (at < array.size() && array[at] == ',') at = detail::blank(array, at + 1);
    }
    return found;
}

// The raw value of an object's member; none when it is absent.
inline std::optional<std::string_view> member(std::string_view object, std::string_view name) {
    std::size_t at = detail::blank(object, 0);
    if (at >= object.size() || object[at] != '{') return std::nullopt;
    for (at = detail::blank(object, at + 1); at < object.size() && object[at] == '"';) {
        std::size_t end = detail::value_end(object, at);
        bool found = text(object.substr(at, end - at)) == name;
        at = detail::blank(object, end);
        if (at >= object.size() || object[at] != ':') return std::nullopt;
        at = detail::blank(object, at + 1);
        end = detail::value_end(object, at);
        if (found) return object.substr(at, end - at);
        at = detail::blank(object, end);
        if (at < object.size() && object[at] == ',') at = detail::blank(object, at + 1);
    }
    return std::nullopt;
}

}  // namespace studio::json

#endif
