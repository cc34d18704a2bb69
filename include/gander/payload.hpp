// SPDX-License-Identifier: Apache-2.0 OR MIT
/// \file
/// The body of a notification, event or job: JSON text, kept byte for byte.
#pragma once

#include <gander/detail/config.hpp>
#include <gander/fwd.hpp>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value_from.hpp>

#include <string>
#include <string_view>
#include <utility>

namespace gander {

/// JSON text. Distinct objects: safe. Shared objects: unsafe.
///
/// There is no conversion from a plain string, since "42" could mean the number or the text:
/// say `payload::raw("42")` or `payload::text("42")`.
class GANDER_DECL payload {
public:
    /// The JSON value null.
    payload();

    /// Serialises `value`.
    payload(
        boost::json::value const& value);  // NOLINT(google-explicit-constructor): meant to convert
    payload(boost::json::object const& value);  // NOLINT(google-explicit-constructor)
    payload(boost::json::array const& value);   // NOLINT(google-explicit-constructor)

    /// Takes `json` verbatim. It is checked by a parser that builds no tree.
    /// \throws system_error `errc::invalid_payload`, with the position, when it is not JSON, nests
    /// deeper than 1000 levels or is not UTF-8.
    static payload raw(std::string json);

    /// The same, setting `ec` instead of throwing.
    static payload raw(std::string json, error_code& ec);

    /// The JSON string whose content is `plain`.
    /// \throws system_error `errc::invalid_payload` when `plain` is not UTF-8.
    static payload text(std::string_view plain);

    /// The JSON text.
    std::string const& str() const& noexcept { return json_; }
    std::string str() && noexcept { return std::move(json_); }

private:
    std::string json_;
};

namespace detail {

inline void add_members(boost::json::object&) {}

template <class Value, class... Rest>
void add_members(boost::json::object& to, std::string_view key, Value const& value,
                 Rest const&... rest) {
    to[key] = boost::json::value_from(value);
    add_members(to, rest...);
}

}  // namespace detail

/// A JSON object from alternating keys and values: `object("id", 42, "to", "a@example.com")`.
/// Works inside a `co_await` expression, where g++ 12 does not compile braces.
template <class... Members>
requires(sizeof...(Members) % 2 == 0) payload object(Members const&... members) {
    boost::json::object value;
    detail::add_members(value, members...);
    return value;
}

/// A JSON array: `array(1, "two", 3.0)`.
template <class... Elements>
payload array(Elements const&... elements) {
    boost::json::array value;
    (value.push_back(boost::json::value_from(elements)), ...);
    return value;
}

}  // namespace gander
