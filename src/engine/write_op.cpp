// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "engine/write_op.hpp"

#include <new>

namespace gander::engine {

failure current_failure() noexcept {
    failure why;
    why.exception = std::current_exception();
    try {
        throw;
    } catch (system_error const& e) {
        why.code = e.code();
    } catch (std::bad_alloc const&) {
        why.code = boost::system::errc::make_error_code(boost::system::errc::not_enough_memory);
    } catch (...) {
        // A user's exception: the code only marks the failure, the exception is what is delivered.
        why.code = boost::system::errc::make_error_code(boost::system::errc::operation_canceled);
    }
    return why;
}

}  // namespace gander::engine
