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

void complete_all(write_op_list&& ops, failure const& why) {
    while (write_op_ptr op = ops.pop_front()) op.release()->complete(why);
}

void complete_each(write_op_list&& ops) {
    while (write_op_ptr op = ops.pop_front()) {
        failure const outcome = std::move(op->outcome);
        op.release()->complete(outcome);
    }
}

}  // namespace gander::engine
