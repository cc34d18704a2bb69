// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "payload_input.hpp"

#include "arguments.hpp"
#include "errors.hpp"
#include "json.hpp"
#include "session.hpp"

#include <utility>

#include <fmt/format.h>

namespace gander::cli {

payload_input::payload_input(session& in, arguments const& args, std::size_t at)
    : text_(args.has(text_option.name)) {
    if (args.has_operand(at)) {
        try {
            argument_.push_back(parse(args.operand(at)));
        } catch (input_error const& e) {
            throw input_error(fmt::format("PAYLOAD {}", e.what()));
        }
    } else {
        in.end_on_signals();
        lines_.emplace(in.executor(), in.stop_token());
    }
}

asio::awaitable<std::vector<payload>> payload_input::next_group() {
    if (!lines_) co_return std::exchange(argument_, {});
    std::vector<payload> group;
    if (bad_line_) std::rethrow_exception(bad_line_);
    auto lines = co_await lines_->next_group();
    for (auto& line : lines) {
        ++line_number_;
        try {
            group.push_back(parse(std::move(line)));
        } catch (input_error const& e) {
            bad_line_ = std::make_exception_ptr(
                input_error(fmt::format("line {} {}", line_number_, e.what())));
            break;
        }
    }
    if (group.empty() && bad_line_) std::rethrow_exception(bad_line_);
    co_return group;
}

payload payload_input::parse(std::string text) const {
    if (!is_utf8(text)) throw input_error("is not UTF-8");
    try {
        return text_ ? payload::text(text) : payload::raw(std::move(text));
    } catch (system_error const& e) {
        std::string_view const what = e.what();
        // "where and what: the text of the code": the code is said already.
        throw input_error(fmt::format("is not JSON ({}); --text takes plain text",
                                      what.substr(0, what.rfind(": "))));
    }
}

std::string id_lines(std::span<std::int64_t const> ids) {
    std::string text;
    for (auto const id : ids) text += fmt::format("{}\n", id);
    return text;
}

}  // namespace gander::cli
