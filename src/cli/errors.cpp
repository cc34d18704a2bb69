// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "errors.hpp"

#include <gander/error.hpp>

#include <cstring>

#include <fmt/format.h>

namespace gander::cli {
namespace {

int status_of(error_code const& ec) {
    if (ec.category() != category()) return exit_status::failed;
    switch (static_cast<errc>(ec.value())) {
        case errc::timed_out:
        case errc::lease_lost:
        case errc::offset_moved:
            return exit_status::no;
        case errc::invalid_name:
        case errc::invalid_payload:
        case errc::out_of_range:
        case errc::offset_out_of_range:
            return exit_status::usage;
        default:
            return exit_status::failed;
    }
}

/// Boost ends the text with "[category:value]" and perhaps a source location, which say nothing to
/// people.
std::string_view without_code(std::string_view what) {
    if (what.empty() || what.back() != ']') return what;
    auto const bracket = what.rfind(" [");
    return bracket == std::string_view::npos ? what : what.substr(0, bracket);
}

std::string naming(std::string_view file, std::string_view text) {
    if (file.empty() || text.find(file) != std::string_view::npos) return std::string(text);
    return fmt::format("{}: {}", file, text);
}

}  // namespace

system_failure::system_failure(std::string_view what, int error_number)
    : std::runtime_error(fmt::format("{}: {}", what, std::strerror(error_number))) {}

failure describe(std::exception_ptr error, std::string_view file) {
    try {
        std::rethrow_exception(std::move(error));
    } catch (usage_error const& e) {
        return {exit_status::usage, e.what(), true};
    } catch (input_error const& e) {
        return {exit_status::usage, e.what()};
    } catch (output_closed const&) {
        return {exit_status::done, {}};
    } catch (system_failure const& e) {
        return {exit_status::failed, e.what()};
    } catch (system_error const& e) {
        std::string text = naming(file, without_code(e.what()));
        // SQLITE_ERROR. Our own statements are right, so a table is missing.
        if (e.code() == error_code(1, sqlite_category()))
            text += "; has it gander's tables? 'gander init' makes them";
        return {status_of(e.code()), text};
    } catch (std::bad_alloc const&) {
        return {exit_status::failed, "out of memory"};
    } catch (std::exception const& e) {
        return {exit_status::failed, naming(file, e.what())};
    }
}

}  // namespace gander::cli
