// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "gander/payload.hpp"

#include "gander/error.hpp"
#include "sqlite/utf8.hpp"

#include <boost/json/basic_parser_impl.hpp>
#include <boost/json/serialize.hpp>

namespace gander {

namespace {

constexpr std::size_t max_depth = 1000;

/// Accepts every event: the parser checks, and nothing is built.
struct validator {
    static constexpr std::size_t max_object_size = static_cast<std::size_t>(-1);
    static constexpr std::size_t max_array_size = static_cast<std::size_t>(-1);
    static constexpr std::size_t max_key_size = static_cast<std::size_t>(-1);
    static constexpr std::size_t max_string_size = static_cast<std::size_t>(-1);

    // NOLINTBEGIN(readability-named-parameter): all of them only say yes
    bool on_document_begin(error_code&) { return true; }
    bool on_document_end(error_code&) { return true; }
    bool on_object_begin(error_code&) { return true; }
    bool on_object_end(std::size_t, error_code&) { return true; }
    bool on_array_begin(error_code&) { return true; }
    bool on_array_end(std::size_t, error_code&) { return true; }
    bool on_key_part(boost::json::string_view, std::size_t, error_code&) { return true; }
    bool on_key(boost::json::string_view, std::size_t, error_code&) { return true; }
    bool on_string_part(boost::json::string_view, std::size_t, error_code&) { return true; }
    bool on_string(boost::json::string_view, std::size_t, error_code&) { return true; }
    bool on_number_part(boost::json::string_view, error_code&) { return true; }
    bool on_int64(std::int64_t, boost::json::string_view, error_code&) { return true; }
    bool on_uint64(std::uint64_t, boost::json::string_view, error_code&) { return true; }
    bool on_double(double, boost::json::string_view, error_code&) { return true; }
    bool on_bool(bool, error_code&) { return true; }
    bool on_null(error_code&) { return true; }
    bool on_comment_part(boost::json::string_view, error_code&) { return true; }
    bool on_comment(boost::json::string_view, error_code&) { return true; }
    // NOLINTEND(readability-named-parameter)
};

struct verdict {
    bool json;
    std::size_t position;
    std::string reason;
};

verdict check(std::string const& text) {
    if (std::size_t const good = sqlite::valid_utf8_prefix(text); good != text.size())
        return {false, good, "not UTF-8"};
    boost::json::parse_options options;
    options.max_depth = max_depth;
    boost::json::basic_parser<validator> parser(options);
    error_code ec;
    std::size_t const used = parser.write_some(false, text.data(), text.size(), ec);
    if (ec) return {false, used, ec.message()};
    // write_some stops behind the value; only blanks may follow.
    std::size_t const rest = text.find_first_not_of(" \t\r\n", used);
    if (rest != std::string::npos) return {false, rest, "extra text after the value"};
    return {true, used, {}};
}

}  // namespace

payload::payload() : json_("null") {}
payload::payload(boost::json::value const& value) : json_(boost::json::serialize(value)) {}
payload::payload(boost::json::object const& value) : json_(boost::json::serialize(value)) {}
payload::payload(boost::json::array const& value) : json_(boost::json::serialize(value)) {}

payload payload::raw(std::string json) {
    verdict const v = check(json);
    if (!v.json)
        throw system_error(errc::invalid_payload,
                           v.reason + " at byte " + std::to_string(v.position));
    payload result;
    result.json_ = std::move(json);
    return result;
}

payload payload::raw(std::string json, error_code& ec) {
    payload result;
    ec = check(json).json ? error_code() : make_error_code(errc::invalid_payload);
    if (!ec) result.json_ = std::move(json);
    return result;
}

payload payload::text(std::string_view plain) {
    if (std::size_t const good = sqlite::valid_utf8_prefix(plain); good != plain.size())
        throw system_error(errc::invalid_payload, "not UTF-8 at byte " + std::to_string(good));
    payload result;
    result.json_ = boost::json::serialize(boost::json::string_view(plain.data(), plain.size()));
    return result;
}

}  // namespace gander
