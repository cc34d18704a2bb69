// SPDX-License-Identifier: Apache-2.0 OR MIT
/// \file
/// All of gander.
#pragma once

#include <gander/channel.hpp>
#include <gander/database.hpp>
#include <gander/error.hpp>
#include <gander/job.hpp>
#include <gander/notifier.hpp>
#include <gander/options.hpp>
#include <gander/payload.hpp>
#include <gander/queue.hpp>
#include <gander/sqlite.hpp>
#include <gander/stream.hpp>
