// SPDX-License-Identifier: Apache-2.0 OR MIT
/// \file
/// An asynchronous claim, or a wait until one would succeed.
#pragma once

#include "asio/queue_state.hpp"
#include "asio/wait_op.hpp"
#include "engine/claims.hpp"

#include <boost/asio/error.hpp>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace gander::detail {

/// Result is job, std::vector<job>, or nothing for a readiness wait.
template <class... Result>
class claim_call final : public engine::claim_op {
public:
    using signature = void(error_code, Result...);
    using handler_type = typename completion<signature>::handler_type;
    using memory = op_memory<claim_call>;

    claim_call(handler_type handler, std::shared_ptr<queue_state> of, std::string token,
               std::size_t max, std::int64_t lease)
        : engine::claim_op(of->name),
          of_(std::move(of)),
          token_(std::move(token)),
          max_(max),
          lease_(lease),
          armed_(of_->db->ticks_of().arm()),
          done_(std::move(handler), of_->executor()) {
        only_ready = sizeof...(Result) == 0;
    }

    bool several_statements() const noexcept override { return true; }

    void run(sqlite::store& store, engine::effects&) override {
        rows_ = store.claims.claim(queue, token_, max_, lease_);
    }

    bool satisfied() const noexcept override { return only_ready || !rows_.empty(); }

    void complete(engine::failure const& why) override {
        if (timer != 0) engine::threads::instance().sqlite.cancel(timer);
        of_->waits_no_more(id);
        auto const keep = std::move(of_);
        auto const armed = std::move(armed_);
        auto const rows = why ? std::vector<job_row>() : std::move(rows_);
        auto done = std::move(done_);
        error_code const ec = why.code;
        memory::free(this, done.handler());
        std::move(done).post(ec, result(keep->db, rows, static_cast<Result*>(nullptr))...);
    }

    void abandon() noexcept override {
        auto const keep = std::move(of_);
        auto const done = std::move(done_);
        memory::free(this, done.handler());
    }

private:
    static job handle(std::shared_ptr<database_state> const& db, job_row row) {
        return {db, std::make_shared<job_row const>(std::move(row))};
    }
    static job result(std::shared_ptr<database_state> const& db, std::vector<job_row> const& rows,
                      job const*) {
        return rows.empty() ? job() : handle(db, rows.front());
    }
    static std::vector<job> result(std::shared_ptr<database_state> const& db,
                                   std::vector<job_row> const& rows, std::vector<job> const*) {
        std::vector<job> jobs;
        jobs.reserve(rows.size());
        for (job_row const& row : rows) jobs.push_back(handle(db, row));
        return jobs;
    }

    std::shared_ptr<queue_state> of_;
    std::string const token_;
    std::size_t const max_;
    std::int64_t const lease_;
    std::vector<job_row> rows_;
    watch::arming armed_;
    completion<signature> done_;
};

}  // namespace gander::detail
