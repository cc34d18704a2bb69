// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "suggest.hpp"
#include "verb.hpp"

#include <vector>

namespace gander::cli {

namespace verbs {
extern verb const init, notify, listen, publish, read, consume, enqueue, work, claim, ack, fail,
    retry, queues, jobs;
}  // namespace verbs

namespace {

constexpr verb const* table[] = {
    &verbs::init,    &verbs::notify,  &verbs::listen, &verbs::publish, &verbs::read,
    &verbs::consume, &verbs::enqueue, &verbs::work,   &verbs::claim,   &verbs::ack,
    &verbs::fail,    &verbs::retry,   &verbs::queues, &verbs::jobs,
};

}  // namespace

std::span<verb const* const> all_verbs() { return table; }

verb const* find_verb(std::string_view name) {
    for (auto const* v : table)
        if (v->name == name) return v;
    return nullptr;
}

std::string_view nearest_verb(std::string_view name) {
    std::vector<std::string_view> names{"help"};
    for (auto const* v : table) names.push_back(v->name);
    return nearest(name, names);
}

}  // namespace gander::cli
